/*
 * scavenge: memory of dead Gs goes back to the kernel.
 *
 * When the kernel refuses memory for a stack, what dead Gs have is taken first, whatever its shape:
 * their stacks are unmapped, and the thread blocks stay for the next life.  From the first refusal on
 * dead Gs are kept in the common lists alone: of a limit that is so near no P may have its own share.
 *
 * Must never: touch a P's lists while it is owned by another.
 */
#include "runtime/gmp.h"

/* What the caller's P and the idle ones have goes to the common lists. */
static void gather(void)
{
	struct p *pp;

	pin();
	pp = getp();
	if (pp)
		g_cachefree(pp);
	unpin();
	/* A P leaves the idle list under this lock, so meanwhile its lists are nobody's. */
	lock(&sched.lock);
	for (pp = sched.pidle; pp; pp = pp->link)
		g_cachefree(pp);
	unlock(&sched.lock);
}

/* Those whose stack the kernel will not unmap stay what they were. */
static bool unmap_all(void)
{
	struct g *gp, *kept = NULL;
	bool any = false;

	while ((gp = g_take_any())) {
		if (stack_free(&gp->stack)) {
			g_bare(gp);
			any = true;
		} else {
			gp->schedlink = kept;
			kept = gp;
		}
	}
	while ((gp = kept)) {
		kept = gp->schedlink;
		g_free(gp);
	}
	return any;
}

bool scavenge_scarce(const struct shape *s)
{
	atomic_store_explicit(&sched.scarce, true, memory_order_relaxed);
	gather();
	/* One of the same shape needs no memory at all. */
	return g_common(s) || unmap_all();
}
