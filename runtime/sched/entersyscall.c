/*
 * entersyscall: leaving for the kernel and coming back.
 *
 * Enter marks the P Psyscall and goes: one compare-and-swap, which fails only while sysmon's
 * preemption signal is on its way here (preempt.c) and then waits for it.  Only sysmon takes the P
 * meanwhile, by compare-and-swap Psyscall -> Pidle.  Exit takes it back by the same
 * compare-and-swap; failing that any idle P; failing that the G is queued and the M sleeps.  The
 * region nests: only the outermost pair does anything.
 *
 * entersyscallblock is for a call that is known to wait: the P goes to another M, or becomes idle,
 * at once instead of when sysmon comes by (two of its ticks: 50 us where it is awake, up to 20 ms
 * where it dozes).  It costs the waking of an M, so a caller that can tries the call without
 * waiting first.
 *
 * Must never: touch errno (a result may be in it), run the scheduler between the two.
 */
#include "runtime/sched/gmp.h"

/* The outermost, pinned. */
static inline __attribute__((always_inline)) void reentersyscall(struct g *gp)
{
	struct m *mp = getm();
	struct p *pp = mp->p;

	mp->oldp = pp;
	store_relaxed(&mp->p, NULL);
	store_relaxed(&pp->m, NULL);
	store_relaxed(&pp->sysm, mp);
	store_relaxed(&gp->status, Gsyscall);
	p_leave(pp, Psyscall);
	if (unlikely(load_seqcst(&sched.sysmonwait)) && !pp->own)
		sysmon_wake();
}

void entersyscall(void)
{
	struct g *gp = weft_tls.g;

	if (!gp)
		return;
	pin();
	if (gp->sysdepth++ == 0) {
		gp->syscallsp = (uintptr_t)__builtin_frame_address(0);
		reentersyscall(gp);
	}
	unpin();
}

void entersyscallblock(void)
{
	struct g *gp = weft_tls.g;

	if (!gp)
		return;
	pin();
	if (gp->sysdepth++) {
		unpin();
		return;
	}
	gp->syscallsp = (uintptr_t)__builtin_frame_address(0);
	if (unlikely(getp()->own)) {
		reentersyscall(gp);
	} else {
		store_relaxed(&gp->status, Gsyscall);
		/*
		 * No M waits for a signal with a P: releasep() sees to that.  oldp stays NULL: any
		 * P will do.
		 */
		handoffp(releasep(getm()));
	}
	unpin();
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
	if (!pp)
		globrunqwoken(gp);
	unlock(&sched.lock);
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

	lock(&sched.lock);
	pp = pidleget();
	unlock(&sched.lock);
	if (pp) {
		acquirep(mp, pp);
		count_up(&pp->syscalltick);
		store_relaxed(&gp->status, Grunning);
		return;
	}
	if (realtime_keeps(gp, 0) && realtime_keep(gp))
		return;
	mcall(exitsyscall0);
}

static void exitsyscall_outermost(struct g *gp)
{
	struct m *mp = getm();
	struct p *pp = mp->oldp;
	uint32_t s = Psyscall;

	mp->oldp = NULL;
	if (likely(pp) && cas_seqcst(&pp->status, &s, Prunning)) {
		store_relaxed(&mp->p, pp);
		store_relaxed(&pp->m, mp);
		count_up(&pp->syscalltick);
		store_relaxed(&gp->status, Grunning);
		return;
	}
	regainp(gp);
}

void exitsyscall(void)
{
	struct g *gp = weft_tls.g;

	if (!gp || !gp->sysdepth)
		return;
	/* A handler that finds sysdepth 0 assumes that there is a P. */
	pin();
	if (--gp->sysdepth == 0)
		exitsyscall_outermost(gp);
	unpin();
}

void syscall_reset(void)
{
	struct g *gp = weft_tls.g;

	if (gp && gp->sysdepth) {
		pin();
		gp->sysdepth = 0;
		exitsyscall_outermost(gp);
		unpin();
	}
}
