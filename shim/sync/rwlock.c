/*
 * rwlock: read-write locks, private ones on the lot, shared ones through libc with the P given
 * away.
 *
 * One word decides, libc's __readers, with libc's meaning for what it says about holders, so that a
 * lock taken before weft started is understood and released here:
 *	bit 1	a writer holds it		bits 3..29	how many readers hold it
 *	bit 0	libc's phase, ignored		bit 2		somebody is queued
 *	bit 31	readers may stand in lanes (rwslot.h), where they share nothing with those of other Ps
 *	bit 30	with bit 1: a writer looks for them, and has the lock only if there are none
 * The writer's id stands in __cur_writer as libc has it.
 *
 * All who wait, wait for the word: a writer moves the readers that it finds in lanes into it.  While it looks, readers
 * are let in by the word, so that one who only tries is not refused for a writer that gets nothing.  A lock that
 * prefers writers has no lanes, for its readers stand behind those that wait.
 *
 * The release that makes the lock free clears bit 2 and wakes all readers, or one writer.  Between
 * then and their arrival any thread may take the lock; the bit is not lost by it, because a woken
 * waiter carries it: if others stayed queued it sets the bit again, when it takes the lock or when
 * it has to queue again.  A writer that waited long is given the lock by its waker.
 *
 * Preference is libc's: readers pass waiting writers, except with PREFER_WRITER_NONRECURSIVE, where
 * a reader queues as soon as a waiter is queued.  A writer whose time ran out may have been what
 * kept readers away, so it clears the bit and wakes all.
 *
 * Must never: touch the lock after the store that releases it, but by address.
 */
#include "runtime/sched/policy.h"
#include "shim/sync/eintr.h"
#include "shim/sync/rwslot.h"

enum { PREFER_WRITER = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
enum { BIT_READ = 1, BIT_WRITE = 2 };
/* What lot_park() returns to the woken. */
enum { WOKEN_LAST = 1, WOKEN_MORE = 2, WOKEN_OWNER = 3 };

struct want {
	pthread_rwlock_t *rw;
	bool write;
};

static inline bool is_shared(const pthread_rwlock_t *rw)
{
	return rw->__data.__shared != 0;
}

/* May the caller have it at v?  queued: it was woken, so it does not stand behind others. */
static inline bool available(const struct want *w, uint32_t v, bool queued)
{
	if (w->write)
		return !(v & (RW_WRITER | RW_READERS));
	if ((v & (RW_WRITER | RW_REVOKING)) == RW_WRITER)
		return false;
	return queued || !(v & RW_QUEUED) || w->rw->__data.__flags != PREFER_WRITER;
}

static inline uint32_t one_more(uint32_t v)
{
	return (v & ~RW_READERS) | ((v + RW_READER) & RW_READERS);
}

/* By the word.  0, EBUSY or EAGAIN (too many readers); carry: RW_QUEUED if others wait. */
static inline __attribute__((always_inline)) int try_write(const struct want *w, uint32_t carry)
{
	uint32_t *word = rwword(w->rw);
	uint32_t v = load_relaxed(word);

	while (available(w, v, false)) {
		uint32_t revoke = v & RW_LANES ? RW_REVOKING : 0;

		/* seq_cst: with the slots, which rwslot_revoke() looks at next */
		if (cas_seqcst(word, &v, v | RW_WRITER | revoke | carry))
			return likely(!revoke) || rwslot_revoke(w->rw) ? 0 : EBUSY;
	}
	return EBUSY;
}

/* met: tries that another reader made fail.  After two in a row the lock gets lanes. */
static inline __attribute__((always_inline)) int try_read(const struct want *w, uint32_t v, bool queued, uint32_t carry,
							  int met)
{
	uint32_t *word = rwword(w->rw);

	while (available(w, v, queued)) {
		if (unlikely((v & (RW_READERS | RW_REVOKING)) == RW_READERS))
			return EAGAIN;
		if (likely(cas_acquire(word, &v, one_more(v) | carry))) {
			if (unlikely(met > 1 && !(v & RW_LANES)))
				rwslot_begin(w->rw);
			return 0;
		}
		met++; /* once: the G may have been preempted just here */
	}
	return EBUSY;
}

static inline __attribute__((always_inline)) int try_take(const struct want *w, bool queued, uint32_t carry)
{
	return w->write ? try_write(w, carry) : try_read(w, load_relaxed(rwword(w->rw)), queued, carry, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct rwwait {
	struct want want;
	bool queued;
};

/* Under the lot's lock: pairs with the release that clears the bit.  Either that saw our bit and
 * comes to the lot after us, or we see it gone. */
static int may_go(void *arg)
{
	struct rwwait *w = arg;
	uint32_t v = load_relaxed(rwword(w->want.rw));

	return !(v & RW_QUEUED) || available(&w->want, v, w->queued);
}

/* Sets the bit on a lock that the caller cannot have; false when it can have it. */
static bool mark_queued(const struct rwwait *w)
{
	uint32_t *word = rwword(w->want.rw);
	uint32_t v = load_relaxed(word);

	do {
		if (available(&w->want, v, w->queued))
			return false;
	} while (!(v & RW_QUEUED) && !cas_acquire(word, &v, v | RW_QUEUED));
	return true;
}

static void wake_all(pthread_rwlock_t *rw)
{
	fetch_and_relaxed(rwword(rw), ~RW_QUEUED);
	lot_wake(lot_key(rw, KEY_RWLOCK), UINT_MAX, 0, READY_TAIL, NULL, NULL);
}

static int wait_for(const struct want *want, const struct until *u)
{
	struct rwwait w = {.want = *want};
	struct park pk = park_bits(lot_key(want->rw, KEY_RWLOCK), may_go, &w,
				   want->write ? WaitRwlockWrite : WaitRwlockRead,
				   want->write ? BIT_WRITE : BIT_READ);
	uint32_t carry = 0;
	int r = until_park(u, &pk);

	if (r)
		return r;
	for (;;) {
		r = try_take(want, w.queued, carry);
		if (r != EBUSY)
			return r;
		if (!mark_queued(&w))
			continue;
		r = lot_park(&pk);
		if (r == WOKEN_OWNER)
			return 0;
		if (r == -ETIMEDOUT) {
			if (want->write)
				wake_all(want->rw);
			return ETIMEDOUT;
		}
		if (r == -EINTR)
			eintr_in_lock(); /* and stands behind the writers that wait, as before */
		if (r >= 0)
			w.queued = true;
		carry = r == WOKEN_MORE ? RW_QUEUED : 0;
	}
}

/* ---- releasing ------------------------------------------------------------------------------- */

static int wake_readers(void *arg, unsigned woken, bool more)
{
	(void)arg;
	(void)woken;
	return more ? WOKEN_MORE : WOKEN_LAST;
}

static int wake_writer(void *arg, unsigned woken, bool more)
{
	pthread_rwlock_t *rw = arg;
	uint32_t *word = rwword(rw);
	uint32_t v;

	/* A woken waiter means that the lock lives. */
	if (woken && lot_fair(lot_key(rw, KEY_RWLOCK))) {
		v = load_relaxed(word);
		if (!(v & (RW_WRITER | RW_READERS | RW_LANES)) &&
		    cas_acquire(word, &v, v | RW_WRITER | (more ? RW_QUEUED : 0)))
			return WOKEN_OWNER;
	}
	return more ? WOKEN_MORE : WOKEN_LAST;
}

static __attribute__((noinline)) void wake_next(pthread_rwlock_t *rw, bool writers_first)
{
	const void *key = lot_key(rw, KEY_RWLOCK);

	if (writers_first && lot_wake(key, 1, BIT_WRITE, READY_LOCK, wake_writer, rw))
		return;
	if (lot_wake(key, UINT_MAX, BIT_READ, READY_TAIL, wake_readers, NULL))
		return;
	if (!writers_first)
		lot_wake(key, 1, BIT_WRITE, READY_LOCK, wake_writer, rw);
}

static inline __attribute__((always_inline)) int release(pthread_rwlock_t *rw, uint32_t v, uint32_t what)
{
	uint32_t *word = rwword(rw);
	uint32_t next;
	bool writers_first = rw->__data.__flags == PREFER_WRITER;

	do {
		if (what == RW_READER && unlikely(!(v & RW_READERS) || v & RW_REVOKING)) {
			if (rwslot_leave(rw))
				return 0;
			v = load_relaxed(word);
			continue;
		}
		next = v - what;
		if (!(next & (RW_WRITER | RW_READERS)))
			next &= ~RW_QUEUED;
		if (cas_release(word, &v, next))
			break;
	} while (true);
	if (unlikely((v & RW_QUEUED) && !(next & RW_QUEUED)))
		wake_next(rw, writers_first);
	return 0;
}

static __attribute__((noinline)) int release_reader(pthread_rwlock_t *rw)
{
	return release(rw, load_relaxed(rwword(rw)), RW_READER);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* In the caller's lane, where the lock has lanes. */
static inline __attribute__((always_inline)) bool read_in_lane(pthread_rwlock_t *rw, uint32_t v)
{
	enum rwslot got;

	if ((v & (RW_LANES | RW_WRITER)) != RW_LANES)
		return false;
	got = rwslot_take(rw);
	if (unlikely(got == SLOT_MOVED))
		release_reader(rw);
	return got == SLOT_TAKEN;
}

/* A writer has it, or looks for readers: such locks are read often, so it is soon over. */
static __attribute__((noinline)) bool read_soon(pthread_rwlock_t *rw)
{
	uint32_t v = load_relaxed(rwword(rw));

	for (int i = 0; i < RWLOCK_PAUSES && v & RW_WRITER; i++) {
		arch_pause();
		v = load_relaxed(rwword(rw));
	}
	return read_in_lane(rw, v);
}

/* ---- exported -------------------------------------------------------------------------------- */

static __attribute__((noinline)) int shared_lock(const struct want *w, const struct until *u)
{
	pthread_rwlock_t *rw = w->rw;

	if (w->write)
		return u ? HANDOFF(real.pthread_rwlock_clockwrlock(rw, u->clock, u->abs))
			 : HANDOFF(real.pthread_rwlock_wrlock(rw));
	return u ? HANDOFF(real.pthread_rwlock_clockrdlock(rw, u->clock, u->abs))
		 : HANDOFF(real.pthread_rwlock_rdlock(rw));
}

static __attribute__((noinline)) int taken(pthread_rwlock_t *rw, bool write, const struct until *u)
{
	struct want w = {rw, write};

	if (load_relaxed(&rw->__data.__cur_writer) == self_id())
		return EDEADLK;
	runtime_checkyield();
	return wait_for(&w, u);
}

static inline __attribute__((always_inline)) int lock(pthread_rwlock_t *rw, bool write, const struct until *u, int met)
{
	struct want w = {rw, write};
	uint32_t v;
	int err;

	if (unlikely(is_shared(rw)))
		return shared_lock(&w, u);
	if (write) {
		err = try_write(&w, 0);
	} else {
		v = load_relaxed(rwword(rw));
		if (v & RW_LANES && (read_in_lane(rw, v) || (v & RW_WRITER && read_soon(rw))))
			return 0;
		err = try_read(&w, v, false, 0, met);
	}
	if (unlikely(err == EBUSY))
		err = taken(rw, write, u);
	if (err == 0 && write)
		store_relaxed(&rw->__data.__cur_writer, self_id());
	return err;
}

static int timed(pthread_rwlock_t *rw, bool write, clockid_t clock, const struct timespec *abs)
{
	struct until u = {clock, abs};

	if (bad_nsec(abs) || !wait_clock(clock))
		return EINVAL;
	return lock(rw, write, &u, 0);
}

/*
 * Nobody has it or waits for it but readers, and it has no lanes: then one compare-and-swap takes it, and one gives it
 * back.  These functions call the others last of all, so that they save no registers: that cost as much as a
 * compare-and-swap.
 */
static inline bool is_plain(uint32_t v)
{
	return v < RW_READERS && !(v & (RW_WRITER | RW_QUEUED));
}

static __attribute__((noinline)) int rdlock(pthread_rwlock_t *rw, int met)
{
	return likely(weft_on) ? lock(rw, false, FOREVER, met) : real.pthread_rwlock_rdlock(rw);
}

static __attribute__((noinline)) int wrlock(pthread_rwlock_t *rw)
{
	return likely(weft_on) ? lock(rw, true, FOREVER, 0) : real.pthread_rwlock_wrlock(rw);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *rw)
{
	uint32_t v = load_relaxed(rwword(rw));
	bool plain = likely(weft_on) && likely(!is_shared(rw)) && is_plain(v);

	if (plain && likely(cas_acquire(rwword(rw), &v, v + RW_READER)))
		return 0;
	return rdlock(rw, plain);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *rw)
{
	uint32_t v = load_relaxed(rwword(rw));

	if (likely(weft_on) && likely(!is_shared(rw)) && is_plain(v) && !(v & RW_READERS) &&
	    likely(cas_acquire(rwword(rw), &v, v | RW_WRITER))) {
		store_relaxed(&rw->__data.__cur_writer, self_id());
		return 0;
	}
	return wrlock(rw);
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *rw)
{
	struct want w = {rw, false};
	uint32_t v;

	if (unlikely(!weft_on) || is_shared(rw))
		return real.pthread_rwlock_tryrdlock(rw);
	v = load_relaxed(rwword(rw));
	if (read_in_lane(rw, v))
		return 0;
	return try_read(&w, v, false, 0, 0);
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *rw)
{
	struct want w = {rw, true};
	int err;

	if (unlikely(!weft_on) || is_shared(rw))
		return real.pthread_rwlock_trywrlock(rw);
	/*
	 * Refused, it leaves the word as it was: a child of fork may be copied meanwhile, where RW_REVOKING
	 * would stay.
	 */
	if (load_relaxed(rwword(rw)) & RW_LANES && rwslot_read(rw))
		return EBUSY;
	err = try_write(&w, 0);
	if (err == 0)
		store_relaxed(&rw->__data.__cur_writer, self_id());
	return err;
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *rw, const struct timespec *abs)
{
	if (unlikely(!weft_on))
		return real.pthread_rwlock_timedrdlock(rw, abs);
	return timed(rw, false, CLOCK_REALTIME, abs);
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *rw, const struct timespec *abs)
{
	if (unlikely(!weft_on))
		return real.pthread_rwlock_timedwrlock(rw, abs);
	return timed(rw, true, CLOCK_REALTIME, abs);
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *rw, clockid_t clock,
				      const struct timespec *abs)
{
	if (unlikely(!weft_on))
		return real.pthread_rwlock_clockrdlock(rw, clock, abs);
	return timed(rw, false, clock, abs);
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *rw, clockid_t clock,
				      const struct timespec *abs)
{
	if (unlikely(!weft_on))
		return real.pthread_rwlock_clockwrlock(rw, clock, abs);
	return timed(rw, true, clock, abs);
}

static __attribute__((noinline)) int unlock(pthread_rwlock_t *rw)
{
	uint32_t v;

	if (unlikely(!weft_on) || is_shared(rw))
		return real.pthread_rwlock_unlock(rw);
	v = load_relaxed(rwword(rw));
	/* As libc decides it: a caller that is not the writer gives up a read lock. */
	if (v & RW_WRITER && load_relaxed(&rw->__data.__cur_writer) == self_id()) {
		store_relaxed(&rw->__data.__cur_writer, 0);
		return release(rw, v, RW_WRITER);
	}
	if (v & RW_LANES && likely(rwslot_here(rw) && rwslot_drop(rwslot_here(rw), rw)))
		return 0;
	return release(rw, v, RW_READER);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *rw)
{
	uint32_t v = load_relaxed(rwword(rw));

	if (likely(weft_on) && likely(!is_shared(rw)) && is_plain(v) && likely(v & RW_READERS) &&
	    likely(cas_release(rwword(rw), &v, v - RW_READER)))
		return 0;
	return unlock(rw);
}

ALIAS(__pthread_rwlock_rdlock, pthread_rwlock_rdlock);
ALIAS(__pthread_rwlock_wrlock, pthread_rwlock_wrlock);
ALIAS(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock);
ALIAS(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock);
ALIAS(__pthread_rwlock_unlock, pthread_rwlock_unlock);
