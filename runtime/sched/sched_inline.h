/*
 * sched_inline: the steps from a G that stops to the one its P runs next, in line.
 *
 * They are in every park and every wake-up; as calls they were a tenth of a condvar round trip.
 * Included by park.c, proc.c, runq.c and the queue's unit tests.  Must never: wait for anything but
 * a stack that is being left (prepare_switch).
 */
#ifndef WEFT_SCHED_INLINE_H
#define WEFT_SCHED_INLINE_H

#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

static inline struct g *runqget(struct p *pp, bool *inherit)
{
	struct g *next = load_relaxed(&pp->runnext);

	/* Only thieves compete for runnext, and they only set it to NULL: one try is enough. */
	*inherit = next && cas_seqcst(&pp->runnext, &next, NULL);
	return *inherit ? next : runqget_ring(pp);
}

/*
 * To runnext.  True: it was empty; others only ever empty it, so that is a plain store of the
 * owner.
 */
static inline bool putnext(struct p *pp, struct g *gp)
{
	if (likely(!weft_opt.chaos && !load_relaxed(&pp->runnext))) {
		store_release(&pp->runnext, gp);
		return true;
	}
	runqput(pp, gp, true);
	return false;
}

/*
 * What the calling G's M would run next, when the local queue's first G is it and there is nothing
 * that schedule() would look at before it.  NULL: ask schedule().
 */
static inline struct g *nextlocal(struct m *mp, bool *inherit)
{
	struct p *pp = mp->p;
	uint64_t first = load_relaxed(&pp->timer0);
	struct g *gp;

	if (unlikely(mp->lockedg || weft_opt.chaos ||
		     duties() ||
		     pp->id >= load_relaxed(&gomaxprocs)))
		return NULL;
	if (unlikely(load_relaxed(&sched.wakeupqsize) > 0))
		return NULL;
	if (first && nanotime() >= first)
		return NULL;
	if (load_relaxed(&pp->schedtick) % GLOBAL_TICK == 0 &&
	    (load_relaxed(&sched.runqsize) > 0 || poll_is_due(pp)))
		return NULL;
	gp = runqget(pp, inherit);
	if (!gp)
		return NULL;
	/*
	 * gp has not left its stack, which may be the caller's own: an M waits for that on g0 only
	 * (park.c).
	 */
	if (unlikely(gp->lockedm || load_relaxed(&gp->m))) {
		runqput(pp, gp, !gp->lockedm);
		return NULL;
	}
	return gp;
}

/* The M's last steps before it loads gp's registers; gp becomes Grunning. */
static inline __attribute__((always_inline)) void prepare_switch(struct m *mp, struct g *gp, bool inherit)
{
	if (unlikely(load_acquire(&gp->m)))
		g_await_off(gp);
	if (unlikely(gstatus(gp) != Grunnable))
		throw("execute: g%lu has status %u", gp->shim.goid, gstatus(gp));
	g_check(mp, gp);
	runq_check(mp->p);
	store_relaxed(&mp->curg, gp);
	if (unlikely(load_relaxed(&fromnow) & DUTIES_ENTER))
		duties_enter(gp, mp);
	else
		store_relaxed(&gp->m, mp);
	store_relaxed(&gp->shim.status, Grunning);
	trace_run(gp, mp->p);
	gp->shim.lane = (uint16_t)mp->p->id;
	count_up(&mp->p->runs);
	if (!inherit)
		count_up(&mp->p->schedtick);
	if (unlikely(load_relaxed(&mp->p->mon.cpubound)) && (!inherit || mp->alarm.due))
		alarm_begin(mp);
}

/* Gives the kernel thread gp's signal mask and GS. */
static inline void finish_switch(struct m *mp, struct g *gp)
{
	if (unlikely(mp->sigmask != gp->shim.sigmask)) {
		/* Between the two notes it says what both keep out (sigmask_all_ms_block()). */
		fetch_and_relaxed(&mp->sigmask, gp->shim.sigmask);
		os_sigmask(gp->shim.sigmask);
		store_release(&mp->sigmask, gp->shim.sigmask);
	}
	if (unlikely(mp->gs != gp->gs)) {
		mp->gs = gp->gs;
		arch_setgs(gp->gs);
	}
}

/* The calling G, pinned, leaves its P to its M for a system call: any other thread may take it. */
static inline __attribute__((always_inline)) void reentersyscall(struct g *gp)
{
	struct m *mp = getm();
	struct p *pp = mp->p;

	mp->oldp = pp;
	store_relaxed(&mp->p, NULL);
	store_relaxed(&pp->m, NULL);
	store_relaxed(&pp->sysm, mp);
	store_relaxed(&gp->shim.status, Gsyscall);
	TRACE(SYSCALL, gp->shim.goid, 0, pp, 0, true);
	p_leave(pp, Psyscall);
	if (unlikely(load_seqcst(&sched.sysmonwait)) && !pp->own)
		sysmon_wake();
}

#endif
