/*
 * cond: condition variables, private ones on the lot.
 *
 * libc's 48 bytes keep their flags (shared, clock) at the place libc keeps them; of the rest we use
 *	+0	bit 0: a waiter may be queued; above: how often bit 0 was cleared
 *	+4	how many waiters may still look at it; bit 31: it is being destroyed
 *	+8	the mutex of all queued waiters; NULL if they differ or it is not a plain one
 * They change only under the lot's lock for this address.  Signalling reads +0 first, without the
 * lock: a waiter set the bit before it released the mutex, so a signaller that has held the mutex
 * since sees it.  What libc's functions left there before weft started is harmless: a stray bit
 * costs one empty look, and +8 is followed only when a waiter was really queued.
 *
 * A woken waiter never touches the condition variable: it may be destroyed as soon as all were
 * woken.  A waiter that is off the queue, for a handler or because its time is over, does touch it:
 * pthread_cond_destroy() waits for those.  Broadcast does not wake all at once: it moves the
 * waiters to the mutex's queue, from which one at a time is woken.
 *
 * An interrupted wait (a signal handler ran) queues again, where it stood, unless the count at +0
 * shows that it missed a wake-up while it was off the queue; or it stood in the mutex's queue, and was
 * woken by that.  One that unwinds takes the mutex first.  A waiter that was signalled is never
 * cancelled, or the signal would be lost.
 *
 * Process-shared: libc's own functions, with the P given away.  Waiters with a private mutex are
 * the exception: libc would wake that mutex's next owner in the kernel, where no waiter of ours
 * sleeps.  So those waiters queue here, and signalling goes both ways (one wake-up too many is
 * allowed, one too few is not).
 */
#include "shim/sync/eintr.h"
#include "shim/sync/mutex.h"

enum { COND_QUEUED = 1u, CHANGE = 2u };
enum { COND_SHARED = 1u, COND_MONOTONIC = 2u };

#define DESTROYING 0x80000000u

struct waiting {
	pthread_cond_t *cond;
	pthread_mutex_t *mutex;
	pthread_mutex_t *plain; /* mutex, if waiters may be moved to its queue */
	uint32_t seen; /* the word at +0 when first queued */
	bool shared;   /* the words are libc's: leave them alone */
	bool again;    /* was queued before, so the mutex is not ours any more */
	bool counted;  /* at +4 */
	/* the caller was the last one there, and pthread_cond_destroy() waits for that */
	bool quiet;
	bool m_locked; /* for the wait, see wait_queued() */
	bool over;     /* returns, and does not unwind */
};

static inline uint32_t *word_of(pthread_cond_t *c)
{
	return (uint32_t *)c;
}

static inline uint32_t *users_of(pthread_cond_t *c)
{
	return (uint32_t *)c + 1;
}

static inline pthread_mutex_t **mutex_of(pthread_cond_t *c)
{
	return (pthread_mutex_t **)((char *)c + 8);
}

static inline uint32_t flags_of(pthread_cond_t *c)
{
	return load_relaxed((uint32_t *)((char *)c + compat_cond_flags_offset));
}

static inline bool is_shared(pthread_cond_t *c)
{
	return flags_of(c) & COND_SHARED;
}

static inline bool mutex_shared(const pthread_mutex_t *mu)
{
	return load_relaxed(&mu->__data.__kind) & MUTEX_SHARED;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static const void *quiet_key(const pthread_cond_t *c)
{
	return lot_key(c, KEY_OTHER);
}

/* n will not look any more.  True: pthread_cond_destroy() waits for that. */
static inline bool users_leave(pthread_cond_t *c, uint32_t n)
{
	uint32_t left = load_relaxed(users_of(c)) - n;

	store_relaxed(users_of(c), left);
	return unlikely(left == DESTROYING);
}

static void leave_locked(struct waiting *w)
{
	w->counted = false;
	w->quiet = users_leave(w->cond, 1);
}

static int leave_in_lot(void *arg, unsigned woken, bool more)
{
	(void)woken, (void)more;
	leave_locked(arg);
	return 0;
}

/* By address: the condition variable may be gone. */
static void tell_quiet(pthread_cond_t *c)
{
	lot_wake(quiet_key(c), UINT_MAX, 0, READY_TAIL, NULL, NULL);
}

static void leave(struct waiting *w)
{
	if (w->counted)
		lot_do(lot_key(w->cond, KEY_COND), leave_in_lot, w);
	if (unlikely(w->quiet))
		tell_quiet(w->cond);
}

static int wait_refuse(void *arg)
{
	struct waiting *w = arg;
	uint32_t *word = word_of(w->cond);
	uint32_t v;

	if (w->shared)
		return w->again;
	v = load_relaxed(word);
	if (w->again && (v ^ w->seen) & ~COND_QUEUED) {
		leave_locked(w);
		return 1;
	}
	if (!w->counted)
		store_relaxed(users_of(w->cond), load_relaxed(users_of(w->cond)) + 1);
	w->counted = true;
	if (!(v & COND_QUEUED))
		store_relaxed(mutex_of(w->cond), w->plain);
	else if (load_relaxed(mutex_of(w->cond)) != w->mutex)
		store_relaxed(mutex_of(w->cond), NULL);
	store_relaxed(word, v | COND_QUEUED);
	w->seen = v;
	return 0;
}

/* As mutex_cond_unlock() and mutex_cond_lock(), for the usual mutex, in line. */
static inline void let_go(pthread_mutex_t *mu)
{
	if (unlikely(!mutex_is_normal(mutex_kind(mu)))) {
		mutex_cond_unlock(mu);
		return;
	}
	store_relaxed(&mu->__data.__owner, 0);
	if (unlikely(exchange_release(&mu->__data.__lock, 0) == 2))
		mutex_wake_one(mu);
}

static inline int take_again(pthread_mutex_t *mu, int woken)
{
	if (unlikely(woken || !mutex_is_normal(mutex_kind(mu)) ||
		     !word_take(&mu->__data.__lock, 0, 1)))
		return mutex_cond_lock(mu, woken);
	store_relaxed(&mu->__data.__owner, self_id());
	return 0;
}

/*
 * The G waits already.  A mutex whose holder is locked to its M lets it go here: so the G is locked
 * to its M for the wait by itself.
 */
static void wait_queued(void *arg)
{
	struct waiting *w = arg;

	if (!w->again)
		let_go(w->mutex);
	w->again = true;
}

static void lock_m(struct waiting *w, int kind, const struct until *u)
{
	w->m_locked = kind & (MUTEX_PROTECT | MUTEX_SHARED);
	if (w->m_locked)
		lockosthread(LOCK_SHARED, futexword_deadline(u, false));
}

static inline __attribute__((always_inline)) int wait_ends(struct waiting *w, int woken)
{
	int err = w->again ? take_again(w->mutex, woken) : 0;

	w->again = false;
	if (unlikely(w->m_locked))
		unlockosthread(false);
	w->m_locked = false;
	return err;
}

static __attribute__((noinline)) void left_early(struct waiting *w)
{
	leave(w);
	wait_ends(w, 0);
}

/* A scope cleanup: a handler may end the thread. */
static inline void wait_left(struct waiting *w)
{
	if (unlikely(!w->over))
		left_early(w);
}

/* Off the queue with less than a wake-up: what it comes to. 0: queue again. */
static __attribute__((noinline)) int wait_look(struct waiting *w, const struct park *pk, int r)
{
	if (pk->at && pk->at != pk->addr) {
		/* Broadcast moved it to the mutex: others may stand there. */
		w->counted = false;
		if (r == -EINTR)
			eintr_look();
		return WOKEN_MORE;
	}
	if (r == -EINTR) {
		eintr_look();
		/* An interrupt that was due before we queued leaves us with the mutex. */
		if (!cancel_due())
			return 0;
		if (!w->again)
			cancel_point();
	}
	leave(w);
	return r;
}

static int wait_private(pthread_cond_t *c, pthread_mutex_t *mu, const struct until *u, bool shared)
{
	int kind = mutex_kind(mu);
	bool normal = mutex_is_normal(kind);
	struct waiting w __attribute__((cleanup(wait_left))) = {
		.cond = c,
		.mutex = mu,
		/* Those that wait for an inheriting one lock it themselves: each has its claim. */
		.plain = normal || (mutex_is_plain(mu) && !(kind & MUTEX_INHERIT)) ? mu : NULL,
		.shared = shared,
	};
	struct park pk = park_cond(lot_key(c, KEY_COND), wait_refuse, wait_queued, &w,
				   WaitCondWait);
	int r, err = normal ? 0 : mutex_cond_check(mu);

	if (!err)
		err = until_park(u, &pk);
	if (err)
		return err;
	cancel_point();
	runtime_checkyield();
	if (unlikely(!normal)) {
		pk.gives = !!(kind & MUTEX_INHERIT);
		lock_m(&w, kind, u);
	}
	do {
		r = lot_park(&pk);
		if (likely(r >= 0))
			break;
		r = wait_look(&w, &pk, r);
	} while (!r);
	w.over = true;
	err = wait_ends(&w, r > 0 ? r : 0);
	if (r == -EINTR)
		cancel_point();
	if (err)
		return err;
	return r == -ETIMEDOUT ? ETIMEDOUT : 0;
}

static int wait_shared(pthread_cond_t *c, pthread_mutex_t *mu, const struct until *u)
{
	if (on_g() && load_relaxed(&mu->__data.__kind) & (MUTEX_ROBUST | MUTEX_INHERIT))
		return robust_cond_wait(c, mu, u);
	if (u)
		return HANDOFF_CP(real.pthread_cond_clockwait(c, mu, u->clock, u->abs));
	return HANDOFF_CP(real.pthread_cond_wait(c, mu));
}

static int wait_any(pthread_cond_t *c, pthread_mutex_t *mu, const struct until *u)
{
	bool shared = is_shared(c);

	if (shared && mutex_shared(mu))
		return wait_shared(c, mu, u);
	return wait_private(c, mu, u, shared);
}

/* ---- waking ---------------------------------------------------------------------------------- */

/* Under the lot's lock.  The caller's cond is alive: it is in the middle of a call on it. */
static int signal_decide(void *arg, unsigned woken, bool more)
{
	uint32_t *word = word_of(arg);

	users_leave(arg, woken);
	/* The change tells an interrupted waiter, on its way back to the queue, that it missed
	 * this. */
	if (!more)
		store_relaxed(word, (load_relaxed(word) + CHANGE) & ~COND_QUEUED);
	return 0;
}

static int signal_shared(pthread_cond_t *c, unsigned n)
{
	lot_wake(lot_key(c, KEY_COND), n, 0, READY_NEXT, NULL, NULL);
	return n == 1 ? real.pthread_cond_signal(c) : real.pthread_cond_broadcast(c);
}

struct move {
	pthread_cond_t *cond;
	pthread_mutex_t *to;
	bool kick; /* the mutex is free: no unlock will wake the waiters that were moved */
};

static int move_refuse(void *arg)
{
	struct move *mv = arg;

	return load_relaxed(mutex_of(mv->cond)) != mv->to;
}

static void move_mark(void *arg, unsigned n)
{
	struct move *mv = arg;
	uint32_t *word = word_of(mv->cond);

	if (n)
		mv->kick = !mutex_mark_contended(mv->to);
	users_leave(mv->cond, n);
	store_relaxed(word, (load_relaxed(word) + CHANGE) & ~COND_QUEUED);
}

static void broadcast_private(pthread_cond_t *c)
{
	struct move mv = {.cond = c};
	unsigned moved = 0;

	for (;;) {
		mv.to = load_relaxed(mutex_of(c));
		if (!mv.to) {
			lot_wake(lot_key(c, KEY_COND), UINT_MAX, 0, READY_TAIL, signal_decide, c);
			return;
		}
		if (lot_requeue(lot_key(c, KEY_COND), lot_key(mv.to, KEY_MUTEX), 0, UINT_MAX,
				move_refuse, move_mark, &mv, &moved) != -EAGAIN)
			break;
	}
	/* The waiters that were moved keep the mutex alive. */
	if (mv.kick)
		mutex_wake_one(mv.to);
}

/* ---- exported -------------------------------------------------------------------------------- */

EXPORT int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *mu)
{
	if (unlikely(!weft_on))
		return real.pthread_cond_wait(c, mu);
	return wait_any(c, mu, FOREVER);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *mu,
				  const struct timespec *abs)
{
	struct until u = {CLOCK_REALTIME, abs};

	if (unlikely(!weft_on))
		return real.pthread_cond_timedwait(c, mu, abs);
	if (bad_nsec(abs))
		return EINVAL;
	if (flags_of(c) & COND_MONOTONIC)
		u.clock = CLOCK_MONOTONIC;
	return wait_any(c, mu, &u);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *mu, clockid_t clock,
				  const struct timespec *abs)
{
	struct until u = {clock, abs};

	if (unlikely(!weft_on))
		return real.pthread_cond_clockwait(c, mu, clock, abs);
	if (bad_nsec(abs) || !wait_clock(clock))
		return EINVAL;
	return wait_any(c, mu, &u);
}

EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
	if (unlikely(!weft_on))
		return real.pthread_cond_signal(c);
	if (unlikely(is_shared(c)))
		return signal_shared(c, 1);
	if (load_relaxed(word_of(c)) & COND_QUEUED)
		lot_wake(lot_key(c, KEY_COND), 1, 0, READY_NEXT, signal_decide, c);
	return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
	if (unlikely(!weft_on))
		return real.pthread_cond_broadcast(c);
	if (unlikely(is_shared(c)))
		return signal_shared(c, UINT_MAX);
	if (load_relaxed(word_of(c)) & COND_QUEUED)
		broadcast_private(c);
	return 0;
}

static int destroys(void *arg, unsigned woken, bool more)
{
	(void)woken, (void)more;
	*users_of(arg) |= DESTROYING;
	return 0;
}

static int is_quiet(void *arg)
{
	return load_relaxed(users_of(arg)) == DESTROYING;
}

EXPORT int pthread_cond_destroy(pthread_cond_t *c)
{
	struct park pk = park_wait(quiet_key(c), is_quiet, c, WaitCondWait);

	/* Shared: libc waits for its own. */
	if (!weft_on || is_shared(c))
		return HANDOFF(real.pthread_cond_destroy(c));
	if (likely(!load_relaxed(users_of(c))))
		return 0;
	lot_do(lot_key(c, KEY_COND), destroys, c);
	while (!is_quiet(c))
		if (lot_park(&pk) == -EINTR)
			eintr_in_lock();
	return 0;
}

TWIN(pthread_cond_wait);
TWIN(pthread_cond_timedwait);
TWIN(pthread_cond_signal);
TWIN(pthread_cond_broadcast);
TWIN(pthread_cond_destroy);
