/*
 * park: the parking lot, under everything that waits.
 *
 * Must never: know what an address stands for.
 *
 * Functions that are apart, and why: lot_fair(), for it reads the clock, which a waker without waiters does not;
 * g_set_priority(), for the queue in which gp waits is known here alone.
 */
#ifndef WEFT_PARK_H
#define WEFT_PARK_H

#include <errno.h>

#include "runtime/runtime.h"

/*
 * One set of wait queues, keyed by address, under everything that waits.  The waiter lives on the
 * waiting stack, never in the object, so an object may be freed as soon as POSIX lets its user do
 * so.
 */
struct park {              /* made by the constructors below, each for one legal use */
	const void *addr;
	/*
	 * Under the bucket lock, before queueing: nonzero means do not sleep, lot_park returns
	 * -EAGAIN. Reads only memory that is mapped; must not call back here.
	 */
	int (*refuse)(void *arg);
	/*
	 * After queueing, outside the bucket lock, before sleeping; may lot_wake() (a condvar
	 * unlocks its mutex here).  May neither park nor unlock the G from its M: it waits already.
	 */
	void (*queued)(void *arg);
	void *arg;
	/*
	 * A count of the waiter's own; NULL: none.  It is read before the waiter queues, pinned: another number than
	 * counted, and lot_park returns -EINTR.
	 */
	const uint64_t *count;
	uint64_t counted;
	uint64_t deadline; /* CLOCK_MONOTONIC ns; 0: none */
	/*
	 * Instead, with any deadline but 0: ns of a clock that may be set; 0: none.
	 */
	uint64_t wall;
	int clock;
	uint32_t bitset;   /* 0 means all bits */
	uint8_t reason;    /* enum waitreason */
	/* Inheriting locks that the caller does not hold yet, or gives up once it is queued: runtime_hold(). */
	uint8_t gives;
	/*
	 * Place in the queue.  0: the last.  Written when a park ends, so that a waiter that lost a
	 * race, or ran a handler, queues again where it stood; LOT_FIRST: before all.
	 */
	uint64_t turn;
	const void *at; /* written when a park ends: where it was queued, elsewhere after lot_requeue() */
};

#define LOT_FIRST 1

/* What is waited for, for a park that may have a deadline already: woken by wakers of any of these bits. */
static inline void park_on(struct park *pk, const void *addr, int (*refuse)(void *), void *arg,
			   enum waitreason reason, uint32_t bits)
{
	pk->addr = addr;
	pk->refuse = refuse;
	pk->arg = arg;
	pk->bitset = bits;
	pk->reason = (uint8_t)reason;
}

/* For a change of which refuse tells. */
static inline struct park park_wait(const void *addr, int (*refuse)(void *), void *arg, enum waitreason reason)
{
	return (struct park){ .addr = addr, .refuse = refuse, .arg = arg, .reason = (uint8_t)reason };
}

/* The same, of wakers with one of these bits alone. */
static inline struct park park_bits(const void *addr, int (*refuse)(void *), void *arg, enum waitreason reason,
				    uint32_t bits)
{
	return (struct park){ .addr = addr, .refuse = refuse, .arg = arg, .bitset = bits,
			      .reason = (uint8_t)reason };
}

/* For a lock.  first: before all others, for the caller has been woken for it already. */
static inline struct park park_lock(const void *addr, int (*refuse)(void *), void *arg, enum waitreason reason,
				    bool first)
{
	return (struct park){ .addr = addr, .refuse = refuse, .arg = arg, .reason = (uint8_t)reason,
			      .turn = first ? LOT_FIRST : 0 };
}

/* For an event, giving a lock up once it is sure to be noticed: queued does that. */
static inline struct park park_cond(const void *addr, int (*refuse)(void *), void (*queued)(void *), void *arg,
				    enum waitreason reason)
{
	return (struct park){ .addr = addr, .refuse = refuse, .queued = queued, .arg = arg,
			      .reason = (uint8_t)reason };
}

/* For time alone (lot_sleep()), or until park_on() says what for. */
static inline struct park park_time(enum waitreason reason)
{
	return (struct park){ .reason = (uint8_t)reason };
}

/* Until a moment of CLOCK_MONOTONIC; 0: without end. */
static inline void park_until_ns(struct park *pk, uint64_t deadline)
{
	pk->deadline = deadline;
	pk->wall = 0;
}

/* Until a moment of a clock that may be set: neither is 0. */
static inline void park_until_wall(struct park *pk, uint64_t wall, int clock)
{
	pk->deadline = wall;
	pk->wall = wall;
	pk->clock = clock;
}

/*
 * 0..INT_MAX: woken, with the value the waker chose; -EAGAIN; -ETIMEDOUT; -EINTR, the caller is off
 * the queue and runs what it was interrupted for, if anything, before it parks again.
 */
int lot_park(struct park *pk);

/* Of what a park returned, where it does not matter whether the word had changed before or since. */
static inline int park_woken(int r)
{
	return r == -EAGAIN ? 0 : r;
}

enum readyhow {
	READY_TAIL, /* local tail: barriers */
	READY_LOCK, /* the same, but runnext on a P whose G computes: mutexes, rwlocks */
	READY_NEXT, /* runnext: condvars, semaphores */
	READY_WOKEN, /* before what is queued on a P whose G computes: timers */
};

/*
 * Wakes up to n waiters of addr whose bitset meets bits (0: all), oldest first.  decide, if given,
 * runs once under the bucket lock after the waiters are off the queue: woken is their count, more
 * tells whether others stay queued (not with n 0).  What it returns is what each woken lot_park() returns.
 */
typedef int (*lot_decide)(void *arg, unsigned woken, bool more);

/*
 * In a lot_decide, when woken > 0: true asks that ownership be handed over now, for the waiters of
 * addr have waited long.  Reads the clock.
 */
bool lot_fair(const void *addr);
unsigned lot_wake(const void *addr, unsigned n, uint32_t bits, enum readyhow how, lot_decide decide,
		  void *arg);

/* Wakes nobody: runs fn under the lock that lot_park's refuse and lot_wake's decide have for addr. */
static inline void lot_do(const void *addr, lot_decide fn, void *arg)
{
	lot_wake(addr, 0, 0, READY_TAIL, fn, arg);
}

/*
 * Wakes nwake waiters of from and moves up to nmove others to the queue of to, under both bucket
 * locks.  refuse (may be NULL) runs first: nonzero -> -EAGAIN and nothing happens.  moved (may be
 * NULL) runs under the locks with the number to be moved before they are (a condvar marks the mutex
 * contended there).  Returns woken, and *nmoved.
 */
int lot_requeue(const void *from, const void *to, unsigned nwake, unsigned nmove,
		int (*refuse)(void *arg), void (*moved)(void *arg, unsigned n), void *arg,
		unsigned *nmoved);

/* Parks without a waker: for pk's time, or until g_interrupt(): -ETIMEDOUT or -EINTR. */
static inline int lot_sleep(struct park *pk)
{
	char here; /* an address that no other thread can name */

	pk->addr = &here;
	pk->turn = 0;
	return lot_park(pk);
}

/*
 * Ends gp's park (now, or its next one) for a look at signals and cancellation.  True: it was
 * parked.  NULL: of the calling thread, which is no G; in a handler, first thing, for it may jump out of the park.
 */
bool g_interrupt(struct g *gp);

/*
 * gp's place among those that wait: the highest priority first.  Returns the kernel id of the M that gp is on,
 * and stays on if it is a holder (runtime_hold()); 0: it is on its way to another, for a child process's sake.
 */
int g_set_priority(struct g *gp, int priority);

#endif
