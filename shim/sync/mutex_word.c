/*
 * mutex_word: a mutex's word that is held: spinning, queueing, and which thread has it next.
 *
 * Policy: barging.  Unlock sets 0 and wakes one waiter, which competes with any other thread that
 * comes.  While it has not run, later unlocks find 1, not 2, and wake none: at most one wake-up is
 * on its way.  The woken one carries a duty: if others were queued when it left (WOKEN_MORE) it may
 * only take the lock as 2, or leave it at 2 and queue again at the front.  Once in `fairness` ns a
 * bucket of the lot the first waiter is given the lock by its waker instead (WOKEN_OWNER): the lot asks for
 * that, the word is set under its lock.  Always handing over was tried and costs a switch per lock; never doing so
 * starves.
 *
 * Must never: touch the mutex where no waiter of it was found, but by address.
 */
#include <linux/futex.h>

#include "runtime/base/options.h"
#include "runtime/sched/policy.h"
#include "shim/sync/eintr.h"
#include "shim/sync/inherit.h"
#include "shim/sync/mutex.h"
#include "shim/thread/schedparam.h"

/* ---- spinning -------------------------------------------------------------------------------- */

enum { SPIN_SLOTS = 64 };

/*
 * Spinning pays when the holder runs on another P and is about to leave, and harms a lock that many
 * threads want.  Per slot of locks: when a slow path ran last (under SPIN_REST_NS ago means a
 * crowd: queue at once), and how often spinning won lately; with luck used up one slow path in
 * LUCK_TRIES tries again.  Races between threads on a slot only blur the statistics.
 */
static struct spinslot {
	uint64_t last;
	int luck;
	unsigned tries;
} spinslots[SPIN_SLOTS];

static bool spin_allowed(struct spinslot *s)
{
	uint64_t now = nanotime();
	uint64_t last = load_relaxed(&s->last);

	store_relaxed(&s->last, now);
	if (now - last < SPIN_REST_NS)
		return false;
	if (load_relaxed(&s->luck) > -LUCK_MAX)
		return true;
	store_relaxed(&s->tries, load_relaxed(&s->tries) + 1);
	return load_relaxed(&s->tries) % LUCK_TRIES == 0;
}

static bool spin(pthread_mutex_t *mu)
{
	struct spinslot *s = &spinslots[((uintptr_t)mu >> 4) % SPIN_SLOTS];
	int *word = &mu->__data.__lock;
	int luck;

	/* 2: a waiter is queued already and comes first. */
	if (load_relaxed(word) == 2 || !spin_allowed(s))
		return false;
	luck = load_relaxed(&s->luck);
	for (int i = 0; i < MUTEX_SPINS; i++) {
		int v;

		for (int j = 0; j < MUTEX_PAUSES; j++)
			arch_pause();
		v = load_relaxed(word);
		if (v == 0 && word_take(word, 0, 1)) {
			if (luck < LUCK_MAX)
				store_relaxed(&s->luck, luck + 1);
			return true;
		}
		if (v == 2)
			break;
	}
	if (luck > -LUCK_MAX)
		store_relaxed(&s->luck, luck - 1);
	return false;
}

/* ---- queueing -------------------------------------------------------------------------------- */

/* Under the lot's lock: pairs with the exchange in release_word() in mutex.c.  Either it saw 2 and comes to
 * the lot after us, or we see that the word is no longer 2. */
static int not_contended(void *arg)
{
	pthread_mutex_t *mu = arg;

	return load_relaxed(&mu->__data.__lock) != 2;
}

static int park_inherit(pthread_mutex_t *mu, struct park *pk)
{
	struct claim c;
	int r;

	inherit_claim(&c, &mu->__data.__owner);
	r = lot_park(pk);
	inherit_unclaim(&c);
	return r;
}

int mutex_wait_word(pthread_mutex_t *mu, const struct until *u, int woken)
{
	struct park pk = park_lock(lot_key(mu, KEY_MUTEX), not_contended, mu, WaitMutexLock,
				   woken > 0);
	bool inherit = mutex_kind(mu) & MUTEX_INHERIT;
	int *word = &mu->__data.__lock;
	int err;

	if (woken == WOKEN_OWNER)
		return 0;
	if (woken != WOKEN_MORE && word_take(word, 0, 1))
		return 0;
	if (!woken) {
		err = until_park(u, &pk);
		if (err)
			return err;
		if (spin(mu))
			return 0;
	}
	pk.gives = inherit;
	while (exchange_acquire(word, 2) != 0) {
		woken = inherit ? park_inherit(mu, &pk) : lot_park(&pk);
		if (woken == WOKEN_OWNER)
			return 0;
		if (woken == -ETIMEDOUT)
			return ETIMEDOUT;
		if (woken == WOKEN_LAST && word_take(word, 0, 1))
			return 0;
		if (woken == -EINTR)
			eintr_in_lock();
	}
	return 0;
}

static int wake_decide(void *arg, unsigned woken, bool more)
{
	pthread_mutex_t *mu = arg;

	/*
	 * A woken waiter means that the mutex lives; without one it may be gone.  A thread that has not run yet
	 * cannot inherit: where priorities count it competes.
	 */
	if (woken && !(mutex_kind(mu) & MUTEX_INHERIT && schedparam_ordered()) &&
	    lot_fair(lot_key(mu, KEY_MUTEX)) && word_take(&mu->__data.__lock, 0, more ? 2 : 1))
		return WOKEN_OWNER;
	return more ? WOKEN_MORE : WOKEN_LAST;
}

void mutex_wake_one(const void *mu)
{
	lot_wake(lot_key(mu, KEY_MUTEX), 1, 0, weft_opt.mutexnext ? READY_NEXT : READY_LOCK,
		 wake_decide, (void *)mu);
}

/*
 * The holder of a shared mutex is often a G of this process that waits for a P.  Sleeping in the
 * kernel keeps that P until sysmon takes it; a few yields let the holder finish.
 */
void mutex_yield_while_held(const pthread_mutex_t *mu)
{
	const int *word = &mu->__data.__lock;

	for (int i = 0; i < SHARED_YIELDS && on_g() && load_relaxed(word) & ~FUTEX_OWNER_DIED; i++)
		gosched();
}

bool mutex_mark_contended(pthread_mutex_t *mu)
{
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word);

	/* Pairs with release_word() in mutex.c: its exchange sees our 2, and its wake-up then waits for the
	 * lot's lock. */
	while (v != 0 && v != 2)
		if (cas_relaxed(word, &v, 2))
			return true;
	return v == 2;
}
