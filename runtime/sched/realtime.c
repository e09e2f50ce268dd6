/*
 * realtime: a G with a real-time policy has a kernel thread and a P of its own.
 *
 * The shim locks such a G to its M and gives that M the policy.  Here the M gets a P that is on no
 * list: no thread takes it, steals from it or runs its timers, so the G keeps it in system calls
 * and while it waits.  A waker of the G wakes its kernel thread, and the kernel decides by
 * priority, with no ordinary thread in between.  Its timers are its M's own time-outs
 * (stoplockedm).  What such a G readies goes to the global queue, for no other M looks at its own.
 *
 * A descriptor is waited for in the kernel, by the shim.  The poller is an ordinary thread, which may have
 * to wait for a CPU.  And there may be none: an M becomes the poller on its way to sleep, and the M of such
 * a G sleeps for that G alone.
 *
 * The lot's queues are in the order of priorities, of which all other threads have 0.
 *
 * Must never: be called by a G that is not locked.
 */
#include "runtime/sched/gmp.h"

_Atomic bool realtime;

static struct p *unused;     /* (L sched) linked through link */
static int32_t made;         /* (L sched) */

void realtime_fork_child(void)
{
	unused = NULL; /* the list may have been half changed */
}

static struct p *realtime_takep(void)
{
	struct p *pp;
	int32_t id = 0;

	lock(&sched.lock);
	pp = unused;
	if (pp)
		unused = pp->link;
	else
		id = MAXPROCS + made++;
	unlock(&sched.lock);
	if (!pp)
		pp = p_new(id);
	if (pp) {
		pp->link = NULL;
		pp->own = true;
	}
	return pp;
}

static void realtime_enter(struct g *gp, struct m *mp, int priority)
{
	struct p *pp = realtime_takep(), *before;

	if (!pp)
		return; /* no memory: it stays among the others */
	store_relaxed(&realtime, true);
	before = releasep(mp);
	acquirep(mp, pp);
	gp->priority = priority;
	handoffp(before);
}

/* To a P that all share; the caller may wait for one. */
static void realtime_leave(struct g *gp, struct m *mp)
{
	struct p *pp = releasep(mp);

	gp->priority = 0;
	g_cachefree(pp);
	lock(&sched.lock);
	pp->link = unused;
	unused = pp;
	unlock(&sched.lock);
	regainp(gp);
}

bool realtime_self(void)
{
	return weft_tls.g && weft_tls.g->priority;
}

void runtime_raised(int priority)
{
	struct g *gp = weft_tls.g;

	if (gp->priority)
		gp->priority = priority;
}

void runtime_realtime(int priority)
{
	struct g *gp = weft_tls.g;
	struct m *mp;

	if (likely(!priority && !gp->priority))
		return;
	pin();
	mp = getm();
	if (priority && gp->priority)
		gp->priority = priority;
	else if (priority)
		realtime_enter(gp, mp, priority);
	else
		realtime_leave(gp, mp);
	unpin();
}
