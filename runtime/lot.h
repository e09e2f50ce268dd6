/*
 * lot: what lot.c (queues and wakers) and lotpark.c (waiters and interrupts) share.  Nobody else
 * includes it.
 *
 * A waiter's state decides who wakes it.  It is QUEUED from the moment it is in a bucket; a G's
 * commit step (on g0) makes it PARKED; whoever takes it off the queue (waker, timer, interrupt:
 * under the bucket lock, so exactly one) makes it WOKEN by exchange, after writing result.  Old
 * value PARKED: that one must goready the G.  Old value QUEUED: the G has not slept yet and goes on
 * by itself; the waker must not touch the waiter again, its stack frame may be gone.  A poke (a
 * signal handler must run, the wait goes on) makes PARKED QUEUED again and readies the G.
 *
 * Nearly every park is straight: from the queue the G goes to sleep whatever happens.  It is PARKED
 * from the start, so nobody changes the state but who dequeues it, and two atomic operations less
 * are needed; the price is that it may be readied before it left its stack, and who picks it waits
 * for that (settle()).
 *
 * g->parkaddr and g->parked tell an interrupt where its G waits.  A G that does not wait sets
 * parkaddr before it locks the bucket; otherwise both change only under the lock of the bucket that
 * parkaddr names (two buckets' when it changes), so who holds that lock and still reads the same
 * parkaddr may use g->parked, which is NULL until the waiter is queued.
 */
#ifndef WEFT_LOT_H
#define WEFT_LOT_H

#include "runtime/gmp.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { NBUCKETS = 4096 };
enum { QUEUED, PARKED, WOKEN };

struct waiter {
	struct waiter *next, *prev;    /* (L bucket) */
	const void *_Atomic addr;      /* (L bucket) written, read by lot_lock_waiter */
	struct g *g;                   /* (c) NULL: a kernel thread */
	_Atomic uint32_t state;
	uint32_t bitset;               /* (c) */
	int result;                    /* by who dequeues it, before WOKEN */
	bool queued;                   /* (L bucket) */
	bool noted;                    /* (L bucket) g->parked is this one */
	bool interruptible;            /* (c) an interrupt ends the park; else it only pokes */
	bool straight;                 /* (L bucket) no commit step; until a poke */
	struct timer timer;
};

struct bucket {
	struct lock lock;
	struct waiter *head, *tail;    /* (L) all addresses of this bucket, oldest first */
	uint64_t fairwhen;             /* (L) the next wake-up after this hands ownership over */
} __attribute__((aligned(64)));

extern struct bucket lot_buckets[NBUCKETS] hidden;

static inline struct bucket *bucket_of(const void *addr)
{
	struct bucket *b = &lot_buckets[XXH3_64bits(&addr, sizeof(addr)) % NBUCKETS];

	/* One register: the compiler would keep the index, and add it to each member's address. */
	__asm__("" : "+r"(b));
	return b;
}

static inline void lot_note(struct waiter *w)
{
	struct g *gp = w->g;

	w->noted = true;
	gp->parked = w;
	atomic_store_explicit(&gp->parkaddr, atomic_load_explicit(&w->addr, memory_order_relaxed),
			      memory_order_release);
}

static inline void lot_unnote(struct waiter *w)
{
	w->noted = false;
	w->g->parked = NULL;
	atomic_store_explicit(&w->g->parkaddr, NULL, memory_order_release);
}

static inline void lot_push(struct bucket *b, struct waiter *w, bool front)
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

static inline void lot_unlink(struct bucket *b, struct waiter *w)
{
	*(w->prev ? &w->prev->next : &b->head) = w->next;
	*(w->next ? &w->next->prev : &b->tail) = w->prev;
}

static inline void lot_pull(struct bucket *b, struct waiter *w)
{
	w->queued = false;
	lot_unlink(b, w);
	if (w->noted)
		lot_unnote(w);
}

/* The locked bucket a waiter is in, or was in last. */
struct bucket *lot_lock_waiter(struct waiter *w) hidden;
/* Last touch of a dequeued waiter.  Returns the G the caller must goready, or NULL. */
static inline struct g *lot_release(struct waiter *w)
{
	struct g *gp = w->g;
	uint32_t old;

	if (likely(w->straight)) {
		/* Plain: nobody else writes it.  PARKED, for a poke makes it not straight. */
		atomic_store_explicit(&w->state, WOKEN, memory_order_release);
		return gp;
	}
	old = atomic_exchange(&w->state, WOKEN);
	if (unlikely(!gp))
		os_futex_wake((uint32_t *)&w->state, 1); /* the address only */
	return gp && old == PARKED ? gp : NULL;
}

#endif
