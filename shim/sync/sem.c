/*
 * sem: unnamed semaphores.
 *
 * The object is libc's to the bit: a 64-bit word, value below and number of waiters above, then
 * whether it is private. sem_init, sem_getvalue and the named ones stay libc's own.  Private
 * waiters sleep on the lot; shared ones in libc's function with the P given away.
 *
 * A post adds one and wakes one.  The woken waiter competes for the value with any thread that
 * comes, and queues again at the front when it loses.  No wake-up is lost by that: another thread
 * has taken the value.
 *
 * sem_post may be called from a signal handler, and the semaphore may be gone as soon as the value
 * is up: nothing is read from it after that.
 */
#include "shim/sync/eintr.h"
#include "shim/sync/sync.h"

#define VALUE_MASK 0xffffffffUL
#define ONE_WAITER (1UL << 32)

struct sem {
	uint64_t data;
	int private; /* 0: private to the process */
};

static inline struct sem *sem_of(sem_t *s)
{
	return (struct sem *)s;
}

static inline bool sem_take(struct sem *s)
{
	uint64_t d = load_relaxed(&s->data);

	while (d & VALUE_MASK)
		if (cas_acquire(&s->data, &d, d - 1))
			return true;
	return false;
}

/* Takes a value and leaves the waiters in one step. */
static inline bool take_and_leave(struct sem *s)
{
	uint64_t d = load_relaxed(&s->data);

	while (d & VALUE_MASK)
		if (cas_acquire(&s->data, &d, d - 1 - ONE_WAITER))
			return true;
	return false;
}

/* Under the lot's lock: pairs with the addition in sem_post().  We are counted already, so
 * either the post saw us and comes to the lot after us, or we see its value. */
static int has_value(void *arg)
{
	struct sem *s = arg;

	return (load_acquire(&s->data) & VALUE_MASK) != 0;
}

/* Off the queue and not counted.  True when the wait ends with EINTR; may not return
 * (cancellation). */
static bool interrupted(bool timed, uint64_t *mark)
{
	enum eintr what = eintr_deliver(mark);

	cancel_point();
	return what == INTR_ENDS || (timed && what == INTR_RESTARTS);
}

/* 0 or an errno value. */
static int wait_private(struct sem *s, const struct until *u)
{
	struct park pk = park_wait(lot_key(s, KEY_OTHER), has_value, s, WaitSemaphore);
	uint64_t mark = eintr_mark();
	int r = until_park(u, &pk);

	if (r)
		return r;
	fetch_add_relaxed(&s->data, ONE_WAITER);
	while (!take_and_leave(s)) {
		r = eintr_park(&pk, mark);
		if (r == -ETIMEDOUT || r == -EINTR) {
			fetch_sub_relaxed(&s->data, ONE_WAITER);
			if (r == -ETIMEDOUT || interrupted(u != NULL, &mark))
				return -r;
			fetch_add_relaxed(&s->data, ONE_WAITER);
		}
	}
	return 0;
}

static int sem_ret(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

static int wait_any(sem_t *sem, const struct until *u)
{
	struct sem *s = sem_of(sem);

	/* A cancellation point even when it need not wait, as libc's. */
	cancel_point();
	if (likely(sem_take(s)))
		return 0;
	runtime_checkyield();
	if (s->private) {
		if (u)
			return HANDOFF_CP(real.sem_clockwait(sem, u->clock, u->abs));
		return HANDOFF_CP(real.sem_wait(sem));
	}
	return sem_ret(wait_private(s, u));
}

EXPORT int sem_wait(sem_t *sem)
{
	if (unlikely(!weft_on))
		return real.sem_wait(sem);
	return wait_any(sem, FOREVER);
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *abs)
{
	struct until u = {clock, abs};

	if (unlikely(!weft_on))
		return real.sem_clockwait(sem, clock, abs);
	if (!wait_clock(clock) || bad_nsec(abs))
		return sem_ret(EINVAL);
	/* Only this one of libc's looks for a cancellation no sooner than it must wait. */
	if (sem_take(sem_of(sem)))
		return 0;
	return wait_any(sem, &u);
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *abs)
{
	struct until u = {CLOCK_REALTIME, abs};

	if (unlikely(!weft_on))
		return real.sem_timedwait(sem, abs);
	if (bad_nsec(abs))
		return sem_ret(EINVAL);
	return wait_any(sem, &u);
}

EXPORT int sem_trywait(sem_t *sem)
{
	if (unlikely(!weft_on))
		return real.sem_trywait(sem);
	return sem_take(sem_of(sem)) ? 0 : sem_ret(EAGAIN);
}

EXPORT int sem_post(sem_t *sem)
{
	struct sem *s = sem_of(sem);
	uint64_t d;

	/* Read before the value goes up: afterwards the object may be gone. */
	if (unlikely(!weft_on) || s->private)
		return real.sem_post(sem);
	d = load_relaxed(&s->data);
	do {
		if ((d & VALUE_MASK) == SEM_VALUE_MAX)
			return sem_ret(EOVERFLOW);
	} while (!cas_release(&s->data, &d, d + 1));
	if (d >= ONE_WAITER)
		lot_wake(lot_key(s, KEY_OTHER), 1, 0, READY_NEXT, NULL, NULL);
	return 0;
}
