/*
 * lottable: the tables of the lot's queues: one from the start, and bigger ones as Gs are made.
 *
 * A wake-up looks at the waiters of its bucket, which are on stacks that are in no cache.  So there are more buckets
 * than Gs.  A bigger table takes the waiters over bucket by bucket, under the lock of each; a bucket that has
 * moved names the table that has its waiters now, for threads that found it before the new table was published.
 * Its eight followers are no other bucket's: nobody comes to them but through it, so it alone is locked.
 *
 * A table is never given back, for a thread may be about to lock a bucket of it.  All that came before the last one
 * are together a seventh of that.
 *
 * Rejected: a big table from the start (it counts for limits of data); all buckets locked at once (the others wait
 * for milliseconds).
 *
 * Must never: be called with a lock held.
 */
#include "runtime/wait/parkinglot.h"

enum { FIRST_BITS = 12, MORE_BITS = 3 };
_Static_assert(NBUCKETS == 1 << FIRST_BITS && sizeof(struct bucket) > TABLE_BITS, "a table is a word");

struct bucket lot_buckets[NBUCKETS];

/* An address as a constant: no thread may find it unset. */
#define FIRST_TABLE ((uint64_t)lot_buckets + FIRST_BITS)
_Atomic uint64_t lot_table = FIRST_TABLE;

static _Atomic bool growing;                     /* acq_rel: one thread at a time makes a table */
static _Atomic uint32_t enough = NBUCKETS;       /* Gs for which nothing is to be done */
static void *tables[TABLE_BITS];                 /* (growing) by the bits of their size; not the first */

static void empty(struct bucket *from, const struct bucket *to)
{
	for (struct bucket *b = from; b < to; b++) {
		lock_init(&b->lock, Lot);
		b->head = b->tail = NULL;
		store_relaxed(&b->moved, 0);
	}
}

/* A bucket is zeroes, in a debug build with its rank.  A look at each would map a page of memory for each page. */
void lot_init(void)
{
#ifdef WEFT_DEBUG
	empty(lot_buckets, lot_buckets + NBUCKETS);
#endif
}

struct bucket *lot_follow(struct bucket *b, uint64_t hash)
{
	uint64_t table;

	while ((table = load_acquire(&b->moved)))
		b = bucket_in(table, hash);
	return b;
}

struct bucket *lot_lock_moved(struct bucket *b, const void *addr)
{
	do {
		unlock_pinned(&b->lock);
		b = bucket_of(addr);
		lock_pinned(&b->lock);
	} while (load_relaxed(&b->moved));
	return b;
}

static inline unsigned bits_of(uint64_t table)
{
	return (unsigned)(table & TABLE_BITS);
}

static void move(struct bucket *b, uint64_t index, uint64_t from, uint64_t to)
{
	struct waiter *next;

	lock(&b->lock);
	for (uint64_t i = index; i >> bits_of(to) == 0; i += UINT64_C(1) << bits_of(from)) {
		struct bucket *c = bucket_in(to, i);

		empty(c, c + 1);
		c->turns = b->turns; /* those that queue again stand before what comes later */
		c->fairwhen = b->fairwhen;
	}
	for (struct waiter *w = b->head; w; w = next) {
		const void *addr = load_relaxed(&w->addr);

		next = w->next;
		lot_link(bucket_in(to, XXH3_64bits(&addr, sizeof(addr))), w, NULL);
	}
	b->head = b->tail = NULL;
	store_release(&b->moved, to); /* pairs with bucket_of() */
	unlock(&b->lock);
}

static bool grow(uint32_t gs)
{
	uint64_t from = load_relaxed(&lot_table), to;
	unsigned bits = bits_of(from);
	size_t n;

	while (gs >> bits)
		bits += MORE_BITS;
	if (bits == bits_of(from))
		return true; /* another thread has */
	n = sizeof(struct bucket) << bits;
	tables[bits] = sched.tight || os_fault("table of waiters") ? NULL : os_reserve(n);
	if (!tables[bits])
		return false;
	to = (uint64_t)tables[bits] + bits;
	for (uint64_t i = 0; i >> bits_of(from) == 0; i++)
		move(bucket_in(from, i), i, from, to);
	store_release(&lot_table, to); /* pairs with bucket_of() */
	return true;
}

void lot_grow(uint32_t gs)
{
	if (likely(gs < load_relaxed(&enough)) || exchange_acq_rel(&growing, true))
		return;
	/* Without the memory it is tried again when there are twice as many. */
	store_relaxed(&enough, grow(gs) ? 1U << bits_of(load_relaxed(&lot_table)) : gs * 2);
	store_release(&growing, false);
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

	store_relaxed(&lot_table, FIRST_TABLE);
	store_relaxed(&enough, NBUCKETS);
	store_relaxed(&growing, false);
	for (unsigned bits = 0; bits < nelem(tables); bits++) {
		if (tables[bits])
			os_free(tables[bits], sizeof(struct bucket) << bits);
		tables[bits] = NULL;
	}
	os_discard((void *)first, last - first);
	empty(lot_buckets, (struct bucket *)first);
	empty((struct bucket *)last, end);
	lot_init();
}
