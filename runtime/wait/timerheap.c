/*
 * timerheap: the deadlines of one P in order (timerheap.h).
 *
 * Four children a node: a binary heap is twice as deep, and the children of a node are in one cache line all the same.
 *
 * Must never: touch a timer but the one that it was called for.
 */
#include "runtime/sched/gmp.h"

#include <string.h>

enum {
	FIRST_CAP = 512,
	BEFORE = LINE / sizeof(struct timerkey) - 1, /* the root ends a line, so that its children begin one */
};

_Static_assert(sizeof(struct timerkey) * 4 == LINE, "four children in one line");

static void place(struct timerheap *h, uint32_t i, struct timerkey k)
{
	h->keys[i] = k;
	h->slots[k.slot].at = i;
}

static void siftup(struct timerheap *h, uint32_t i, struct timerkey k)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / 4;

		if (h->keys[parent].when <= k.when)
			break;
		place(h, i, h->keys[parent]);
		i = parent;
	}
	place(h, i, k);
}

static void siftdown(struct timerheap *h, uint32_t i, struct timerkey k)
{
	for (;;) {
		uint32_t first = 4 * i + 1, best = first;

		if (first >= h->n)
			break;
		for (uint32_t c = first + 1; c < first + 4 && c < h->n; c++)
			if (h->keys[c].when < h->keys[best].when)
				best = c;
		if (k.when <= h->keys[best].when)
			break;
		place(h, i, h->keys[best]);
		i = best;
	}
	place(h, i, k);
}

static size_t bytes(uint32_t cap)
{
	return (BEFORE + (size_t)cap) * sizeof(struct timerkey) + cap * sizeof(struct timerslot);
}

/* Twice as large. */
static bool grow(struct timerheap *h)
{
	uint32_t cap = h->cap ? h->cap * 2 : FIRST_CAP;
	struct timerkey *mem = os_alloc(bytes(cap)), *keys = mem + BEFORE;
	struct timerslot *slots = (void *)(keys + cap);

	if (!mem)
		return false;
	if (h->cap) {
		memcpy(keys, h->keys, h->n * sizeof(*keys));
		memcpy(slots, h->slots, h->used * sizeof(*slots));
		os_free(h->keys - BEFORE, bytes(h->cap));
	}
	h->keys = keys;
	h->slots = slots;
	h->cap = cap;
	return true;
}

bool timerheap_push(struct timerheap *h, struct timer *t)
{
	uint32_t slot = h->free;

	if (unlikely(h->n == h->cap) && !grow(h))
		return false;
	/* There are as many slots as keys: with none free, one was never used. */
	if (h->used > h->n)
		h->free = h->slots[slot].at;
	else
		slot = h->used++;
	h->slots[slot].t = t;
	t->slot = slot;
	siftup(h, h->n++, (struct timerkey){t->when, slot});
	return true;
}

void timerheap_take(struct timerheap *h, struct timer *t)
{
	uint32_t slot = t->slot, i;
	struct timerkey last;

	if (unlikely(slot >= h->used || h->slots[slot].t != t))
		throw("timerheap: another timer than the one that is to be taken has slot %u of %u", slot, h->used);
	i = h->slots[slot].at;
	last = h->keys[--h->n];
	if (i != h->n) {
		if (i > 0 && last.when < h->keys[(i - 1) / 4].when)
			siftup(h, i, last);
		else
			siftdown(h, i, last);
	}
	h->slots[slot] = (struct timerslot){NULL, h->free};
	h->free = slot;
	t->slot = TIMER_NOWHERE;
}

void timerheap_reorder(struct timerheap *h)
{
	for (uint32_t i = h->n / 4 + 1; i-- > 0;)
		if (i < h->n)
			siftdown(h, i, h->keys[i]);
}
