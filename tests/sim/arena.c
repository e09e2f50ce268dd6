/*
 * arena: the memory of a run, and how all is as before for the next run in the same process.
 *
 * A process for each run would be simpler, and was: but each fork and each wait is a turn of the real kernel's,
 * and on a busy machine a run of half a millisecond waited ten times as long for those.  So a child makes many
 * runs.  Between two of them its variables become what they were at first, and what a run took is given back.
 * Addresses are the same in each run, in whichever process.
 *
 * Memory that the runtime gave back is not used again in the same run: whoever touches it is killed.
 *
 * Must never: hand out memory of libc's, which knows of no next run.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/runtime.h"

#define ARENA ((char *)0x100000000000)
enum { PAGE = 4096 };
static const size_t size = (size_t)1 << 40;
static struct {
	size_t used;
	bool closed;     /* some of it may not be touched */
	size_t data, bss; /* what is kept of the program's variables */
	char *kept;
} *arena;        /* outside of them */

extern char __data_start[], edata[], __bss_start[], end[];

static void *map(void *at, size_t n)
{
	int fixed = at ? MAP_FIXED_NOREPLACE : 0;
	void *p = mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);

	if (p == MAP_FAILED || (at && p != at)) {
		perror("sim: memory");
		exit(2);
	}
	return p;
}

void arena_init(void)
{
	arena = map(NULL, sizeof(*arena));
	map(ARENA, size);
}

void *arena_alloc(size_t n, size_t align)
{
	size_t at = (arena->used + align - 1) & -align;

	arena->used = at + n;
	if (arena->used > size)
		sim_fail("no memory is left");
	return ARENA + at;
}

/* Whole pages. */
void arena_close(void *p, size_t n)
{
	madvise(p, n, MADV_DONTNEED);
	mprotect(p, n, PROT_NONE);
	arena->closed = true;
}

void arena_keep(void)
{
	arena->data = (size_t)(edata - __data_start);
	arena->bss = (size_t)(end - __bss_start);
	arena->kept = map(NULL, arena->data + arena->bss);
	memcpy(arena->kept, __data_start, arena->data);
	memcpy(arena->kept + arena->data, __bss_start, arena->bss);
}

void arena_restore(void)
{
	size_t n = (arena->used + PAGE - 1) & -(size_t)PAGE;

	memcpy(__data_start, arena->kept, arena->data);
	memcpy(__bss_start, arena->kept + arena->data, arena->bss);
	memset(&weft_tls, 0, sizeof(weft_tls));
	if (arena->closed)
		mprotect(ARENA, n, PROT_READ | PROT_WRITE);
	madvise(ARENA, n, MADV_DONTNEED);
	arena->used = 0;
	arena->closed = false;
}
