/*
 * parkinglot_wait: the waiting side of the parking lot: park, time out, be interrupted.
 *
 * A G is pinned from before it queues until it runs again: no handler of the program may run on a
 * stack whose G a waker could ready at any moment.  An interrupt sets g->interrupted, then reads
 * parkaddr, then locks the bucket that parkaddr names.  The G sets parkaddr, takes that lock (a
 * locked instruction, hence a full barrier) and reads interrupted before it queues.  One of the two
 * sees the other.
 *
 * A kernel thread that is no G sleeps with its signals unblocked, so that a signal ends its sleep.
 * Before a handler runs there, g_interrupt(NULL) takes its waiter off the queue (weft_tls.waits).
 *
 * Must never: run code of the program while its thread is queued.
 */
#include "runtime/wait/parkinglot.h"

#include <errno.h>

/* Timer function: dequeues the waiter if no other thread has. */
static struct g *expire(void *arg)
{
	struct waiter *w = arg;
	struct bucket *b = lot_lock_waiter(w);
	bool mine = w->queued;

	if (mine) {
		lot_pull(b, w);
		w->result = -ETIMEDOUT;
	}
	lot_check(b);
	unlock(&b->lock);
	return mine ? lot_release(w) : NULL;
}

/* A native thread gives up.  False: a waker dequeued it first, and its wake-up is on the way. */
static bool cancel_wait(struct waiter *w, int result)
{
	struct bucket *b = lot_lock_waiter(w);
	bool mine = w->queued;

	if (mine) {
		lot_pull(b, w);
		w->result = result;
		store_relaxed(&w->state, WAITER_WOKEN);
	}
	lot_check(b);
	unlock(&b->lock);
	return mine;
}

/* In a handler on a thread that is no G. */
static bool leave(void)
{
	struct waiter *w = weft_tls.waits;

	if (likely(!w))
		return false;
	weft_tls.waits = NULL; /* the handler may park itself, or leave by a jump */
	cancel_wait(w, -EINTR);
	return true;
}

/* The kernel's own wait follows a clock that is set. */
static void sleep_native(struct waiter *w, const struct park *pk)
{
	uint64_t deadline = pk->deadline, wall = deadline ? pk->wall : 0;
	uint32_t *state = (uint32_t *)&w->state;

	/* Acquire: pairs with lot_release(). */
	while (load_acquire(&w->state) != WAITER_WOKEN) {
		int r = wall ? os_futex_wait_realtime(state, WAITER_QUEUED, wall)
			     : os_futex_wait(state, WAITER_QUEUED, deadline);

		if (r == -ETIMEDOUT || r == -EINTR) {
			if (cancel_wait(w, r))
				return;
			deadline = wall = 0;
		}
	}
}

/* Queues w, pinned; 0, or why not: -EAGAIN (refused), -EINTR. */
static inline __attribute__((always_inline)) int enqueue(struct waiter *w, const struct park *pk)
{
	struct bucket *b = bucket_lock_pinned(pk->addr);
	struct g *gp = w->g;
	int err = 0;

	if (likely(gp) && unlikely(load_relaxed(&gp->interrupted))) {
		store_seqcst(&gp->interrupted, false);
		err = -EINTR;
	} else if (pk->count && unlikely(*pk->count != pk->counted)) {
		err = -EINTR;
	} else if (pk->refuse && pk->refuse(pk->arg)) {
		err = -EAGAIN;
	} else {
		w->turn = pk->turn;
		w->priority = likely(gp) ? load_relaxed(&gp->priority) : 0;
		lot_push(b, w);
		if (likely(gp)) {
			/* From the unlock on it may be readied. */
			store_relaxed(&gp->shim.status, Gwaiting);
			lot_publish(w);
		}
	}
	lot_check(b);
	unlock_pinned(&b->lock);
	return err;
}

/* The caller's result, and what it needs to queue again where it stood. */
static inline int wait_result(const struct waiter *w, struct park *pk)
{
	pk->at = load_relaxed(&w->addr);
	pk->turn = w->turn;
	return w->result;
}

static __attribute__((noinline)) int park_native(struct waiter *w, struct park *pk)
{
	int err;

	store_relaxed(&w->state, WAITER_QUEUED);
	pin();
	err = enqueue(w, pk);
	if (!err)
		weft_tls.waits = w;
	unpin();
	if (err)
		return err;
	if (pk->queued)
		pk->queued(pk->arg);
	sleep_native(w, pk);
	weft_tls.waits = NULL;
	return wait_result(w, pk);
}

static inline __attribute__((always_inline)) int park_g(struct waiter *w, struct park *pk)
{
	struct g *gp = w->g;
	int err;

	pin();
	store_relaxed(&gp->parkaddr, pk->addr);
	err = enqueue(w, pk);
	if (likely(!err)) {
		if (pk->queued)
			pk->queued(pk->arg);
		if (pk->deadline) {
			w->timer.fn = expire;
			w->timer.arg = w;
			w->timer.wall = pk->wall;
			w->timer.clock = pk->clock;
			timer_add(&w->timer, pk->deadline);
		}
		gopark_pinned(pk->reason, pk->addr);
		if (pk->deadline)
			timer_del(&w->timer);
		err = wait_result(w, pk);
	} else {
		store_relaxed(&gp->parkaddr, NULL);
	}
	unpin();
	return err;
}

void sigmask_sigthread_runs(bool yes, uint64_t idlemask)
{
	store_release(&sched.idlemask, idlemask);
	store_release(&sched.sigthread_runs, yes);
}

/*
 * What the hook does may park, so the process counts as one with a signal thread meanwhile.  If the
 * hook fails, the next park asks again.
 */
static __attribute__((noinline)) void start_sigthread(void)
{
	sigmask_sigthread_runs(true, 0);
	if (hooks.start_sigthread && !hooks.start_sigthread())
		sigmask_sigthread_runs(false, 0);
}

int lot_park(struct park *pk)
{
	struct g *gp = weft_tls.g;
	/* Field by field: zeroing the timer too would cost as much as queueing. */
	struct waiter w;
	uint32_t depth;
	int err;

	store_relaxed(&w.addr, pk->addr); /* a plain assignment would be a full fence */
	w.g = gp;
	w.bitset = pk->bitset ? pk->bitset : ~0u;
	w.result = 0;
	w.timed = pk->deadline != 0;
	if (!gp)
		return park_native(&w, pk);
	depth = gp->shim.sysdepth;
	/* The caller is inside a libc call for which it gave its P away: parking needs a P. */
	if (unlikely(depth))
		syscall_reset();
	if (unlikely(!load_relaxed(&sched.sigthread_runs)))
		start_sigthread();
	if (unlikely(pk->wall))
		netpoll_clock();
	if (realtime_keeps(gp, pk->gives)) {
		pin();
		realtime_keep(gp);
		unpin();
	}
	err = park_g(&w, pk);
	/*
	 * An interrupt came between the end of the wait and here, where no signal could reach it: its sender may have
	 * come before the waker, and the caller is to see first what the first did.  Left set for the next park: it may
	 * have been another's.
	 */
	if (unlikely(load_relaxed(&gp->interrupted)) && err != -EINTR)
		g_look();
	if (unlikely(depth)) {
		entersyscall();
		gp->shim.sysdepth = depth;
	}
	return err;
}

/*
 * The locked bucket in which gp waits.  NULL: gp does not wait, or will see that it was
 * interrupted.
 */
static struct bucket *lock_parked(struct g *gp)
{
	for (;;) {
		const void *addr = load_seqcst(&gp->parkaddr);
		struct bucket *b;

		if (!addr)
			return NULL;
		b = bucket_lock(addr);
		if (load_seqcst(&gp->parkaddr) == addr) {
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
	struct bucket *b;
	struct waiter *w;

	if (unlikely(!gp))
		return leave();
	/* Before the look for a waiter: pairs with enqueue(). */
	store_seqcst(&gp->interrupted, true);
	b = lock_parked(gp);
	if (!b)
		return false;
	w = gp->parked;
	lot_pull(b, w);
	w->result = -EINTR;
	store_seqcst(&gp->interrupted, false);
	lot_check(b);
	unlock(&b->lock);
	goready(gp, READY_TAIL);
	return true;
}

/* struct m is never freed, so a stale pointer reads an old id at worst. */
static int ostid_of(const struct g *gp)
{
	const struct m *mp = load_relaxed(&gp->lockedm);

	return mp ? mp->ostid : g_m(gp).ostid;
}

int g_set_priority(struct g *gp, int priority)
{
	int ostid = ostid_of(gp);
	struct bucket *b;
	struct waiter *w;

	/* Before the look for a waiter: pairs with enqueue(). */
	store_seqcst(&gp->priority, priority);
	b = lock_parked(gp);
	if (!b)
		return ostid;
	w = gp->parked;
	lot_unlink(b, w);
	w->priority = priority;
	lot_insert(b, w);
	unlock(&b->lock);
	return ostid;
}
