/*
 * entersyscall: leaving for the kernel and coming back.
 *
 * Enter marks the P Psyscall and goes: one compare-and-swap, which fails only while sysmon's
 * preemption signal is on its way here (preempt.c) and then waits for it.  Only sysmon takes the P
 * meanwhile, by compare-and-swap Psyscall -> Pidle.  Exit takes it back by the same
 * compare-and-swap; failing that any idle P; failing that the G is queued and the M sleeps.  The
 * region nests: only the outermost pair does anything.
 *
 * entersyscallblock (entersyscallwait) is for a call that is known to wait: the P goes to another M, or becomes idle,
 * at once instead of when sysmon comes by (two of its ticks: 0.2 ms where it has just taken one, up to 20 ms
 * where it dozes).  It costs the waking of an M, so a caller that can tries the call without
 * waiting first.
 *
 * Where that is not known, the past says: sysmon took a P from a call of this G (insyscall.c), so its next
 * calls from the same place in the shim give the P away themselves if others wait.  One in which the kernel did
 * not make the M wait counts against the place.
 *
 * Must never: touch errno (a result may be in it), run the scheduler between the two.
 */
#include "runtime/sched/sched_inline.h"

/* The outermost call, from where one blocked: the P goes at once, if there is what it could run. */
static bool hand_over(struct g *gp)
{
	struct m *mp = getm();
	struct p *pp = mp->p;

	if (gp->callsite != gp->handsite || pp->own || (runqempty(pp) && load_relaxed(&sched.runqsize) == 0))
		return false;
	gp->handed = true;
	gp->handwaits = os_own_waits();
	store_relaxed(&gp->shim.status, Gsyscall);
	TRACE(SYSBLOCK, gp->shim.goid, 0, pp, 0, true);
	handoffp(releasep(mp));
	return true;
}

/* A call is over during which another had the P: sysmon took it, or it was handed over; or it was known to wait. */
static void learn(struct g *gp, struct m *mp)
{
	if (load_relaxed(&mp->told) & TOLD_RETAKEN) {
		fetch_and_relaxed(&mp->told, ~(uint32_t)TOLD_RETAKEN);
		gp->handsover = HANDS_OVER;
		gp->handsite = gp->callsite;
	} else if (gp->handed) {
		gp->handsover = os_own_waits() != gp->handwaits ? HANDS_OVER : gp->handsover - 1;
		gp->handed = false;
	}
}

void entersyscall(void)
{
	struct g *gp = weft_tls.g;

	if (!gp)
		return;
	pin();
	if (gp->shim.sysdepth++ == 0) {
		gp->syscallsp = (uintptr_t)__builtin_frame_address(0);
		gp->callsite = (uintptr_t)__builtin_return_address(0);
		if (likely(!gp->handsover) || !hand_over(gp))
			reentersyscall(gp);
	}
	unpin();
}

/* The outermost, pinned. */
static bool give_p(struct g *gp, pollslot *epoll, int fd)
{
	struct m *mp = getm();

	if (unlikely(mp->p->own)) {
		reentersyscall(gp);
		return true;
	}
	if (epoll)
		return rest_begins(gp, mp, epoll, fd);
	store_relaxed(&gp->shim.status, Gsyscall);
	TRACE(SYSBLOCK, gp->shim.goid, 0, mp->p, 0, true);
	/*
	 * No M waits for a signal with a P: releasep() sees to that.  oldp stays NULL: any
	 * P will do.
	 */
	handoffp(releasep(mp));
	return true;
}

bool entersyscallwait(pollslot *epoll, int fd)
{
	struct g *gp = weft_tls.g;
	bool waits = true;

	if (!gp)
		return true;
	pin();
	if (gp->shim.sysdepth++ == 0) {
		gp->syscallsp = (uintptr_t)__builtin_frame_address(0);
		waits = give_p(gp, epoll, fd);
	}
	if (!waits)
		gp->shim.sysdepth--;
	unpin();
	return waits;
}

bool runtime_others_wait(void)
{
	struct p *pp;
	bool wait;

	pin();
	pp = getp();
	wait = pp && (!runqempty(pp) || load_relaxed(&sched.runqsize) > 0);
	unpin();
	return wait;
}

static void forget_computed(struct m *mp)
{
	if (unlikely(load_relaxed(&mp->told) & TOLD_COMPUTED))
		fetch_and_relaxed(&mp->told, ~(uint32_t)TOLD_COMPUTED);
}

/* On g0: no P was to be had at once. */
void exitsyscall0(void *arg)
{
	struct g *gp = arg;
	struct m *mp = offm(gp);
	struct p *pp;

	lock(&sched.lock);
	pp = pidleget();
	/* The G may hold the lock for which the maker of that P's M waits (pstart.c). */
	if (!pp)
		pp = pstartget(mp);
	/* One that had its slice waits its turn; one that was blocked has been woken. */
	if (!pp && unlikely(load_relaxed(&mp->told) & TOLD_COMPUTED))
		globrunqput(gp, false);
	else if (!pp)
		globrunqwoken(gp);
	unlock(&sched.lock);
	forget_computed(mp);
	if (!pp)
		sysmon_wake_by(0);
	if (pp) {
		acquirep(mp, pp);
		if (mp->spinning)
			resetspinning(mp);
		/* A queue is no place for it: its M would give the P away and wait to get it back. */
		if (mp->lockedg)
			execute(mp, gp, false);
		/* Straight back on: the local queue's next slot, then the ordinary way. */
		runqput(pp, gp, true);
		schedule(NULL);
	}
	if (mp->lockedg) {
		/* Only this M may run gp, so only it may sleep for it. */
		schedule(NULL);
	}
	while (!mp->p)
		stopm(mp, 0);
	schedule(NULL);
}

/*
 * The M of the calling G, which is pinned, has no P: it takes any idle one, or the G waits its
 * turn.
 */
void regainp(struct g *gp)
{
	struct m *mp = getm();
	struct p *pp;

	TRACE(SYSLOST, gp->shim.goid, 0, NULL, 0, false);
	lock(&sched.lock);
	pp = pidleget();
	if (gp->rests)
		rest_ends(gp, pp != NULL);
	unlock(&sched.lock);
	if (pp) {
		forget_computed(mp);
		acquirep(mp, pp);
		count_up(&pp->syscalltick);
		store_relaxed(&gp->shim.status, Grunning);
		trace_run(gp, pp);
		return;
	}
	if (realtime_keeps(gp, 0) && realtime_keep(gp)) {
		trace_run(gp, mp->p);
		return;
	}
	mcall(exitsyscall0);
}

static void exitsyscall_outermost(struct g *gp)
{
	struct m *mp = getm();
	struct p *pp = mp->oldp;
	uint32_t s = Psyscall, told = load_relaxed(&mp->told);

	mp->oldp = NULL;
	/* Asked first: the P may be in another's call by now, and then is taken back from that. */
	if (unlikely(!pp || told))
		learn(gp, mp);
	if (likely(pp) && cas_seqcst(&pp->status, &s, Prunning)) {
		store_relaxed(&mp->p, pp);
		store_relaxed(&pp->m, mp);
		count_up(&pp->syscalltick);
		store_relaxed(&gp->shim.status, Grunning);
		TRACE(SYSEXIT, gp->shim.goid, 0, pp, 0, false);
		if (unlikely(told & TOLD_GIVEWAY))
			preempt_after_call(gp, mp);
		return;
	}
	regainp(gp);
}

void exitsyscall(void)
{
	struct g *gp = weft_tls.g;

	if (!gp || !gp->shim.sysdepth)
		return;
	/* A handler that finds sysdepth 0 assumes that there is a P. */
	pin();
	if (--gp->shim.sysdepth == 0)
		exitsyscall_outermost(gp);
	unpin();
}
