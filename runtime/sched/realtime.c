/*
 * realtime: a G with a real-time policy has a kernel thread and a P of its own; so has one that may inherit one.
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
 * A G that holds an inheriting lock (runtime_hold()) may be given a priority at any moment, which its M gets.
 * So it stays on its M until it has released the lock.  While it runs that needs nothing.  When it would
 * leave the M (it parks, yields, its slice is over) or has come back from a call without a P, it is locked to
 * the M and gets a P of its own, as if it had a real-time policy, until its last such lock is released: from
 * then on the kernel decides when it runs (realtime_keep()).
 *
 * Must never: be called by a G that is not locked, but for that.
 */
#include "runtime/sched/sched_inline.h"

_Atomic bool realtime;
_Atomic bool realtime_order;

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

/*
 * The calling G is in a system call, where another thread gave it a policy with an order: pp is what it comes back to.
 * The P that it left there, if sysmon has not taken it, goes to others.
 */
static void own_in_call(struct g *gp, struct m *mp, struct p *pp)
{
	struct p *left = mp->oldp;
	uint32_t s = Psyscall;

	if (left && cas_seqcst(&left->status, &s, Pidle)) {
		fetch_add_relaxed(&left->syscalltick, 1);
		trace_handoff(left, mp);
		handoffp(left);
	}
	if (gp->rests) {
		lock(&sched.lock);
		rest_ends(gp, true);
		unlock(&sched.lock);
	}
	acquirep(mp, pp);
	reentersyscall(gp);
}

/* The calling G gets a P of its own; its M has a common one, or none.  False: no memory. */
static bool own_enter(struct g *gp, struct m *mp, uint8_t why)
{
	struct p *pp, *before;

	if (!gp->shim.ownp) {
		pp = realtime_takep();
		if (!pp)
			return false; /* it stays among the others */
		store_relaxed(&realtime, true);
		if (gp->shim.sysdepth) {
			own_in_call(gp, mp, pp);
			gp->shim.ownp |= why;
			return true;
		}
		before = mp->p ? releasep(mp) : NULL;
		acquirep(mp, pp);
		store_relaxed(&gp->shim.status, Grunning);
		if (before)
			handoffp(before);
	}
	gp->shim.ownp |= why;
	return true;
}

/*
 * To a P that all share, once it has no reason for its own; the caller may wait for one, or does so when its
 * call is over.
 */
static void own_leave(struct g *gp, struct m *mp, uint8_t why)
{
	struct p *pp;

	gp->shim.ownp &= (uint8_t)~why;
	if (gp->shim.ownp)
		return;
	if (gp->shim.sysdepth) {
		pp = mp->oldp; /* sysmon takes none of these */
		mp->oldp = NULL;
		trace_handoff(pp, mp);
		store_seqcst(&pp->status, Pidle);
	} else {
		pp = releasep(mp);
	}
	g_cachefree(pp);
	lock(&sched.lock);
	pp->link = unused;
	unused = pp;
	unlock(&sched.lock);
	if (!gp->shim.sysdepth)
		regainp(gp);
}

void runtime_realtime(bool has)
{
	struct g *gp = weft_tls.g;

	if (likely(has == !!(gp->shim.ownp & OwnPolicy)))
		return;
	pin();
	if (has)
		own_enter(gp, getm(), OwnPolicy);
	else
		own_leave(gp, getm(), OwnPolicy);
	unpin();
}

/* ---- holders of inheriting locks ------------------------------------------------------------- */

void runtime_release(bool stay)
{
	struct g *gp = weft_tls.g;
	uint32_t held = gp ? load_relaxed(&gp->shim.holds) : 0;

	/* What was taken before weft started was not counted. */
	if (!held)
		return;
	store_relaxed(&gp->shim.holds, held - 1);
	if (likely(held > 1 || stay || !(gp->shim.ownp & OwnHolds) || gp->shim.sysdepth))
		return;
	pin();
	unlockosthread(false);
	own_leave(gp, getm(), OwnHolds);
	unpin();
}

/* Where it made children it is locked by its home alone. */
bool realtime_keep(struct g *gp)
{
	struct m *mp = getm();

	if (gp->shim.ownp || (gp->home && gp->home != mp) || !own_enter(gp, mp, OwnHolds))
		return gp->shim.ownp;
	if (!gp->lockdepth++) {
		gp->lockedm = mp;
		mp->lockedg = gp;
	}
	return true;
}

void realtime_end(struct g *gp)
{
	bool holds = gp->shim.ownp & OwnHolds;

	store_relaxed(&gp->shim.holds, 0);
	pin();
	if (holds)
		unlockosthread(false);
	own_leave(gp, getm(), OwnPolicy | OwnHolds);
	unpin();
}
