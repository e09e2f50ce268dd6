/*
 * lot: the parking lot.  Wait queues keyed by address; everything that waits waits here.
 *
 * A waiter is a struct on the waiting stack: of a G, or of a foreign kernel thread, which then sleeps on the
 * waiter's state word as a private futex.  The object waited for holds no pointer to us.
 *
 * A waiter's state decides who wakes it.  It is QUEUED from the moment it is in a bucket; a G's commit step
 * (on g0) makes it PARKED; whoever takes it off the queue (waker, timer, interrupt: under the bucket lock, so
 * exactly one) makes it WOKEN by exchange, after writing result.  Old value PARKED: that one must goready the
 * G.  Old value QUEUED: the G has not slept yet and goes on by itself; the waker must not touch the waiter
 * again, its stack frame may be gone.  A poke (a signal handler must run, the wait goes on) makes PARKED
 * QUEUED again and readies the G.
 *
 * A waiter's addr changes only under both buckets' locks (requeue); lock_of() re-reads it.
 * Lock rank: Intr, Timers < Lot < Sched.  No lock is held across a switch.
 *
 * Rejected: queue heads inside pthread objects (their size is fixed, they may be freed while waiters leave,
 * and processes share them).
 */
#include "runtime/gmp.h"

#include <errno.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { NBUCKETS = 4096 };
enum { QUEUED, PARKED, WOKEN };

struct waiter {
	struct waiter *next, *prev;    /* (L bucket) */
	const void *_Atomic addr;      /* (L bucket) written, read by lock_of */
	struct g *g;                   /* (c) NULL: a kernel thread */
	_Atomic uint32_t state;
	uint32_t bitset;               /* (c) */
	int result;                    /* by who dequeues it, before WOKEN */
	bool queued;                   /* (L bucket) */
	bool interruptible;            /* (c) an interrupt ends the park; else it only pokes */
	struct timer timer;
};

struct bucket {
	struct lock lock;
	struct waiter *head, *tail;    /* (L) all addresses of this bucket, oldest first */
	uint64_t fairwhen;             /* (L) the next wake-up after this hands ownership over */
} __attribute__((aligned(64)));

static struct bucket buckets[NBUCKETS];

void lot_init(void)
{
	for (int i = 0; i < NBUCKETS; i++)
		lock_init(&buckets[i].lock, Lot);
}

static struct bucket *bucket_of(const void *addr)
{
	return &buckets[XXH3_64bits(&addr, sizeof(addr)) % NBUCKETS];
}

/* The locked bucket a waiter is in. */
static struct bucket *lock_of(struct waiter *w)
{
	for (;;) {
		const void *addr = atomic_load(&w->addr);
		struct bucket *b = bucket_of(addr);

		lock(&b->lock);
		if (atomic_load(&w->addr) == addr)
			return b;
		unlock(&b->lock);
	}
}

static void push(struct bucket *b, struct waiter *w, bool front)
{
	w->queued = true;
	if (front) {
		w->prev = NULL;
		w->next = b->head;
		*(b->head ? &b->head->prev : &b->tail) = w;
		b->head = w;
	} else {
		w->next = NULL;
		w->prev = b->tail;
		*(b->tail ? &b->tail->next : &b->head) = w;
		b->tail = w;
	}
}

static void pull(struct bucket *b, struct waiter *w)
{
	w->queued = false;
	*(w->prev ? &w->prev->next : &b->head) = w->next;
	*(w->next ? &w->next->prev : &b->tail) = w->prev;
}

/* Last touch of a dequeued waiter.  Returns the G the caller must goready, or NULL. */
static struct g *release(struct waiter *w)
{
	struct g *gp = w->g;
	uint32_t old = atomic_exchange(&w->state, WOKEN);

	if (!gp)
		os_futex_wake((uint32_t *)&w->state, 1); /* the address only */
	return gp && old == PARKED ? gp : NULL;
}

static bool commit(struct g *gp, void *arg)
{
	struct waiter *w = arg;
	uint32_t s = QUEUED;

	(void)gp;
	return atomic_compare_exchange_strong(&w->state, &s, PARKED);
}

/* Timer function: claims the waiter if nobody did. */
static struct g *expire(void *arg)
{
	struct waiter *w = arg;
	struct bucket *b = lock_of(w);
	bool mine = w->queued;

	if (mine) {
		pull(b, w);
		w->result = -ETIMEDOUT;
	}
	unlock(&b->lock);
	return mine ? release(w) : NULL;
}

/* A foreign thread gives up; false when a waker was faster (its wake-up is on the way). */
static bool giveup(struct waiter *w, int result)
{
	struct bucket *b = lock_of(w);
	bool mine = w->queued;

	if (mine) {
		pull(b, w);
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

static void set_intrwait(struct g *gp, struct waiter *w)
{
	lock(&gp->intrlock);
	gp->intrwait = w;
	unlock(&gp->intrlock);
}

static void sleep_g(struct waiter *w, const struct park *pk)
{
	struct g *gp = w->g;
	bool timed = pk->deadline != 0;

	if (timed) {
		w->timer.fn = expire;
		w->timer.arg = w;
		timer_add(&w->timer, pk->deadline);
	}
	while (atomic_load(&w->state) != WOKEN) {
		gopark(commit, w, pk->reason, pk->addr);
		if (atomic_load(&w->state) == WOKEN)
			break;
		/* Poked: a handler runs while we stay queued; what it waits for is a park of its own. */
		set_intrwait(gp, NULL);
		hooks.poked();
		set_intrwait(gp, w);
	}
	if (timed)
		timer_del(&w->timer);
	set_intrwait(gp, NULL);
}

/* Queues w unless refused; with intrlock held on behalf of an interruptible G. */
static int enqueue(struct waiter *w, const struct park *pk)
{
	struct bucket *b = bucket_of(pk->addr);

	lock(&b->lock);
	if (pk->refuse && pk->refuse(pk->arg)) {
		unlock(&b->lock);
		return -EAGAIN;
	}
	push(b, w, pk->fifo_front);
	unlock(&b->lock);
	return 0;
}

static int enqueue_intr(struct waiter *w, const struct park *pk)
{
	struct g *gp = w->g;
	int err = -EINTR;

	lock(&gp->intrlock);
	w->interruptible = pk->interruptible;
	if (!pk->interruptible || !gp->interrupted) {
		err = enqueue(w, pk);
		if (!err)
			gp->intrwait = w;
	}
	if (pk->interruptible)
		gp->interrupted = false;
	unlock(&gp->intrlock);
	return err;
}

int lot_park(const struct park *pk)
{
	struct g *gp = weft_tls.g;
	struct waiter w = { .addr = pk->addr,
			    .g = gp,
			    .bitset = pk->bitset ? pk->bitset : ~0u };
	uint32_t depth = 0;
	int err;

	if (gp && gp->sysdepth) {
		/* Inside a libc call that was handed off: parking needs a P again. */
		depth = gp->sysdepth;
		syscall_reset();
	}
	err = gp ? enqueue_intr(&w, pk) : enqueue(&w, pk);
	if (!err) {
		if (pk->queued)
			pk->queued(pk->arg);
		if (gp)
			sleep_g(&w, pk);
		else
			sleep_foreign(&w, pk->deadline, pk->interruptible);
		err = w.result;
	}
	if (depth) {
		entersyscall();
		gp->sysdepth = depth;
	}
	return err;
}

static bool fairnow(struct bucket *b)
{
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
	while (chain) {
		struct waiter *next = chain->next;
		struct g *gp = release(chain);

		if (gp)
			goready(gp, how);
		chain = next;
	}
}

unsigned lot_wake(const void *addr, unsigned n, uint32_t bits, enum readyhow how, lot_decide decide,
		  void *arg)
{
	struct bucket *b = bucket_of(addr);
	struct waiter *chain = NULL, **link = &chain, *w, *next;
	unsigned woken = 0;
	bool more = false;
	int result = 0;

	lock(&b->lock);
	for (w = b->head; w; w = next) {
		next = w->next;
		if (w->addr != addr)
			continue;
		if (woken == n) {
			more = true;
			break;
		}
		if (bits && !(w->bitset & bits)) {
			more = true;
			continue;
		}
		pull(b, w);
		w->next = NULL;
		*link = w;
		link = &w->next;
		woken++;
	}
	if (decide)
		result = decide(arg, woken, more, woken && fairnow(b));
	for (w = chain; w; w = w->next)
		w->result = result;
	unlock(&b->lock);
	wakeall(chain, how);
	return woken;
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
		unsigned have = 0;

		for (w = a->head; w; w = w->next)
			have += w->addr == from;
		have = have > nwake ? have - nwake : 0;
		moved(arg, have < nmove ? have : nmove);
	}
	stop = b->tail; /* what we append to the same bucket is not seen again */
	for (w = a->head; w; w = next) {
		bool last = a == b && w == stop;

		next = last ? NULL : w->next;
		if (w->addr != from)
			continue;
		if (woken < nwake) {
			pull(a, w);
			w->result = 0;
			w->next = NULL;
			*link = w;
			link = &w->next;
			woken++;
		} else if (n < nmove) {
			pull(a, w);
			atomic_store(&w->addr, to);
			push(b, w, false);
			n++;
		} else {
			break;
		}
	}
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
	for (w = b->head; w && w->addr != addr; w = w->next)
		;
	unlock(&b->lock);
	return w != NULL;
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

bool g_interrupt(struct g *gp)
{
	struct g *wake = NULL;
	struct waiter *w;

	lock(&gp->intrlock);
	w = gp->intrwait;
	gp->interrupted = true;
	if (w && !w->interruptible) {
		uint32_t s = PARKED;

		/* Stays queued; its owner looks around and parks again. */
		if (atomic_compare_exchange_strong(&w->state, &s, QUEUED)) {
			gp->interrupted = false;
			wake = gp;
		}
	} else if (w) {
		struct bucket *b = lock_of(w);

		if (w->queued) {
			pull(b, w);
			w->result = -EINTR;
			gp->interrupted = false;
			unlock(&b->lock);
			wake = release(w);
		} else {
			unlock(&b->lock);
		}
	}
	/* Readied under intrlock: sleep_g takes it before the waiter's frame goes. */
	if (wake)
		goready(wake, READY_TAIL);
	unlock(&gp->intrlock);
	return w != NULL;
}

void g_uninterrupt(struct g *gp)
{
	lock(&gp->intrlock);
	gp->interrupted = false;
	unlock(&gp->intrlock);
}

/* The waiters of a fork child are gone; a lock may have been held by a thread that is. */
void lot_fork_child(void)
{
	for (int i = 0; i < NBUCKETS; i++) {
		lock_init(&buckets[i].lock, Lot);
		buckets[i].head = buckets[i].tail = NULL;
	}
}
