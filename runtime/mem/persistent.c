/*
 * persistent: memory that is never given back: Ps, Ms, chunks of Gs, parts of large tables.  Zero-filled.
 *
 * A table that is large for a rare case (a hundred thousand signals that wait) has a pointer for each
 * part and the part is mapped when it is first used.  An array in .bss costs no memory either, but it
 * counts: ulimit -d and -v refuse the library, mlockall() locks and fills all of it.
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
