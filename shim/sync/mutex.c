/*
 * mutex: pthread_mutex_* of the plain kinds; the other kinds are sent to mutex_robust.c and mutex_ceiling.c.
 *
 * The word is libc's: 0 free, 1 held, 2 held and a waiter may be queued; owner, count and nusers
 * are kept as libc keeps them, so that an object works on both sides of the moment weft starts and
 * inside libc.
 *
 * Policy: barging.  Unlock sets 0 and wakes one waiter, which competes with any other thread that
 * comes.  While it has not run, later unlocks find 1, not 2, and wake none: at most one wake-up is
 * on its way.  The woken one carries a duty: if others were queued when it left (WOKEN_MORE) it may
 * only take the lock as 2, or leave it at 2 and queue again at the front.  Once in `fairness` ns the
 * first waiter of the mutex is given the lock by its waker instead (WOKEN_OWNER): the lot asks for
 * that, the word is set under its lock.  Always handing over was tried and costs a switch per lock; never doing so
 * starves.
 *
 * Private mutexes with priority inheritance are plain ones that check their owner, and whose owner inherits
 * (inherit.c).  Process-shared plain mutexes are taken here when they are free and
 * else by libc's own function with the P given away, so that processes without weft understand
 * them.
 *
 * Must never: touch the mutex after the exchange that frees it, but by address.
 */
#include <linux/futex.h>

#include "runtime/base/options.h"
#include "runtime/sched/policy.h"
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

/* ---- the word -------------------------------------------------------------------------------- */

/* Under the lot's lock: pairs with the exchange in release_word().  Either it saw 2 and comes to
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

/*
 * Takes the word, queueing while another thread holds it. woken: the duty the caller arrives with.
 */
static int wait_word(pthread_mutex_t *mu, const struct until *u, int woken)
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
	lot_wake(lot_key(mu, KEY_MUTEX), 1, 0, weft_opt.mutexnext ? READY_NEXT : READY_TAIL,
		 wake_decide, (void *)mu);
}

static inline void release_word(pthread_mutex_t *mu)
{
	/* Pairs with the acquiring compare-and-swap of the next owner, and with not_contended(). */
	if (unlikely(exchange_release(&mu->__data.__lock, 0) == 2))
		mutex_wake_one(mu);
}

/* ---- plain kinds ----------------------------------------------------------------------------- */

static inline void take_ownership(pthread_mutex_t *mu, int id, bool join)
{
	store_relaxed(&mu->__data.__owner, id);
	mu->__data.__nusers += join;
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

static int lock_shared(pthread_mutex_t *mu, const struct until *u)
{
	int err;

	mutex_yield_while_held(mu);
	if (u)
		err = HANDOFF(real.pthread_mutex_clocklock(mu, u->clock, u->abs));
	else
		err = HANDOFF(real.pthread_mutex_lock(mu));
	if (!err)
		mu->__data.__nusers--; /* libc has counted the caller, and lock_plain() does */
	return err;
}

static int take_plain(pthread_mutex_t *mu, int kind, const struct until *u, bool try)
{
	if (word_take(&mu->__data.__lock, 0, 1))
		return 0;
	if (try)
		return EBUSY;
	runtime_checkyield();
	return kind & MUTEX_SHARED ? lock_shared(mu, u) : wait_word(mu, u, 0);
}

/* The same with priority inheritance; woken as in mutex_cond_lock(). */
static int take_inherit(pthread_mutex_t *mu, int kind, const struct until *u, bool try, int woken)
{
	int err;

	inherit_begin();
	err = woken ? wait_word(mu, u, woken) : take_plain(mu, kind, u, try);
	if (err) {
		inherit_released(false);
		return err;
	}
	exchange_seqcst(&mu->__data.__owner, self_id()); /* seq_cst with inherit_claims */
	inherit_taken();
	return 0;
}

static int lock_plain(pthread_mutex_t *mu, int kind, const struct until *u, bool try)
{
	int id = self_id(), type = kind & MUTEX_TYPE, err;

	if (load_relaxed(&mu->__data.__owner) == id) {
		if (type == MUTEX_RECURSIVE) {
			if (mu->__data.__count + 1 == 0)
				return EAGAIN;
			mu->__data.__count++;
			return 0;
		}
		/* libc's pthread_mutex_trylock() says so only where priority is inherited. */
		if (type == MUTEX_ERRORCHECK && (!try || kind & MUTEX_INHERIT))
			return EDEADLK;
	}
	err = kind & MUTEX_INHERIT ? take_inherit(mu, kind, u, try, 0) : take_plain(mu, kind, u, try);
	if (err)
		return err;
	if (type == MUTEX_RECURSIVE)
		mu->__data.__count = 1;
	take_ownership(mu, id, true);
	return 0;
}

/* Kinds that refuse to be unlocked by others. */
static bool checks_owner(int kind)
{
	return kind & MUTEX_INHERIT || (kind & MUTEX_TYPE) == MUTEX_RECURSIVE ||
	       (kind & MUTEX_TYPE) == MUTEX_ERRORCHECK;
}

/* By the caller, which holds it: one unlock does not release it. */
static bool held_twice(const pthread_mutex_t *mu, int kind)
{
	return (kind & MUTEX_TYPE) == MUTEX_RECURSIVE && mu->__data.__count > 1;
}

static int unlock_plain(pthread_mutex_t *mu, int kind, bool leave)
{
	if (kind & MUTEX_SHARED) {
		/* libc's function takes the caller off, which stays while it waits for a condition. */
		if (!leave && !held_twice(mu, kind))
			mu->__data.__nusers++;
		return real.pthread_mutex_unlock(mu);
	}
	if (checks_owner(kind) && load_relaxed(&mu->__data.__owner) != self_id())
		return EPERM;
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE && --mu->__data.__count != 0)
		return 0;
	store_relaxed(&mu->__data.__owner, 0);
	mu->__data.__nusers -= leave;
	if (unlikely(kind & MUTEX_INHERIT)) {
		/* seq_cst with inherit_heir.listed; for the rest as release_word() */
		if (exchange_seqcst(&mu->__data.__lock, 0) == 2)
			mutex_wake_one(mu);
		inherit_released(!leave);
		return 0;
	}
	release_word(mu);
	return 0;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

int mutex_lock_any(pthread_mutex_t *mu, const struct until *u, bool try)
{
	int kind = mutex_kind(mu);

	switch (kind & MUTEX_FAMILY) {
	case 0:
		return lock_plain(mu, kind, u, try);
	case MUTEX_INHERIT:
		if (kind & MUTEX_SHARED)
			return robust_lock(mu, u, try);
		return lock_plain(mu, kind, u, try);
	case MUTEX_ROBUST:
	case MUTEX_ROBUST | MUTEX_INHERIT:
		return robust_lock(mu, u, try);
	case MUTEX_PROTECT:
		return ceiling_lock(mu, u, try);
	default: /* destroyed, or never a mutex */
		return EINVAL;
	}
}

int mutex_unlock_any(pthread_mutex_t *mu, bool leave)
{
	int kind = mutex_kind(mu);

	switch (kind & MUTEX_FAMILY) {
	case 0:
		return unlock_plain(mu, kind, leave);
	case MUTEX_INHERIT:
		if (kind & MUTEX_SHARED)
			return robust_unlock(mu, leave);
		return unlock_plain(mu, kind, leave);
	case MUTEX_ROBUST:
	case MUTEX_ROBUST | MUTEX_INHERIT:
		return robust_unlock(mu, leave);
	case MUTEX_PROTECT:
		return ceiling_unlock(mu, leave);
	default:
		return EINVAL;
	}
}

/* ---- for condition variables ----------------------------------------------------------------- */

bool mutex_is_plain(const pthread_mutex_t *mu)
{
	return (mutex_kind(mu) & ((MUTEX_FAMILY & ~MUTEX_INHERIT) | MUTEX_SHARED)) == 0;
}

int mutex_cond_check(pthread_mutex_t *mu)
{
	int kind = mutex_kind(mu);

	switch (kind & MUTEX_FAMILY) {
	case 0:
		if (!checks_owner(kind))
			return 0;
		break;
	case MUTEX_PROTECT:
		if ((kind & MUTEX_TYPE) == 0)
			return 0;
		break;
	case MUTEX_INHERIT:
	case MUTEX_ROBUST:
	case MUTEX_ROBUST | MUTEX_INHERIT:
		if (kind & MUTEX_ROBUST || kind & MUTEX_SHARED)
			return robust_held(mu) ? 0 : EPERM;
		break;
	default:
		return EINVAL;
	}
	return load_relaxed(&mu->__data.__owner) == self_id() ? 0 : EPERM;
}

void mutex_cond_unlock(pthread_mutex_t *mu)
{
	mutex_unlock_any(mu, false);
}

int mutex_cond_lock(pthread_mutex_t *mu, int woken)
{
	int kind = mutex_kind(mu);
	int err;

	if (!mutex_is_plain(mu)) {
		err = mutex_lock_any(mu, FOREVER, false);
		/* It was counted all the time; where it held the mutex twice, it was not counted again. */
		if ((err == 0 || err == EOWNERDEAD) && !held_twice(mu, kind))
			mu->__data.__nusers--;
		return err;
	}
	/* A recursive mutex that was held twice is still held: libc waits with it all the same. */
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE &&
	    load_relaxed(&mu->__data.__owner) == self_id()) {
		mu->__data.__count++;
		return 0;
	}
	if (kind & MUTEX_INHERIT)
		take_inherit(mu, kind, FOREVER, false, woken);
	else
		wait_word(mu, FOREVER, woken);
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE)
		mu->__data.__count = 1;
	take_ownership(mu, self_id(), false);
	return 0;
}

bool mutex_mark_contended(pthread_mutex_t *mu)
{
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word);

	/* Pairs with release_word(): its exchange sees our 2, and its wake-up then waits for the
	 * lot's lock. */
	while (v != 0 && v != 2)
		if (cas_relaxed(word, &v, 2))
			return true;
	return v == 2;
}

/* ---- exported -------------------------------------------------------------------------------- */

EXPORT int pthread_mutex_lock(pthread_mutex_t *mu)
{
	if (unlikely(!weft_on))
		return real.pthread_mutex_lock(mu);
	if (likely(mutex_is_normal(mutex_kind(mu))) && likely(word_take(&mu->__data.__lock, 0, 1))) {
		take_ownership(mu, self_id(), true);
		return 0;
	}
	return mutex_lock_any(mu, FOREVER, false);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mu)
{
	if (unlikely(!weft_on))
		return real.pthread_mutex_unlock(mu);
	if (likely(mutex_is_normal(mutex_kind(mu)))) {
		store_relaxed(&mu->__data.__owner, 0);
		mu->__data.__nusers--;
		release_word(mu);
		return 0;
	}
	return mutex_unlock_any(mu, true);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mu)
{
	if (unlikely(!weft_on))
		return real.pthread_mutex_trylock(mu);
	return mutex_lock_any(mu, FOREVER, true);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mu, clockid_t clock, const struct timespec *abs)
{
	struct until u = {clock, abs};

	if (unlikely(!weft_on))
		return real.pthread_mutex_clocklock(mu, clock, abs);
	if (!wait_clock(clock))
		return EINVAL;
	return mutex_lock_any(mu, &u, false);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mu, const struct timespec *abs)
{
	struct until u = {CLOCK_REALTIME, abs};

	if (unlikely(!weft_on))
		return real.pthread_mutex_timedlock(mu, abs);
	return mutex_lock_any(mu, &u, false);
}

/*
 * libc marks every robust mutex as shared, because the kernel that walks its list knows no other.
 * Ours are told apart, or each would lock its holder to its M: a private one loses the mark. libc's own
 * functions, which serve it until weft starts, do not look at the mark of a robust mutex.
 */
EXPORT int pthread_mutex_init(pthread_mutex_t *mu, const pthread_mutexattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE, err = real.pthread_mutex_init(mu, attr);

	if (err || !attr || !(mu->__data.__kind & MUTEX_ROBUST))
		return err;
	if (!pthread_mutexattr_getpshared(attr, &shared) && shared == PTHREAD_PROCESS_PRIVATE)
		mu->__data.__kind &= ~MUTEX_SHARED;
	return 0;
}

EXPORT int pthread_mutex_consistent(pthread_mutex_t *mu)
{
	if (unlikely(!weft_on))
		return real.pthread_mutex_consistent(mu);
	return robust_consistent(mu);
}

/* The names by which older libraries and C++ run-times know them. */
ALIAS(__pthread_mutex_init, pthread_mutex_init);
ALIAS(__pthread_mutex_lock, pthread_mutex_lock);
ALIAS(__pthread_mutex_unlock, pthread_mutex_unlock);
ALIAS(__pthread_mutex_trylock, pthread_mutex_trylock);

TWIN(pthread_mutex_lock);
TWIN(pthread_mutex_unlock);
TWIN(pthread_mutex_trylock);
TWIN(pthread_mutex_timedlock);
