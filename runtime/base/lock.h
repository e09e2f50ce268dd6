/*
 * lock: the scheduler's own mutex; blocks the kernel thread.
 *
 * Held for tens of instructions and never across a switch.  Ranks (lockrank.def) are checked in
 * debug builds: a thread may only take a lock of a higher rank than those it holds, except buckets
 * of the lot, which lot_requeue takes two of in address order.
 */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H

#include <stdint.h>

#include "runtime/runtime.h"

#ifdef WEFT_DEBUG
#define lock_init(l, r) ((l)->word = 0, (l)->sleepers = 0, (l)->rank = Rank##r)
#else
#define lock_init(l, r) ((l)->word = 0, (l)->sleepers = 0)
#endif

/*
 * weft_tls.revoke, a word between a G and sysmon.  A G that is neither pinned nor in a system call
 * owns a P, but its M may block where the shim does not see it; then sysmon takes the P
 * (blocked.c).  A G that enters the runtime reads the word once, after it counted itself in locks:
 *   REVOKE_ASKED sysmon is deciding and will not take long: wait
 *   REVOKE_TAKEN the M has no P: get one, or queue and switch; pin() or lock() returns with a P
 *   REVOKE_PRODDED  the same, and a signal is coming that says so: wait for its handler
 * So inside the runtime nothing has changed: a G there has its P unless sysdepth says otherwise.
 */
enum revoke { REVOKE_NONE = 0, REVOKE_ASKED, REVOKE_TAKEN, REVOKE_PRODDED };
void pin_slow(void) __attribute__((visibility("hidden")));
void lock_slow(struct lock *l) __attribute__((visibility("hidden")));
void unlock_slow(struct lock *l) __attribute__((visibility("hidden")));
#ifdef WEFT_DEBUG
void lockrank_take(struct lock *l) __attribute__((visibility("hidden")));
void lockrank_drop(struct lock *l) __attribute__((visibility("hidden")));
void lockrank_none(const char *what) __attribute__((visibility("hidden"))); /* none is held */
#else
#define lockrank_take(l) ((void)0)
#define lockrank_drop(l) ((void)0)
#define lockrank_none(what) ((void)0)
#endif

/*
 * Between the two no handler of the program runs here, so the calling G stays on its M and P: a
 * handler may block, and what was fetched before it, getm() or getp(), is another's after.  Counted
 * on the G's own block: a G that switches while pinned takes its pin along.  Nests.
 */
static inline void pin(void)
{
	weft_tls.locks++;
	/* Order enough: sysmon, which writes revoke, has a fence for both sides (blocked.c). */
	fence_compiler();
	if (unlikely(load_relaxed(&weft_tls.revoke)))
		pin_slow();
}

/* lock() and unlock() for a caller that is pinned before and after. */
static inline void lock_pinned(struct lock *l)
{
	uint32_t free = 0;

	lockrank_take(l);
	/* Acquire: pairs with the release in unlock_pinned(). */
	if (!cas_acquire(&l->word, &free, 1))
		lock_slow(l);
}

static inline void lock(struct lock *l)
{
	/*
	 * A signal handler on this thread sees it before the lock is taken, until after it is free.
	 */
	pin();
	lock_pinned(l);
}

/* For a caller that what the lock's holder waits for may depend on: false: it is not free, and not taken. */
static inline bool lock_if_free(struct lock *l)
{
	uint32_t free = 0;

	pin();
	/* Acquire: as in lock_pinned(). */
	if (cas_acquire(&l->word, &free, 1)) {
		lockrank_take(l);
		return true;
	}
	unpin();
	return false;
}

/*
 * A store and a load, not an exchange: two of these are in every park.  So the load may be done
 * before the store is visible.  The fence between the two is the sleeper's affair (lock_slow).
 * Locks live in memory that is never given back.
 */
static inline void unlock_pinned(struct lock *l)
{
	lockrank_drop(l);
	/* Release: pairs with the acquire in lock_pinned(). */
	store_release(&l->word, 0);
	if (__builtin_expect(load_relaxed(&l->sleepers) != 0, 0))
		unlock_slow(l);
}

static inline void unlock(struct lock *l)
{
	unlock_pinned(l);
	unpin();
}

#endif
