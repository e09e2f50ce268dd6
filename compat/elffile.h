/*
 * elffile: what an ELF file says of itself, and whether this library can be loaded into it.
 *
 * Here for two: the launcher, which refuses what preloading cannot reach, and the library, which
 * leaves itself out of the environment of such a child (shim/process/foreign.c).
 *
 * Must never: allocate, touch errno, or call a function that the library interposes: the library
 * asks in the child of a vfork, and in signal handlers.
 */
#ifndef WEFT_COMPAT_ELFFILE_H
#define WEFT_COMPAT_ELFFILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compat/sys.h"

/* The oldest libc that this library can be linked with: configure refuses to build with an older one. */
#define GLIBC_OLDEST "GLIBC_2.34"

static inline bool elf_read(int fd, void *to, size_t n, uint64_t off)
{
	return off <= INT64_MAX && sys_4(SYS_pread64, fd, to, n, off) == (long)n;
}

static inline bool elf_is_ours(const Elf64_Ehdr *e)
{
	return e->e_ident[EI_CLASS] == ELFCLASS64 && e->e_ident[EI_DATA] == ELFDATA2LSB &&
	       e->e_machine == ARCH_ELF_MACHINE;
}

/* So many entries of a table are read at once: with each it would be dozens of system calls a program. */
enum { ELF_HEADERS = 16, ELF_TAGS = 32 };

/* The kernel runs, and ld.so loads, no file whose program headers are of another size. */
static inline bool elf_headers_fit(const Elf64_Ehdr *e)
{
	return e->e_phentsize == sizeof(Elf64_Phdr);
}

/* Program headers from the ith on: how many; 0: they cannot be read. */
static inline unsigned elf_headers(int fd, const Elf64_Ehdr *e, unsigned i, Elf64_Phdr ph[ELF_HEADERS])
{
	unsigned n = e->e_phnum - i < ELF_HEADERS ? e->e_phnum - i : ELF_HEADERS;

	/* Not one by one: 65,535 headers of no size at all would be as many system calls. */
	return elf_headers_fit(e) && elf_read(fd, ph, n * sizeof(*ph), e->e_phoff + i * sizeof(*ph)) ? n : 0;
}

/* Finds the first program header of a type. */
static inline bool elf_segment(int fd, const Elf64_Ehdr *e, uint32_t type, Elf64_Phdr *to)
{
	Elf64_Phdr ph[ELF_HEADERS];

	for (unsigned i = 0, n; i < e->e_phnum && (n = elf_headers(fd, e, i, ph)); i += n) {
		for (unsigned k = 0; k < n; k++) {
			if (ph[k].p_type != type)
				continue;
			*to = ph[k];
			return true;
		}
	}
	return false;
}

/* Where an address of the loaded file is in the file itself. */
static inline bool elf_address(int fd, const Elf64_Ehdr *e, uint64_t at, uint64_t *off)
{
	Elf64_Phdr ph[ELF_HEADERS];

	for (unsigned i = 0, n; i < e->e_phnum && (n = elf_headers(fd, e, i, ph)); i += n) {
		for (unsigned k = 0; k < n; k++) {
			if (ph[k].p_type != PT_LOAD || at < ph[k].p_vaddr ||
			    at - ph[k].p_vaddr >= ph[k].p_filesz)
				continue;
			*off = ph[k].p_offset + (at - ph[k].p_vaddr);
			return true;
		}
	}
	return false;
}

/* The value of one tag of the dynamic section; 0: it has none. */
static inline uint64_t elf_dynamic(int fd, const Elf64_Phdr *dynamic, int64_t tag)
{
	uint64_t left = dynamic->p_filesz / sizeof(Elf64_Dyn), n;
	Elf64_Dyn d[ELF_TAGS];

	for (uint64_t off = dynamic->p_offset; left; left -= n, off += n * sizeof(*d)) {
		n = left < ELF_TAGS ? left : ELF_TAGS;
		if (!elf_read(fd, d, n * sizeof(*d), off))
			return 0;
		for (uint64_t k = 0; k < n; k++)
			if (d[k].d_tag == tag || d[k].d_tag == DT_NULL)
				return d[k].d_tag == tag ? d[k].d_un.d_val : 0;
	}
	return 0;
}

static inline uint32_t elf_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

/* One of the versions that the file defines is the one of this name. */
static inline bool elf_defines(int fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic,
			       const char *version)
{
	uint64_t at = elf_dynamic(fd, dynamic, DT_VERDEF), n = elf_dynamic(fd, dynamic, DT_VERDEFNUM);
	uint32_t hash = elf_hash(version);
	uint64_t off;
	Elf64_Verdef v;

	if (!at || !elf_address(fd, e, at, &off))
		return false;
	for (; n > 0 && elf_read(fd, &v, sizeof(v), off); n--, off += v.vd_next) {
		if (v.vd_hash == hash)
			return true;
		if (!v.vd_next)
			break;
	}
	return false;
}

/* A loader of glibc by what it calls itself: programs bring their own along, under any name. */
static inline bool elf_is_glibc_loader(int fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic)
{
	uint64_t name = elf_dynamic(fd, dynamic, DT_SONAME);
	uint64_t strings = elf_dynamic(fd, dynamic, DT_STRTAB), at;
	char text[sizeof(ARCH_LOADER)];

	return name && strings && elf_address(fd, e, strings + name, &at) &&
	       elf_read(fd, text, sizeof(text), at) && !memcmp(text, ARCH_LOADER, sizeof(text));
}

/* Its libc is not too old for this library. */
static inline bool elf_is_our_loader(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr dynamic;

	return !memcmp(e->e_ident, ELFMAG, SELFMAG) && elf_is_ours(e) && e->e_type == ET_DYN &&
	       elf_segment(fd, e, PT_DYNAMIC, &dynamic) && elf_is_glibc_loader(fd, e, &dynamic) &&
	       elf_defines(fd, e, &dynamic, GLIBC_OLDEST);
}

#endif
