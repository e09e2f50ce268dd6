/*
 * persistent: memory that is never given back: Ps, Ms, chunks of Gs.  Zero-filled.
 *
 * Where such a limit stands, or the kernel refuses a megabyte at once, pieces are small: what is mapped
 * in advance is what a stack of the program's lacks.
 */
#include "runtime/sched/gmp.h"

enum { PERSISTENT_CHUNK = 1 << 20, SCARCE_CHUNK = 64 << 10 };

static struct lock arenalock = LOCK_INIT(Persistent);
static char *at, *end; /* arenalock */

/* A new piece (L arena). */
static void more(void)
{
	size_t n = sched.tight ? SCARCE_CHUNK : PERSISTENT_CHUNK;

	at = os_alloc(n);
	if (!at && n > SCARCE_CHUNK)
		at = os_alloc(n = SCARCE_CHUNK);
	end = at ? at + n : NULL;
}

void *persistentalloc(size_t n)
{
	void *p;

	n = (n + 63) & ~(size_t)63; /* a cache line each: Ps are written by different CPUs */
	if (n > SCARCE_CHUNK / 4 && (sched.tight || n > PERSISTENT_CHUNK / 4))
		return os_alloc(n);
	lock(&arenalock);
	if ((size_t)(end - at) < n)
		more();
	p = at;
	if (p)
		at += n;
	unlock(&arenalock);
	return p ? p : os_alloc(n);
}

void persistent_fork_child(void)
{
	lock_init(&arenalock, Persistent);
	at = end = NULL;
}
