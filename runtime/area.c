/*
 * area: memory for thread blocks, one area for each G that was ever made, and for good.
 *
 * Apart from the stacks, and never unmapped: a thread id, a signal on its way, sysmon between two
 * looks may lead to the block of a thread that has ended, at any time later.  What they find there is
 * the block of a dead thread, or of the next, or zeroes (scavenge.c gives back the pages alone), but
 * never somebody else's memory.  The stacks may come and go meanwhile, and side by side the areas of
 * 200,000 threads need a few page tables and not as many as there are stacks.
 *
 * Must never: be unmapped; be given to another G.
 */
#include "runtime/gmp.h"

static struct reservation areas;
static size_t areasize; /* of each, the first one says: thread blocks are all alike */

static char *aligned(char *p, size_t align)
{
	return (char *)(((uintptr_t)p + align - 1) & -align);
}

bool area_alloc(struct g *gp, const struct gattr *a)
{
	size_t page = os_pagesize(), align = a->tlsalign > page ? a->tlsalign : page;
	size_t n = (a->tlsarea + align - 1) & -align;
	char *p;

	if (gp->area)
		return true;
	if (!areasize)
		areasize = n;
	if (n > areasize)
		return false;
	/* The reservation is aligned to a page only. */
	p = reserved(&areas, areasize + (align - page));
	if (!p)
		return false;
	gp->area = aligned(p, align);
	return true;
}

void area_is(struct g *gp, char *area)
{
	gp->area = area;
}

/* Its thread block is gone: the pages go back, and the area reads as zeroes. */
void area_discard(struct g *gp)
{
	os_discard(gp->area, areasize);
}

void areas_trim(void)
{
	reserved_trim(&areas);
}

void area_fork_child(void)
{
	areas.left = 0;
}
