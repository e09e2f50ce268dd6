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

static inline struct g *runqget(struct p *pp, bool *inherit)
{
	struct g *next = atomic_load_explicit(&pp->runnext, memory_order_relaxed);

	/* Only thieves compete for runnext, and they only set it to NULL: one try is enough. */
	*inherit = next && atomic_compare_exchange_strong(&pp->runnext, &next, NULL);
	return *inherit ? next : runqget_ring(pp);
}

/*
 * To runnext.  True: it was empty; others only ever empty it, so that is a plain store of the
 * owner.
 */
static inline bool putnext(struct p *pp, struct g *gp)
{
	if (likely(!weft_opt.chaos && !atomic_load_explicit(&pp->runnext, memory_order_relaxed))) {
		atomic_store_explicit(&pp->runnext, gp, memory_order_release);
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
	uint64_t first = atomic_load_explicit(&pp->timer0, memory_order_relaxed);
	struct g *gp;

	if (unlikely(mp->lockedg || weft_opt.chaos ||
		     atomic_load_explicit(&duties, memory_order_relaxed) ||
		     pp->id >= atomic_load_explicit(&gomaxprocs, memory_order_relaxed)))
		return NULL;
	if (unlikely(atomic_load_explicit(&sched.wakeupqsize, memory_order_relaxed) > 0))
		return NULL;
	if (first && nanotime() >= first)
		return NULL;
	if (atomic_load_explicit(&pp->schedtick, memory_order_relaxed) % GLOBAL_TICK == 0 &&
	    (atomic_load_explicit(&sched.runqsize, memory_order_relaxed) > 0 || poll_is_due(pp)))
		return NULL;
	gp = runqget(pp, inherit);
	if (!gp)
		return NULL;
	/*
	 * gp has not left its stack, which may be the caller's own: an M waits for that on g0 only
	 * (park.c).
	 */
	if (unlikely(gp->lockedm || atomic_load_explicit(&gp->m, memory_order_relaxed))) {
		runqput(pp, gp, !gp->lockedm);
		return NULL;
	}
	return gp;
}

/* The M's last steps before it loads gp's registers; gp becomes Grunning. */
static inline void prepare_switch(struct m *mp, struct g *gp, bool inherit)
{
	if (unlikely(atomic_load_explicit(&gp->m, memory_order_acquire)))
		g_await_off(gp);
	if (unlikely(gstatus(gp) != Grunnable))
		throw("execute: g%lu has status %u", gp->goid, gstatus(gp));
	mp->curg = gp;
	atomic_store_explicit(&gp->m, mp, memory_order_relaxed);
	if (unlikely(atomic_load_explicit(&duties, memory_order_relaxed) & DutyCputime))
		cputime_enter(gp, mp);
	atomic_store_explicit(&gp->status, Grunning, memory_order_relaxed);
	count_up(&mp->p->runs);
	if (!inherit)
		count_up(&mp->p->schedtick);
}

/* Gives the kernel thread gp's signal mask and GS. */
static inline void finish_switch(struct m *mp, struct g *gp)
{
	if (unlikely(mp->sigmask != gp->sigmask)) {
		/*
		 * Between the two notes it says what both keep out (runtime_all_ms_block()); and a
		 * handler that the call lets in may add to it (runtime_block_idle()).
		 */
		__atomic_fetch_and(&mp->sigmask, gp->sigmask, __ATOMIC_RELAXED);
		os_sigmask(gp->sigmask);
		__atomic_fetch_or(&mp->sigmask, gp->sigmask, __ATOMIC_RELEASE);
	}
	if (unlikely(mp->gs != gp->gs)) {
		mp->gs = gp->gs;
		arch_setgs(gp->gs);
	}
}

#endif
