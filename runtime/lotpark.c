/*
 * lotpark: the waiting side of the parking lot: park, time out, be interrupted.
 *
 * A G is pinned from before it queues until it runs again: no handler of the program may run on a
 * stack whose G a waker could ready at any moment, and a handler's own park would overwrite what an
 * interrupt follows.  An interrupt that comes meanwhile sets g->interrupted, then looks for
 * parkaddr, then locks the bucket that it names.  The G sets parkaddr, takes that lock (a full
 * barrier here: a locked instruction) and looks at interrupted: one sees the other.  If the G is
 * the one, its park is not straight, and commit, on g0, sees it; that takes the lock as well.
 *
 * Must never: run hooks.poked() pinned, or while g->parked still names the outer wait.
 */
#include "runtime/lot.h"

#include <errno.h>

/*
 * With the bucket's lock, as an interrupt.  Without, the second of two steps (PARKED, then a look at
 * interrupted and back) could come when the G had been woken, run, and slept again: it was then
 * queued while it slept.
 */
static bool commit(struct g *gp, void *arg)
{
	struct waiter *w = arg;
	struct bucket *b = lot_lock_waiter(w);
	uint32_t s = QUEUED;
	bool sleeps = !atomic_load(&gp->interrupted) &&
		      atomic_compare_exchange_strong(&w->state, &s, PARKED);

	/* From PARKED on a waker may ready it: neither is touched any more. */
	unlock(&b->lock);
	return sleeps;
}

/* Timer function: claims the waiter if nobody did. */
static struct g *expire(void *arg)
{
	struct waiter *w = arg;
	struct bucket *b = lot_lock_waiter(w);
	bool mine = w->queued;

	if (mine) {
		lot_pull(b, w);
		w->result = -ETIMEDOUT;
	}
	unlock(&b->lock);
	return mine ? lot_release(w) : NULL;
}

/* A foreign thread gives up; false when a waker was faster (its wake-up is on the way). */
static bool giveup(struct waiter *w, int result)
{
	struct bucket *b = lot_lock_waiter(w);
	bool mine = w->queued;

	if (mine) {
		lot_pull(b, w);
		w->result = result;
		atomic_store(&w->state, WOKEN);
	}
	unlock(&b->lock);
	return mine;
}

static void sleep_foreign(struct waiter *w, uint64_t deadline, bool interruptible)
{
	while (atomic_load(&w->state) != WOKEN) {
		int r = os_futex_wait((uint32_t *)&w->state, QUEUED, deadline);

		if (r == -ETIMEDOUT || (r == -EINTR && interruptible)) {
			if (giveup(w, r))
				return;
			deadline = 0;
		}
	}
}

/* Interrupted before it slept, or poked.  True: the park is over. */
static __attribute__((noinline)) bool look_around(struct waiter *w)
{
	struct g *gp = w->g;
	struct bucket *b = lot_lock_waiter(w);

	if (!w->queued) {
		/* A waker has it; the interrupt is left to the next park. */
		unlock(&b->lock);
		return false;
	}
	atomic_store(&gp->interrupted, false);
	if (w->interruptible) {
		lot_pull(b, w);
		w->result = -EINTR;
		unlock(&b->lock);
		return true;
	}
	/* A handler runs while we stay queued; what it waits for is a park of its own. */
	lot_unnote(w);
	unlock(&b->lock);
	unpin();
	hooks.poked();
	pin();
	b = lot_lock_waiter(w);
	if (w->queued)
		lot_note(w);
	unlock(&b->lock);
	return false;
}

static inline void sleep_g(struct waiter *w, const struct park *pk, bool straight)
{
	bool timed = pk->deadline != 0;

	if (timed) {
		w->timer.fn = expire;
		w->timer.arg = w;
		timer_add(&w->timer, pk->deadline);
	}
	while (straight || atomic_load(&w->state) != WOKEN) {
		gopark_pinned(straight ? NULL : commit, w, pk->reason, pk->addr);
		if (likely(atomic_load(&w->state) == WOKEN) || look_around(w))
			break;
		straight = false; /* it was poked */
	}
	if (timed)
		timer_del(&w->timer);
}

/* Under the bucket's lock: from here on the G may be readied. */
static inline bool go_straight(struct waiter *w, const struct park *pk)
{
	struct g *gp = w->g;

	if (unlikely((pk->queued && !pk->queuedstays) || atomic_load(&gp->interrupted)))
		return false;
	w->straight = true;
	atomic_store_explicit(&w->state, PARKED, memory_order_relaxed);
	atomic_store_explicit(&gp->status, Gwaiting, memory_order_relaxed);
	return true;
}

/* Queues w unless refused, pinned; straight: of a G, and is its way to sleep? */
static inline __attribute__((always_inline)) int enqueue(struct waiter *w, const struct park *pk,
							 bool *straight)
{
	struct bucket *b = bucket_of(pk->addr);

	lock_pinned(&b->lock);
	if (pk->refuse && pk->refuse(pk->arg)) {
		unlock_pinned(&b->lock);
		return -EAGAIN;
	}
	if (straight)
		*straight = go_straight(w, pk);
	lot_push(b, w, pk->fifo_front);
	if (straight)
		lot_note(w);
	unlock_pinned(&b->lock);
	return 0;
}

static __attribute__((noinline)) int park_foreign(struct waiter *w, const struct park *pk)
{
	int err;

	pin();
	err = enqueue(w, pk, NULL);
	unpin();
	if (err)
		return err;
	if (pk->queued)
		pk->queued(pk->arg);
	sleep_foreign(w, pk->deadline, pk->interruptible);
	return w->result;
}

static inline __attribute__((always_inline)) int park_g(struct waiter *w, const struct park *pk)
{
	struct g *gp = w->g;
	bool straight;
	int err;

	pin();
	if (pk->interruptible && unlikely(atomic_load_explicit(&gp->interrupted,
							       memory_order_relaxed))) {
		atomic_store(&gp->interrupted, false);
		unpin();
		return -EINTR;
	}
	atomic_store_explicit(&gp->parkaddr, pk->addr, memory_order_relaxed);
	err = enqueue(w, pk, &straight);
	if (likely(!err)) {
		if (pk->queued)
			pk->queued(pk->arg);
		sleep_g(w, pk, straight);
		err = w->result;
	} else {
		atomic_store_explicit(&gp->parkaddr, NULL, memory_order_relaxed);
	}
	unpin();
	return err;
}

void runtime_attended(bool yes, uint64_t keepout)
{
	atomic_store(&sched.keepout, keepout);
	atomic_store(&sched.attended, yes);
}

/* Its own parks go ahead; should it fail, the next one asks again. */
static __attribute__((noinline)) void attend(void)
{
	runtime_attended(true, 0);
	if (hooks.attend && !hooks.attend())
		runtime_attended(false, 0);
}

int lot_park(const struct park *pk)
{
	struct g *gp = weft_tls.g;
	/* Field by field: zeroing the timer too would cost as much as queueing. */
	struct waiter w;
	uint32_t depth;
	int err;

	atomic_init(&w.addr, pk->addr); /* a plain assignment would be a full fence */
	w.g = gp;
	atomic_init(&w.state, QUEUED);
	w.bitset = pk->bitset ? pk->bitset : ~0u;
	w.result = 0;
	w.noted = false;
	w.straight = false;
	w.interruptible = pk->interruptible;
	if (!gp)
		return park_foreign(&w, pk);
	depth = gp->sysdepth;
	/* Inside a libc call that was handed off: parking needs a P again. */
	if (unlikely(depth))
		syscall_reset();
	if (unlikely(!atomic_load_explicit(&sched.attended, memory_order_relaxed)))
		attend();
	err = park_g(&w, pk);
	if (unlikely(depth)) {
		entersyscall();
		gp->sysdepth = depth;
	}
	return err;
}

int lot_sleep(uint64_t deadline, enum waitreason reason)
{
	char here; /* an address nobody else can name */
	struct park pk = { .addr = &here,
			   .deadline = deadline,
			   .reason = (uint8_t)reason,
			   .interruptible = true };

	return lot_park(&pk);
}

/* The locked bucket gp waits in; NULL: it does not wait, or will see that it was interrupted. */
static struct bucket *lock_parked(struct g *gp)
{
	for (;;) {
		const void *addr = atomic_load(&gp->parkaddr);
		struct bucket *b;

		if (!addr)
			return NULL;
		b = bucket_of(addr);
		lock(&b->lock);
		if (atomic_load(&gp->parkaddr) == addr) {
			if (gp->parked)
				return b;
			addr = NULL;
		}
		unlock(&b->lock);
		if (!addr)
			return NULL;
	}
}

bool g_interrupt(struct g *gp)
{
	struct g *wake = NULL;
	struct bucket *b;
	struct waiter *w;

	/* Before the look for a waiter: pairs with commit() and go_straight(). */
	atomic_store(&gp->interrupted, true);
	b = lock_parked(gp);
	if (!b)
		return false;
	w = gp->parked;
	if (w->interruptible) {
		lot_pull(b, w);
		w->result = -EINTR;
		atomic_store(&gp->interrupted, false);
		unlock(&b->lock);
		wake = lot_release(w);
	} else {
		uint32_t s = PARKED;

		/* Stays queued; its owner looks around and parks again. */
		w->straight = false;
		if (atomic_compare_exchange_strong(&w->state, &s, QUEUED))
			wake = gp;
		unlock(&b->lock);
	}
	if (wake)
		goready(wake, READY_TAIL);
	return true;
}

void g_uninterrupt(struct g *gp)
{
	atomic_store(&gp->interrupted, false);
}
