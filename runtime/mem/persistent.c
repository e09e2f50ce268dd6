/*
 * persistent: memory that is never given back: Ps, Ms, chunks of Gs, parts of large tables.  Zero-filled.
 *
 * A table that is large for a rare case (a hundred thousand signals that wait) has a pointer for each
 * part and the part is mapped when it is first used.  An array in .bss costs no memory either, but it
 * counts: ulimit -d and -v refuse the library, mlockall() locks and fills all of it.
 */
#include "runtime/sched/gmp.h"

enum { PERSISTENT_CHUNK = 1 << 20 };

static struct lock arenalock = LOCK_INIT(Persistent);
static char *at, *end; /* arenalock */

void *persistentalloc(size_t n)
{
	void *p;

	n = (n + 63) & ~(size_t)63; /* a cache line each: Ps are written by different CPUs */
	if (n > PERSISTENT_CHUNK / 4)
		return os_alloc(n);
	lock(&arenalock);
	if ((size_t)(end - at) < n) {
		at = os_alloc(PERSISTENT_CHUNK);
		end = at ? at + PERSISTENT_CHUNK : NULL;
	}
	p = at;
	if (p)
		at += n;
	unlock(&arenalock);
	return p;
}

void *runtime_part(void *_Atomic *part, size_t n)
{
	void *p = load_acquire(part), *fresh;

	if (likely(p))
		return p;
	fresh = os_alloc(n); /* no lock: the caller may be a handler */
	if (!fresh)
		return NULL;
	/* Release and acquire: a thread that finds another's part finds it filled with zeroes. */
	if (cas_acq_rel(part, &p, fresh))
		return fresh;
	os_free(fresh, n);
	return p;
}

void persistent_fork_child(void)
{
	lock_init(&arenalock, Persistent);
	at = end = NULL;
}
