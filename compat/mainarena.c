/*
 * mainarena: kernel threads of weft's own allocate from the arena of the main thread.
 *
 * libc gives a thread that allocates an arena, and reserves 64 MB of addresses for it.  Those of
 * ours allocate because pthread_create and free do: the donors and maker would take what eight
 * threads of the program have room for under `ulimit -v`.  Which arena a thread has is one word of
 * libc's thread-local block, zero until the first malloc; with main's value in it the thread
 * allocates there, under that arena's lock as all do.
 *
 * The word is the one that in main points into libc's data and is zero in a thread that has not
 * allocated.  That it is the right one is shown by a chunk, which says whether it comes from another
 * arena than main's.  Without the word all goes on as libc has it.
 *
 * libc counts the threads of an arena, and counts one down when a thread ends that has one: so the
 * word is zero again by then, and whenever the thread runs code that is not ours.
 *
 * Rejected: mallopt(M_ARENA_MAX) for the time being: libc reads it once, for good.
 */
#include "compat/mainarena.h"

static ptrdiff_t word;	/* from the thread pointer; 0: not known */
static uintptr_t value; /* main's */

struct data {
	uintptr_t code; /* an address of libc's */
	uintptr_t start, end;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct data *d = arg;
	uintptr_t start = 0, end = 0;
	bool here = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		here |= d->code - at < ph->p_memsz;
		if (ph->p_flags & PF_W) {
			start = at;
			end = at + ph->p_memsz;
		}
	}
	if (here) {
		d->start = start;
		d->end = end;
	}
	return here;
}

bool mainarena_word(ptrdiff_t *at)
{
	*at = word;
	return word;
}

void mainarena_find(const char *fresh)
{
	const char *self = arch_getfs();
	struct data libc_is = {.code = (uintptr_t)libc.malloc};
	int found = 0;

	libc.free(libc.malloc(24));
	libc.iterate_phdr(look_at, &libc_is);
	for (ptrdiff_t i = 0; i + 8 <= (ptrdiff_t)layout.libc_tls.size; i += 8) {
		ptrdiff_t at = i - layout.libc_tls.offset;
		uintptr_t w = *word_at(self, at);

		if (*word_at(fresh, at) || w < libc_is.start || w >= libc_is.end)
			continue;
		word = at;
		value = w;
		found++;
	}
	if (found != 1)
		word = 0;
}

bool mainarena_borrow(void)
{
	if (!word || *word_at(arch_getfs(), word))
		return false;
	*word_at(arch_getfs(), word) = value;
	return true;
}

void mainarena_return(void)
{
	*word_at(arch_getfs(), word) = 0;
}

void mainarena_prove(void)
{
	enum { OTHER_ARENA = 4 }; /* in the word before a chunk, which is its size */
	size_t *p;
	bool other;

	if (!mainarena_borrow())
		return;
	p = libc.malloc(24);
	other = p && p[-1] & OTHER_ARENA;
	libc.free(p); /* before it is returned: from 2.43 on the first free() of a thread allocates its cache */
	mainarena_return();
	if (other)
		word = 0;
}
