/*
 * timerheap: the deadlines of one P in order.
 *
 * A timer is on the stack of a thread that waits, which is cold.  So the heap holds the time beside the number of the
 * timer's slot, four children in one cache line, and the slot knows where in the heap that stands: no step of the heap
 * touches a timer.  (With a heap of pointers a quarter of the samples of 10,000 sleepers were in it.)
 *
 * Must never: be used without the P's timerslock.
 */
#ifndef WEFT_TIMERHEAP_H
#define WEFT_TIMERHEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer;

struct timerkey {
	uint64_t when;
	uint32_t slot;
};

struct timerslot {
	struct timer *t; /* NULL: free */
	uint32_t at;     /* its place in keys; free: the next free slot */
};

struct timerheap {
	struct timerkey *keys;   /* [cap], the first n in use */
	struct timerslot *slots; /* [cap], the first used in use or free */
	uint32_t n, cap;
	uint32_t used, free;     /* free: the first of the used - n that are */
};

#define TIMER_NOWHERE UINT32_MAX      /* slot of a timer between two heaps */
#define TIMER_LISTED (UINT32_MAX - 1) /* of one for which there was no room (timer.c) */

/* At t->when; writes t->slot.  False: no memory, and nothing has changed. */
bool timerheap_push(struct timerheap *h, struct timer *t);
void timerheap_take(struct timerheap *h, struct timer *t);

/* After keys[].when of any of them has changed. */
void timerheap_reorder(struct timerheap *h);

static inline struct timer *timerheap_first(const struct timerheap *h)
{
	return h->n ? h->slots[h->keys[0].slot].t : NULL;
}

#endif
