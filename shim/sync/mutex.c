/*
 * mutex: pthread_mutex_* of the plain kinds; the other kinds are sent to mutex_robust.c and mutex_ceiling.c.
 *
 * The word is libc's: 0 free, 1 held, 2 held and a waiter may be queued; owner, count and nusers
 * are kept as libc keeps them, so that an object works on both sides of the moment weft starts and
 * inside libc.  How a word that is held is waited for, and which thread has it next: mutex_word.c.
 *
 * Private mutexes with priority inheritance are plain ones that check their owner, and whose owner inherits
 * (inherit.c).  Process-shared plain mutexes are taken here when they are free and
 * else by libc's own function with the P given away, so that processes without weft understand
 * them.
 *
 * Must never: touch the mutex after the exchange that frees it, but by address.
 */
#include "shim/sync/inherit.h"
#include "shim/sync/mutex.h"

/* ---- plain kinds ----------------------------------------------------------------------------- */

static inline void release_word(pthread_mutex_t *mu)
{
	/* Pairs with the acquiring compare-and-swap of the next owner, and with not_contended() in mutex_word.c. */
	if (unlikely(exchange_release(&mu->__data.__lock, 0) == 2))
		mutex_wake_one(mu);
}

static inline void take_ownership(pthread_mutex_t *mu, int id, bool join)
{
	store_relaxed(&mu->__data.__owner, id);
	mu->__data.__nusers += join;
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
	return kind & MUTEX_SHARED ? lock_shared(mu, u) : mutex_wait_word(mu, u, 0);
}

/* The same with priority inheritance; woken as in mutex_cond_lock(). */
static int take_inherit(pthread_mutex_t *mu, int kind, const struct until *u, bool try, int woken)
{
	int err;

	inherit_begin();
	err = woken ? mutex_wait_word(mu, u, woken) : take_plain(mu, kind, u, try);
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
		mutex_wait_word(mu, FOREVER, woken);
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE)
		mu->__data.__count = 1;
	take_ownership(mu, self_id(), false);
	return 0;
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
