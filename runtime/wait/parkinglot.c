/*
 * parkinglot: the parking lot.  Wait queues keyed by address; everything that waits waits here.
 *
 * A waiter is a struct on the waiting stack: of a G, or of a native thread, which then
 * sleeps on the waiter's state word as a private futex.  The object waited for holds no pointer to
 * us.  This file is the queues and the wakers; parkinglot_wait.c the waiters; parkinglot.h what both must know.
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

struct bucket lot_buckets[NBUCKETS];

static void empty(struct bucket *from, const struct bucket *to)
{
	for (struct bucket *b = from; b < to; b++) {
		lock_init(&b->lock, Lot);
		b->head = b->tail = NULL;
	}
}

/* A bucket is zeroes, in a debug build with its rank.  A look at each would map a page of memory for each page. */
void lot_init(void)
{
#ifdef WEFT_DEBUG
	empty(lot_buckets, lot_buckets + NBUCKETS);
#endif
}

struct bucket *lot_lock_waiter(struct waiter *w)
{
	for (;;) {
		const void *addr = load_relaxed(&w->addr);
		struct bucket *b = bucket_of(addr);

		lock(&b->lock);
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
	struct bucket *b = bucket_of(addr);

	lock(&b->lock);
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

int lot_requeue(const void *from, const void *to, unsigned nwake, unsigned nmove,
		int (*refuse)(void *arg), void (*moved)(void *arg, unsigned n), void *arg,
		unsigned *nmoved)
{
	struct bucket *a = bucket_of(from), *b = bucket_of(to);
	struct bucket *first = a < b ? a : b, *second = a < b ? b : a;
	struct waiter *chain = NULL, **link = &chain, *w, *next, *stop;
	unsigned woken = 0, n = 0;

	lock(&first->lock);
	if (first != second)
		lock(&second->lock);
	if (refuse && refuse(arg)) {
		if (first != second)
			unlock(&second->lock);
		unlock(&first->lock);
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
	if (first != second)
		unlock(&second->lock);
	unlock(&first->lock);
	wakeall(chain, READY_NEXT);
	if (nmoved)
		*nmoved = n;
	return (int)woken;
}

bool lot_waiting(const void *addr)
{
	struct bucket *b = bucket_of(addr);
	struct waiter *w;

	lock(&b->lock);
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
	b = bucket_of(addr);
	lock(&b->lock);
	w = load_relaxed(&gp->parkaddr) == addr ? gp->parked : NULL;
	if (w)
		*seen = (struct lot_seen){ addr, w->turn, w->timed };
	unlock(&b->lock);
	return w != NULL;
}

/*
 * The waiters of a fork child are gone; a lock may have been held by a thread that is.  Whole pages are given
 * back, for what is written would be memory of its own in every child.
 */
void lot_fork_child(void)
{
	struct bucket *end = lot_buckets + NBUCKETS;
	uintptr_t page = os_pagesize(), first = ((uintptr_t)lot_buckets + page - 1) & ~(page - 1);
	uintptr_t last = (uintptr_t)end & ~(page - 1);

	os_discard((void *)first, last - first);
	empty(lot_buckets, (struct bucket *)first);
	empty((struct bucket *)last, end);
	lot_init();
}
