/*
 * futexword: waiting for a lock word that libc laid out, on the lot or, when processes share it, in the
 * kernel.
 *
 * Both sides of a private word are ours, so its waiters are in the lot, where a G waits without its
 * kernel thread.  A shared word's other side may be a process without weft: those waiters are the
 * kernel's.
 */
#include <linux/futex.h>

#include "shim/sync/eintr.h"
#include "shim/sync/inherit.h"
#include "shim/sync/mutex.h"

struct wordwait {
	int *word;
	int seen;
};

/* Under the lot's lock. */
static int changed(void *arg)
{
	const struct wordwait *w = arg;

	return load_relaxed(w->word) != w->seen;
}

int futexword_wait(int *word, int seen, bool shared, const struct until *u, bool inherit)
{
	struct wordwait w = {word, seen};
	struct park pk = park_wait(lot_key(word, KEY_OTHER), changed, &w, WaitMutexLock);
	int op = FUTEX_WAIT_BITSET, err = until_park(u, &pk);
	struct claim c;
	long r;

	if (err)
		return err;
	if (!shared) {
		pk.gives = inherit;
		if (inherit)
			inherit_claim(&c, word);
		r = lot_park(&pk);
		/* Before a handler runs, which may not come back. */
		if (inherit)
			inherit_unclaim(&c);
		if (r == -EINTR)
			eintr_in_lock();
		return r == -ETIMEDOUT ? ETIMEDOUT : 0;
	}
	/* futex(2) refuses a time before 1970, which is over. */
	if (u && u->abs->tv_sec < 0)
		return ETIMEDOUT;
	if (u && u->clock == CLOCK_REALTIME)
		op |= FUTEX_CLOCK_REALTIME;
	r = await_nocp(SYS_futex, (long)word, op, seen, (long)(u ? u->abs : NULL), 0,
		       FUTEX_BITSET_MATCH_ANY);
	return r == -ETIMEDOUT ? ETIMEDOUT : 0;
}

uint64_t futexword_deadline(const struct until *u, bool try)
{
	struct timespec now;
	int64_t left;

	if (try)
		return ASIDE_NOW;
	if (!u)
		return 0;
	/* A bad time is an error only for a caller that finds the lock held. */
	if (!wait_clock(u->clock) || bad_nsec(u->abs))
		return ASIDE_NOW;
	real.clock_gettime(u->clock, &now);
	if (u->abs->tv_sec < now.tv_sec)
		return ASIDE_NOW;
	if (__builtin_sub_overflow(u->abs->tv_sec, now.tv_sec, &left) ||
	    __builtin_mul_overflow(left, 1000000000LL, &left) ||
	    __builtin_add_overflow(left, u->abs->tv_nsec - now.tv_nsec, &left) ||
	    __builtin_add_overflow((int64_t)nanotime(), left, &left))
		return 0;
	return left > 0 ? (uint64_t)left : ASIDE_NOW;
}

void futexword_wake(int *word, int n, bool shared)
{
	if (shared)
		plain_syscall(SYS_futex, (long)word, FUTEX_WAKE, n);
	else
		lot_wake(lot_key(word, KEY_OTHER), (unsigned)n, 0, READY_TAIL, NULL, NULL);
}
