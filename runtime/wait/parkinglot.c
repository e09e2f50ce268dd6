/*
 * parkinglot: the parking lot.  Wait queues keyed by address; everything that waits waits here.
 *
 * A waiter is a struct on the waiting stack: of a G, or of a native thread, which then
 * sleeps on the waiter's state word as a private futex.  The object waited for holds no pointer to
 * us.  This file is the queues and the wakers; parkinglot_wait.c the waiters; lottable.c the tables of queues;
 * parkinglot.h what all must know.
 *
 * A waiter's addr changes only under both buckets' locks (requeue); lot_lock_waiter() re-reads it.
 * Lock rank: Timers < Lot < Sched.  No lock is held across a switch.
 *
 * Rejected: queue heads inside pthread objects (their size is fixed, they may be freed while
 * waiters leave, and processes share them).  A lock in each G for interrupts: it was taken three
 * times a park.
 */
#include "runtime/wait/parkinglot.h"

#include <errno.h>

struct bucket *lot_lock_waiter(struct waiter *w)
{
	for (;;) {
		const void *addr = load_relaxed(&w->addr);
		struct bucket *b = bucket_lock(addr);

		if (load_relaxed(&w->addr) == addr)
			return b;
		unlock(&b->lock);
	}
}

#ifdef WEFT_DEBUG
/* A G that waits here can be interrupted here, and is not run before it is dequeued. */
static void check_waiter(const struct bucket *b, const struct waiter *w)
{
	const void *addr = load_relaxed(&w->addr);

	if (!w->queued || bucket_of(addr) != b)
		throw("lot_check: a waiter that is not queued, or not in this bucket");
	if (w->next && !lot_before(w, w->next))
		throw("lot_check: turn %lu stands before %lu", w->turn, w->next->turn);
	if (w->g && (w->g->parked != w || load_relaxed(&w->g->parkaddr) != addr ||
		     gstatus(w->g) != Gwaiting))
		throw("lot_check: g%lu waits, with status %u, and cannot be interrupted", w->g->shim.goid,
		      gstatus(w->g));
}

void lot_check(const struct bucket *b)
{
	const struct waiter *before = NULL, *w = b->head;

	for (unsigned n = 0; w && n < CHECK_MOST; before = w, w = w->next, n++) {
		if (w->prev != before)
			throw("lot_check: a waiter has another one before it than the queue");
		check_waiter(b, w);
	}
	if (!w && b->tail != before)
		throw("lot_check: the last waiter is not the last");
}
#endif

void lot_insert(struct bucket *b, struct waiter *w)
{
	struct waiter *next = b->head;

	while (next && lot_before(next, w))
		next = next->next;
	lot_link(b, w, next);
}

bool lot_fair(const void *addr)
{
	struct bucket *b = bucket_of(addr);
	uint64_t now;

	if (!weft_opt.fairness)
		return false;
	now = os_nanotime();
	if (b->fairwhen && now < b->fairwhen)
		return false;
	b->fairwhen = now + (uint64_t)weft_opt.fairness;
	return true;
}

/* Wakes a chain linked through next, oldest first. */
static void wakeall(struct waiter *chain, enum readyhow how)
{
	unsigned n = 0;

	while (chain) {
		struct waiter *next = chain->next;
		struct g *gp = lot_release(chain);

		if (gp)
			goready(gp, how);
		chain = next;
		n++;
	}
	if (n)
		wakep_for_woken(n);
}

static bool waits_behind(const struct waiter *w, const void *addr)
{
	while ((w = w->next))
		if (load_relaxed(&w->addr) == addr)
			return true;
	return false;
}

/*
 * What lot_wake() does nearly always: one is wanted, and the bucket's first is one.  Unlocks and
 * unpins.
 */
static inline unsigned wake_head(struct bucket *b, struct waiter *w, const void *addr,
				 enum readyhow how, lot_decide decide, void *arg)
{
	struct g *gp;

	lot_pull(b, w);
	w->result = decide ? decide(arg, 1, waits_behind(w, addr)) : 0;
	lot_check(b);
	unlock_pinned(&b->lock);
	gp = lot_release(w);
	if (gp)
		goready_pinned(gp, how);
	unpin();
	return 1;
}

static unsigned wake_some(struct bucket *b, const void *addr, unsigned n, uint32_t bits,
			  enum readyhow how, lot_decide decide, void *arg)
{
	struct waiter *chain = NULL, **link = &chain, *w, *next;
	unsigned woken = 0;
	bool more = false;
	int result = 0;

	for (w = n ? b->head : NULL; w; w = next) {
		next = w->next;
		if (load_relaxed(&w->addr) != addr)
			continue;
		if (woken == n) {
			more = true;
			break;
		}
		if (bits && !(w->bitset & bits)) {
			more = true;
			continue;
		}
		lot_pull(b, w);
		w->next = NULL;
		*link = w;
		link = &w->next;
		woken++;
	}
	if (decide)
		result = decide(arg, woken, more);
	for (w = chain; w; w = w->next)
		w->result = result;
	lot_check(b);
	unlock(&b->lock);
	wakeall(chain, how);
	return woken;
}

unsigned lot_wake(const void *addr, unsigned n, uint32_t bits, enum readyhow how, lot_decide decide,
		  void *arg)
{
	struct bucket *b = bucket_lock(addr);

	if (likely(b->head && n == 1 && !bits && load_relaxed(&b->head->addr) == addr))
		return wake_head(b, b->head, addr, how, decide, arg);
	return wake_some(b, addr, n, bits, how, decide, arg);
}

/* Of those that wait for addr; the bucket's lock is held. */
static unsigned count_waiters(const struct bucket *b, const void *addr)
{
	unsigned n = 0;

	for (const struct waiter *w = b->head; w; w = w->next)
		n += load_relaxed(&w->addr) == addr;
	return n;
}

static void unlock_both(struct bucket *a, struct bucket *b)
{
	if (a != b)
		unlock(&b->lock);
	unlock(&a->lock);
}

/* The one of the lower address first.  Either may move before it is locked. */
static void lock_both(const void *from, const void *to, struct bucket **a, struct bucket **b)
{
	for (;;) {
		struct bucket *first, *second;

		*a = bucket_of(from);
		*b = bucket_of(to);
		first = *a < *b ? *a : *b;
		second = *a < *b ? *b : *a;
		lock(&first->lock);
		if (first != second)
			lock(&second->lock);
		if (likely(!load_relaxed(&first->moved) && !load_relaxed(&second->moved)))
			return;
		unlock_both(*a, *b);
	}
}

int lot_requeue(const void *from, const void *to, unsigned nwake, unsigned nmove,
		int (*refuse)(void *arg), void (*moved)(void *arg, unsigned n), void *arg,
		unsigned *nmoved)
{
	struct bucket *a, *b;
	struct waiter *chain = NULL, **link = &chain, *w, *next, *stop;
	unsigned woken = 0, n = 0;

	lock_both(from, to, &a, &b);
	if (refuse && refuse(arg)) {
		unlock_both(a, b);
		return -EAGAIN;
	}
	if (moved && nmove) {
		unsigned have = count_waiters(a, from);

		have = have > nwake ? have - nwake : 0;
		moved(arg, have < nmove ? have : nmove);
	}
	stop = b->tail; /* what we append to the same bucket is not seen again */
	for (w = a->head; w; w = next) {
		bool last = a == b && w == stop;

		next = last ? NULL : w->next;
		if (load_relaxed(&w->addr) != from)
			continue;
		if (woken < nwake) {
			lot_pull(a, w);
			w->result = 0;
			w->next = NULL;
			*link = w;
			link = &w->next;
			woken++;
		} else if (n < nmove) {
			lot_unlink(a, w);
			store_relaxed(&w->addr, to);
			w->turn = 0;
			lot_push(b, w);
			if (w->g)
				lot_publish(w);
			n++;
		} else {
			break;
		}
	}
	lot_check(a);
	lot_check(b);
	unlock_both(a, b);
	wakeall(chain, READY_NEXT);
	if (nmoved)
		*nmoved = n;
	return (int)woken;
}

bool lot_waiting(const void *addr)
{
	struct bucket *b = bucket_lock(addr);
	struct waiter *w;

	for (w = b->head; w && load_relaxed(&w->addr) != addr; w = w->next)
		;
	unlock(&b->lock);
	return w != NULL;
}

bool lot_seen(struct g *gp, struct lot_seen *seen)
{
	const void *addr = load_acquire(&gp->parkaddr);
	struct bucket *b;
	struct waiter *w;

	if (!addr)
		return false;
	b = bucket_lock(addr);
	w = load_relaxed(&gp->parkaddr) == addr ? gp->parked : NULL;
	if (w)
		*seen = (struct lot_seen){ addr, w->turn, w->timed };
	unlock(&b->lock);
	return w != NULL;
}
