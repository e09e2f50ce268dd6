/*
 * arena: memory that is never given back: Ps, Ms, chunks of Gs.  Zero-filled.
 */
#include "runtime/gmp.h"

enum { CHUNK = 1 << 20 };

static struct lock arenalock = LOCK_INIT(Arena);
static char *at, *end; /* arenalock */

void *persistentalloc(size_t n)
{
	void *p;

	n = (n + 63) & ~(size_t)63; /* a cache line each: Ps are written by different CPUs */
	if (n > CHUNK / 4)
		return os_alloc(n);
	lock(&arenalock);
	if ((size_t)(end - at) < n) {
		at = os_alloc(CHUNK);
		end = at ? at + CHUNK : NULL;
	}
	p = at;
	if (p)
		at += n;
	unlock(&arenalock);
	return p;
}

void arena_fork_child(void)
{
	lock_init(&arenalock, Arena);
	at = end = NULL;
}
