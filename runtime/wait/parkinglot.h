/*
 * parkinglot: what parkinglot.c (queues and wakers) and parkinglot_wait.c (waiters and interrupts)
 * share.  No other file includes it.
 *
 * A waiter is queued or not, under its bucket's lock.  Exactly one of these takes it off the queue:
 * a waker, its timer, an interrupt.  The one that does writes result.  It then readies the G; for a
 * kernel thread it makes state WAITER_WOKEN and wakes that word as a futex.  After that the waiter's stack
 * frame may be gone.  A G is Gwaiting from the moment it is queued: it may be readied before it
 * left its stack, and the M that picks it waits for that (prepare_switch()).
 *
 * No handler of the program runs while its thread is queued: a handler may wait itself, and it may
 * never return.  The interrupt takes the waiter off the queue, the handler runs, and the thread
 * queues again where it stood.  Every waiter has a turn, a number that its bucket gave it; a
 * bucket's queue is in the order of turns.
 *
 * g->parkaddr and g->parked tell an interrupt where its G waits.  A G that does not wait sets
 * parkaddr before it locks the bucket.  Otherwise both change only under the lock of the bucket
 * that parkaddr names (under two buckets' locks when parkaddr changes).  A thread that holds that
 * lock and still reads the same parkaddr may use g->parked, which is NULL until the waiter is
 * queued.
 */
#ifndef WEFT_PARKINGLOT_H
#define WEFT_PARKINGLOT_H

#include "runtime/wait/hash.h"
#include "runtime/sched/gmp.h"

/*
 * The first table: a quarter of a megabyte, which counts for limits of data, and the first thread must start in 10 MB
 * of it (tests/e2e/limits.sh).  Bigger ones follow as Gs are made (lottable.c).
 */
enum { NBUCKETS = 4096 };
enum { WAITER_QUEUED, WAITER_WOKEN };

struct waiter {
	struct waiter *next, *prev;    /* (L bucket) */
	const void *_Atomic addr;      /* (L bucket) written, read by lot_lock_waiter */
	struct g *g;                   /* (c) NULL: a kernel thread */
	uint64_t turn;                 /* (L bucket) */
	_Atomic uint32_t state;        /* of a kernel thread: WAITER_QUEUED or WAITER_WOKEN; its futex */
	uint32_t bitset;               /* (c) */
	int result;                    /* written by the thread that dequeues it */
	int priority;                  /* (L bucket) of a real-time G; else 0 */
	bool queued;                   /* (L bucket) */
	bool timed;                    /* (c) it has a deadline */
	struct timer timer;
};

struct bucket {
	struct lock lock;
	struct waiter *head, *tail;    /* (L) all addresses of this bucket, in the order of priorities, then turns */
	uint64_t turns;                /* (L) the last one given */
	uint64_t fairwhen;             /* (L) the next wake-up after this hands ownership over */
	/* (L), read without it: the table that has the waiters now; 0: they are here */
	_Atomic uint64_t moved;
} __attribute__((aligned(64)));

extern struct bucket lot_buckets[NBUCKETS] hidden;

/* A table in one word: where it is, and, in the bits that its alignment leaves, the logarithm of its size. */
enum { TABLE_BITS = 63 };
/* release by the thread that filled the table, acquire in bucket_of() */
extern _Atomic uint64_t lot_table hidden;

static inline struct bucket *bucket_in(uint64_t table, uint64_t hash)
{
	struct bucket *b = (struct bucket *)(table & ~(uint64_t)TABLE_BITS);

	/* The low bits: the buckets that one comes to in a bigger table are no other's. */
	b += hash & ((UINT64_C(1) << (table & TABLE_BITS)) - 1);
	/* One register: the compiler would keep the index, and add it to each member's address. */
	arch_in_register(b);
	return b;
}

struct bucket *lot_follow(struct bucket *b, uint64_t hash) hidden; /* b has moved: where to */
/* As bucket_lock_pinned(), of a bucket that is locked and has moved: that is unlocked. */
struct bucket *lot_lock_moved(struct bucket *b, const void *addr) hidden;

/*
 * Not locked: it may have moved by the time that it is.  In line by force, as the next: a park and a wake-up have one
 * each, and a call for them costs a tenth of both.
 */
static inline __attribute__((always_inline)) struct bucket *bucket_of(const void *addr)
{
	uint64_t hash = XXH3_64bits(&addr, sizeof(addr));
	struct bucket *b = bucket_in(load_acquire(&lot_table), hash);

	return likely(!load_acquire(&b->moved)) ? b : lot_follow(b, hash);
}

/* For a caller that is pinned before and after. */
static inline __attribute__((always_inline)) struct bucket *bucket_lock_pinned(const void *addr)
{
	struct bucket *b = bucket_of(addr);

	lock_pinned(&b->lock);
	return likely(!load_relaxed(&b->moved)) ? b : lot_lock_moved(b, addr);
}

static inline struct bucket *bucket_lock(const void *addr)
{
	pin();
	return bucket_lock_pinned(addr);
}

static inline void lot_publish(struct waiter *w)
{
	struct g *gp = w->g;

	gp->parked = w;
	store_release(&gp->parkaddr, load_relaxed(&w->addr));
}

static inline void lot_unpublish(struct waiter *w)
{
	w->g->parked = NULL;
	store_release(&w->g->parkaddr, NULL);
}

static inline void lot_link(struct bucket *b, struct waiter *w, struct waiter *next)
{
	w->next = next;
	w->prev = next ? next->prev : b->tail;
	*(next ? &next->prev : &b->tail) = w;
	*(w->prev ? &w->prev->next : &b->head) = w;
}

static inline bool lot_before(const struct waiter *a, const struct waiter *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->turn <= b->turn;
}

/* True when a thread waits on addr now (a hint: the caller does not hold the lock): for tests. */
bool lot_waiting(const void *addr) hidden;

void lot_insert(struct bucket *b, struct waiter *w) hidden; /* not as the last */
/* Without a turn as the last of its priority; with one that it had, where it stood. */
static inline void lot_push(struct bucket *b, struct waiter *w)
{
	w->queued = true;
	if (likely(!w->turn))
		w->turn = ++b->turns;
	if (likely(!b->tail || lot_before(b->tail, w)))
		lot_link(b, w, NULL);
	else
		lot_insert(b, w);
}

static inline void lot_unlink(struct bucket *b, struct waiter *w)
{
	*(w->prev ? &w->prev->next : &b->head) = w->next;
	*(w->next ? &w->next->prev : &b->tail) = w->prev;
}

#ifdef WEFT_DEBUG
void lot_check(const struct bucket *b) hidden; /* locked, and its queue was changed */
#else
#define lot_check(b) ((void)0)
#endif

static inline void lot_pull(struct bucket *b, struct waiter *w)
{
	if (unlikely(!w->queued))
		throw("lot: a waiter is dequeued twice");
	w->queued = false;
	lot_unlink(b, w);
	if (likely(w->g))
		lot_unpublish(w);
}

/* The locked bucket a waiter is in, or was in last. */
struct bucket *lot_lock_waiter(struct waiter *w) hidden;
/* Last touch of a dequeued waiter.  Returns the G the caller must goready, or NULL. */
static inline struct g *lot_release(struct waiter *w)
{
	struct g *gp = w->g;

	if (unlikely(!gp)) {
		/* Release: pairs with sleep_native(), which reads result after it. */
		store_release(&w->state, WAITER_WOKEN);
		os_futex_wake((uint32_t *)&w->state, 1); /* the address only */
	}
	return gp;
}

#endif
