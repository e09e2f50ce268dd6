/*
 * tlsarea: memory for thread blocks, one area for each G that was ever made, and for good.
 *
 * Apart from the stacks, and never unmapped: a thread id, a signal on its way, sysmon between two
 * looks may lead to the block of a thread that has ended, at any time later.  What they find there
 * is the block of a dead thread, or of the next, or zeroes (scavenge.c gives back the pages alone),
 * but never memory of another use.  The stacks may come and go meanwhile, and side by side the
 * areas of 200,000 threads need a few page tables and not as many as there are stacks.
 *
 * Areas are cut as large as they are, not in whole pages: a thread block of 5 KB costs a new thread
 * one page and a quarter, not two.  So neighbours share a page, and it goes back when neither has a
 * block in it.  All of a block is touched at once, so pages come several at a time, an eighth of the
 * mapping ahead: that is half the price of a fault each.
 *
 * Must never: be unmapped; be given to another G.
 */
#include "runtime/sched/gmp.h"

#include <string.h>

enum { SLAB = 64, ALIGN_MIN = 64 };

struct areas {                    /* side by side in one mapping */
	char *at;
	uint32_t n;               /* (L area) so many have been cut */
	uint64_t used;            /* (L area) a bit for each that has, or had, a block; 0: zeroes */
};

static struct lock arealock = LOCK_INIT(Stack);
static struct areas *last;        /* (L area) that the next is cut from; NULL: a new one */
static uint32_t left, next;       /* (L area) so many are left there; how many the one after it has */
static char *populated;           /* (L area) below it all of last has pages, or is not worth them */
static _Atomic uint32_t populating; /* threads that give pages to what is not cut yet; raised (L area) */
static size_t areasize;           /* of each, the first one says: thread blocks are all alike */

static char *aligned(char *p, size_t align)
{
	return (char *)(((uintptr_t)p + align - 1) & -align);
}

static char *page_of(char *p)
{
	return (char *)((uintptr_t)p & -os_pagesize());
}

/* A mapping of as many as are fit now (L area). */
static bool more(size_t align)
{
	size_t page = os_pagesize(), extra = align > page ? align - page : 0;
	uint32_t n = reserve_count(next, areasize);
	struct areas *as = NULL;
	char *p = NULL;

	while (n && !(p = os_reserve_dense(n * areasize + extra)))
		n /= 2;
	if (p)
		as = persistentalloc(sizeof(*as));
	if (!as) {
		if (p)
			os_free(p, n * areasize + extra);
		return false;
	}
	as->at = populated = aligned(p, align);
	last = as;
	left = n;
	next = n * 2;
	return true;
}

/*
 * The area that is cut next, and as many after it as are worth a system call, are to get their pages (L area).  The
 * caller gives them, without the lock, for others cut areas meanwhile; and lowers `populating`.
 */
static void to_populate(char **from, size_t *len)
{
	char *cut = last->at + last->n * areasize, *end;
	uint32_t ahead = (last->n + left) / 8;

	if (ahead < 2 || cut + areasize <= populated)
		return;
	end = page_of(cut + (ahead < left ? ahead : left) * areasize);
	if (end > populated) {
		*from = page_of(populated);
		*len = (size_t)(end - *from);
		fetch_add_relaxed(&populating, 1);
	}
	populated = cut + areasize > end ? cut + areasize : end;
}

static uint64_t bit_of(const struct g *gp)
{
	return UINT64_C(1) << (size_t)(gp->area - gp->areas->at) / areasize;
}

bool tlsarea_alloc(struct g *gp, const struct gattr *a)
{
	size_t align = a->tlsalign > ALIGN_MIN ? a->tlsalign : ALIGN_MIN;
	size_t n = a->tlsarea ? (a->tlsarea + align - 1) & -align : align, len = 0;
	char *from = NULL;

	lock(&arealock);
	if (!areasize)
		areasize = n;
	if (!gp->area && n <= areasize && (left || more(align))) {
		to_populate(&from, &len);
		gp->area = last->at + last->n++ * areasize;
		gp->areas = last;
		left--;
	}
	if (gp->area)
		gp->areas->used |= bit_of(gp);
	unlock_pinned(&arealock);
	if (from) {
		/* Pinned: tlsarea_trim() keeps its P while it waits for this, and there may be no other. */
		os_populate(from, len);
		fetch_sub_acq_rel(&populating, 1); /* pairs with tlsarea_trim() */
	}
	unpin();
	return gp->area != NULL;
}

/* Somebody has, or had, a block there (L area). */
static bool in_use(const struct areas *as, const char *page)
{
	size_t first = (size_t)(page - as->at) / areasize;
	size_t end = ((size_t)(page - as->at) + os_pagesize() - 1) / areasize;

	for (size_t i = first; i <= end && i < SLAB; i++)
		if (as->used >> i & 1)
			return true;
	return false;
}

/* The pages of an area, but those where others have, or had, a block: what lies there is made zeroes (L area). */
static void unused_pages(const struct g *gp, char **low, char **high)
{
	size_t page = os_pagesize();
	char *from = gp->area, *to = from + areasize;

	*low = page_of(from);
	*high = page_of(to - 1) + page;
	if (in_use(gp->areas, *low)) {
		*low += page;
		memset(from, 0, (size_t)((*low < to ? *low : to) - from));
	}
	if (*low < *high && in_use(gp->areas, *high - page)) {
		*high -= page;
		memset(*high, 0, (size_t)(to - *high));
	}
}

/*
 * Their thread blocks are gone: the pages go back, and the areas read as zeroes.  What lies side by side goes by one
 * system call.
 */
void tlsarea_discard(struct g *const *gs, uint32_t n)
{
	char *from = NULL, *to = NULL, *low, *high;

	/* Until the end: a neighbour that comes back writes there. */
	lock(&arealock);
	for (uint32_t i = 0; i < n; i++)
		gs[i]->areas->used &= ~bit_of(gs[i]);
	for (uint32_t i = 0; i < n; i++) {
		unused_pages(gs[i], &low, &high);
		if (low >= high)
			continue;
		if (from && low <= to && high >= from) {
			from = low < from ? low : from;
			to = high > to ? high : to;
			continue;
		}
		if (from)
			os_discard(from, (size_t)(to - from));
		from = low;
		to = high;
	}
	if (from)
		os_discard(from, (size_t)(to - from));
	unlock(&arealock);
}

/*
 * In the child of a fork: the area of a G that the fork left behind, whose block is off all lists.  It
 * is in use again, and of zeroes.  False: the copy was made while the G got it.
 */
bool tlsarea_take_over(struct g *gp)
{
	const struct areas *as = gp->areas;

	if (!gp->area || !as || !as->at || gp->area < as->at || gp->area >= as->at + SLAB * areasize)
		return false;
	memset(gp->area, 0, areasize);
	lock(&arealock);
	gp->areas->used |= bit_of(gp);
	unlock(&arealock);
	return true;
}

void tlsarea_trim(void)
{
	size_t page = os_pagesize();

	lock(&arealock);
	/* What is unmapped may be another's memory at once.  No more come while the lock is held. */
	for (struct moment w = { 0 }; load_acquire(&populating) > 0;)
		moment_wait(&w);
	if (left) {
		char *cut = last->at + last->n * areasize, *end = cut + left * areasize;

		cut = aligned(cut, page);
		end = aligned(end, page);
		if (cut < end)
			os_free(cut, (size_t)(end - cut));
	}
	left = next = 0;
	unlock(&arealock);
}

void tlsarea_fork_child(void)
{
	lock_init(&arealock, Stack);
	left = 0;
	store_relaxed(&populating, 0); /* by the parent's threads */
}
