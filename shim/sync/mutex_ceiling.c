/*
 * mutex_ceiling: mutexes with a priority ceiling.
 *
 * The word is libc's: the ceiling from bit 19 up, and 0, 1 or 2 below as for plain mutexes.  The
 * holder of one runs at the highest ceiling of all that it holds.  That is a property of a kernel
 * thread, so the G is locked to its M for that long, and the M's priority is raised and put back.  A
 * caller above the ceiling gets EINVAL; one whose policy knows no priorities gets the kernel's
 * refusal, as with libc.
 *
 * Process-shared ones are used in the same way; their waiters sleep in the kernel.
 */
#include "shim/sync/mutex.h"
#include "shim/thread/schedparam.h"

enum { CEILING_SHIFT = 19, CEILING_MAX = 99 };
#define STATE_MASK ((1 << CEILING_SHIFT) - 1)

/* Per thread, zero at the start of a life. */
static __thread struct raised {
	unsigned held;
	int policy, base; /* of the M before the first one */
	uint8_t at[CEILING_MAX + 1];
} raised;

static int ceiling_of(int word)
{
	return (int)((unsigned)word >> CEILING_SHIFT);
}

static int highest(const struct raised *r)
{
	int c = CEILING_MAX;

	while (c > 0 && !r->at[c])
		c--;
	return c;
}

/* Sets the M to the highest of what is held and its own, and with it the place among those who wait. */
static int apply(const struct raised *r)
{
	int c = highest(r);
	struct sched_param sp = {.sched_priority = c > r->base ? c : r->base};

	if (on_g())
		return (int)-schedparam_ceiling(c > r->base ? c : 0);
	return (int)-plain_syscall(SYS_sched_setscheduler, 0, r->policy, (long)&sp);
}

/* until: of a wait for another M (lockosthread()). */
static int raise_to(int ceiling, uint64_t until)
{
	struct raised *r = &raised;
	struct sched_param sp = {0};
	int err;

	if (!r->held && on_g()) {
		r->base = schedparam_own(&r->policy);
	} else if (!r->held) {
		r->policy = (int)plain_syscall(SYS_sched_getscheduler, 0, 0, 0);
		plain_syscall(SYS_sched_getparam, 0, (long)&sp, 0);
		r->base = sp.sched_priority;
	}
	if (r->base > ceiling)
		return EINVAL;
	if (r->at[ceiling] == UINT8_MAX)
		return EAGAIN;
	lockosthread(LOCK_SHARED, until);
	r->at[ceiling]++;
	err = highest(r) == ceiling && r->at[ceiling] == 1 && ceiling > r->base ? apply(r) : 0;
	if (err) {
		/*
		 * A thread without priorities: it counts as raised from now on, as with libc, which
		 * refuses such a thread its first lock of a ceiling alone.
		 */
		unlockosthread(false);
		return err;
	}
	r->held++;
	return 0;
}

static void lower_from(int ceiling)
{
	struct raised *r = &raised;

	r->at[ceiling]--;
	r->held--;
	if (!r->at[ceiling] && ceiling > highest(r) && ceiling > r->base)
		apply(r);
	unlockosthread(false);
}

/* Takes the word; the caller runs at *ceiling, or *ceiling is -1.  The ceiling may change while
 * we wait. */
static int ceiling_take(pthread_mutex_t *mu, int *ceiling, const struct until *u, bool try)
{
	bool shared = load_relaxed(&mu->__data.__kind) & MUTEX_SHARED;
	int *word = &mu->__data.__lock;
	int held = 1, err;

	for (;;) {
		int v = load_relaxed(word);

		if (ceiling_of(v) != *ceiling) {
			if (*ceiling >= 0)
				lower_from(*ceiling);
			*ceiling = -1;
			err = raise_to(ceiling_of(v), futexword_deadline(u, try));
			if (err)
				return err;
			*ceiling = ceiling_of(v);
		}
		if ((v & STATE_MASK) == 0) {
			if (cas_acquire(word, &v, v | held))
				return 0;
			continue;
		}
		if (try)
			return EBUSY;
		if ((v & STATE_MASK) == 1) {
			if (!cas_acquire(word, &v, (v & ~STATE_MASK) | 2))
				continue;
			v = (v & ~STATE_MASK) | 2;
		}
		err = futexword_wait(word, v, shared, u, false);
		if (err)
			return err;
		held = 2; /* others may be queued */
	}
}

int ceiling_lock(pthread_mutex_t *mu, const struct until *u, bool try)
{
	int type = load_relaxed(&mu->__data.__kind) & MUTEX_TYPE;
	int ceiling = -1, err;

	if (load_relaxed(&mu->__data.__owner) == self_id()) {
		if (type == MUTEX_ERRORCHECK)
			return EDEADLK;
		if (type == MUTEX_RECURSIVE) {
			if (mu->__data.__count + 1 == 0)
				return EAGAIN;
			mu->__data.__count++;
			return 0;
		}
	}
	err = ceiling_take(mu, &ceiling, u, try);
	if (err) {
		if (ceiling >= 0)
			lower_from(ceiling);
		return err;
	}
	mu->__data.__count = 1;
	store_relaxed(&mu->__data.__owner, self_id());
	mu->__data.__nusers++;
	return 0;
}

int ceiling_unlock(pthread_mutex_t *mu, bool leave)
{
	int kind = load_relaxed(&mu->__data.__kind);
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word);

	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE || (kind & MUTEX_TYPE) == MUTEX_ERRORCHECK) {
		if (load_relaxed(&mu->__data.__owner) != self_id() || (v & STATE_MASK) == 0)
			return EPERM;
		if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE && --mu->__data.__count != 0)
			return 0;
	}
	store_relaxed(&mu->__data.__owner, 0);
	mu->__data.__nusers -= leave;
	while (!cas_release(word, &v, v & ~STATE_MASK))
		;
	if ((v & STATE_MASK) == 2)
		futexword_wake(word, 1, kind & MUTEX_SHARED);
	if (raised.held)
		lower_from(ceiling_of(v));
	return 0;
}

/*
 * Locks without regard to the ceiling, writes it, unlocks; all waiters have to look again.
 */
EXPORT int pthread_mutex_setprioceiling(pthread_mutex_t *mu, int ceiling, int *old)
{
	int *word = &mu->__data.__lock;
	int kind = load_relaxed(&mu->__data.__kind);
	int v = load_relaxed(word), type = kind & MUTEX_TYPE;
	bool mine;

	if (!weft_on)
		return real.pthread_mutex_setprioceiling(mu, ceiling, old);
	if ((kind & MUTEX_FAMILY) != MUTEX_PROTECT)
		return EINVAL;
	if (ceiling < sched_get_priority_min(SCHED_FIFO) || ceiling > CEILING_MAX)
		return EINVAL;
	mine = load_relaxed(&mu->__data.__owner) == self_id();
	if (mine && type == MUTEX_ERRORCHECK)
		return EDEADLK;
	mine = mine && type == MUTEX_RECURSIVE;
	while (!mine) {
		v = load_relaxed(word);
		if ((v & STATE_MASK) == 0) {
			if (cas_acquire(word, &v, v | 2))
				break;
		} else if ((v & STATE_MASK) == 2 ||
			   cas_acquire(word, &v, (v & ~STATE_MASK) | 2)) {
			futexword_wait(word, (v & ~STATE_MASK) | 2, kind & MUTEX_SHARED, FOREVER, false);
		}
	}
	v = load_relaxed(word);
	*old = ceiling_of(v);
	if (mine) {
		/* Ours and staying ours: the boost follows the new ceiling at unlock. */
		int err = raise_to(ceiling, ASIDE_NOW);

		if (err)
			return err;
		lower_from(ceiling_of(v));
		store_release(word, ceiling << CEILING_SHIFT | 2);
		return 0;
	}
	store_release(word, ceiling << CEILING_SHIFT);
	futexword_wake(word, INT_MAX, kind & MUTEX_SHARED);
	return 0;
}
