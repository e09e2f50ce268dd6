/*
 * gonote: the note that Go's linker leaves in what it builds, whatever is stripped later.
 *
 * Here for two: the library, which finds it in memory (guestkind.c), and the launcher, which reads it
 * from a file.
 */
#ifndef WEFT_COMPAT_GONOTE_H
#define WEFT_COMPAT_GONOTE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Notes are a sequence of header, name and data, the latter two filled up to four bytes. */
static inline bool go_note_among(const char *p, size_t size)
{
	enum { BUILD_ID = 4 };

	while (size >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const void *)p;
		size_t name = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		size_t all = sizeof(*n) + name + (((size_t)n->n_descsz + 3) & ~(size_t)3);

		if (all > size)
			return false;
		if (n->n_type == BUILD_ID && n->n_namesz == 4 && !memcmp(n + 1, "Go\0", 4))
			return true;
		p += all;
		size -= all;
	}
	return false;
}

/* Others, of properties, are filled up to eight bytes and never Go's. */
static inline bool go_note_segment(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_NOTE && ph->p_align <= 4;
}

#endif
