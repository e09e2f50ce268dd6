/*
 * robustword: the lock words of mutex_robust: libc's bits, or the kernel's own lock.
 */
#include <linux/futex.h>

#include "shim/sync/eintr.h"
#include "shim/sync/robustheld.h"

/* 0, EOWNERDEAD (taken as well), EBUSY, ETIMEDOUT, EINVAL. */
static int take_word(pthread_mutex_t *mu, int id, int kind, const struct until *u, bool try)
{
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word);
	unsigned waiters = 0; /* having slept, the caller cannot know that no other thread sleeps */
	int err;

	for (;;) {
		if (v == 0 || v & FUTEX_OWNER_DIED) {
			int mine = (int)((unsigned)id | (v & FUTEX_WAITERS) | waiters);
			bool died = v & FUTEX_OWNER_DIED;

			if (cas_acquire(word, &v, mine))
				return died ? EOWNERDEAD : 0;
			continue;
		}
		if (try)
			return EBUSY;
		if (!(v & FUTEX_WAITERS)) {
			if (!cas_acquire(word, &v, (int)(v | FUTEX_WAITERS)))
				continue;
			v = (int)(v | FUTEX_WAITERS);
		}
		err = futexword_wait(word, v, kind & MUTEX_SHARED, u, (kind & MUTEX_INHERIT) && !(kind & MUTEX_SHARED));
		if (err)
			return err;
		waiters = FUTEX_WAITERS;
		v = load_relaxed(word);
	}
}

static void free_word(pthread_mutex_t *mu, bool shared)
{
	if (exchange_release(&mu->__data.__lock, 0) & FUTEX_WAITERS)
		futexword_wake(&mu->__data.__lock, 1, shared);
}

static int take_inheriting(pthread_mutex_t *mu, int id, const struct until *u, bool try)
{
	int *word = &mu->__data.__lock;
	int op = FUTEX_LOCK_PI, v = 0, err;
	struct park pk = park_time(WaitMutexLock);
	long r;

	if (cas_acquire(word, &v, id))
		return 0;
	if (try && !(v & FUTEX_OWNER_DIED))
		return EBUSY;
	err = until_park(u, &pk);
	if (err)
		return err;
	if (try)
		op = FUTEX_TRYLOCK_PI;
	else if (u && u->clock == CLOCK_MONOTONIC)
		op = FUTEX_LOCK_PI2;
	do {
		r = block_nocp(SYS_futex, (long)word, op, 0, (long)(u ? u->abs : NULL), 0, 0);
	} while (r == -EINTR);
	if (r == -EAGAIN && try)
		return EBUSY;
	if (r == -ETIMEDOUT)
		return ETIMEDOUT;
	if (r == -ENOSYS)
		return EINVAL;
	/*
	 * Locked twice, or the owner is gone and no thread will ever unlock: POSIX's answer is to
	 * wait.
	 */
	while (r == -EDEADLK || r == -ESRCH) {
		if (lot_sleep(&pk) == -ETIMEDOUT)
			return ETIMEDOUT;
		eintr_in_lock();
	}
	if (r < 0)
		return (int)-r;
	if (load_relaxed(word) & FUTEX_OWNER_DIED) {
		fetch_and_relaxed(word, ~FUTEX_OWNER_DIED);
		return EOWNERDEAD;
	}
	return 0;
}

static void free_inheriting(pthread_mutex_t *mu, int id)
{
	if (!cas_release(&mu->__data.__lock, &id, 0))
		plain_syscall(SYS_futex, (long)&mu->__data.__lock, FUTEX_UNLOCK_PI, 0);
}

int robust_take(pthread_mutex_t *mu, int id, int kind, const struct until *u, bool try)
{
	return robust_in_kernel(kind) ? take_inheriting(mu, id, u, try) : take_word(mu, id, kind, u, try);
}

void robust_release(pthread_mutex_t *mu, int kind, int id)
{
	if (robust_in_kernel(kind))
		free_inheriting(mu, id);
	else
		free_word(mu, kind & MUTEX_SHARED);
}
