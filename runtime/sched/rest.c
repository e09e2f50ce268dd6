/*
 * rest: a G waits in the kernel for an epoll of its own, on its M, and its P is idle meanwhile.
 *
 * A G that parks for its epoll costs a wait three system calls where natively there is one: the try, the
 * poller's sleep in weft's own epoll, the try that takes the events.  A G that is locked to its M costs two
 * more switches between kernel threads, for another M gets its P and hands it over.  Neither is worth
 * anything while there is no other G to run.  So the G sleeps in the program's epoll, its M with it, and the
 * P goes to the idle list: whoever has work finds it there.
 *
 * A G that need not rest, parks instead,
 *
 *	when there is work that this P could do, or its P had other work during one of its last waits (restneed of
 *	them): a P that many loops share goes from one to the next without a switch between kernel threads;
 *	when as many rest as there are Ps: each that comes back is to find one;
 *	when there is no poller, and no idle M to become it.
 *
 * How many waits restneed is, it learns: more when it had to give up resting soon, fewer when it did not.  One
 * that came back and found no P gives up, too: it was queued, which costs more than parking.
 *
 * One that is locked rests in any case, and others get its P as in entersyscallblock().
 *
 * Lost wake-ups: the P goes to the idle list under sched.lock, and only if the global queue is empty and no
 * waker wanted an M (needspinning), as in findrunnable().  A waker that comes later finds the P.
 *
 * Must never: wake an M while one that sleeps could be the poller; be called inside entersyscall.
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

/* Descriptors and timers need a poller, and there is none; or none that could follow it when it has work. */
static bool lacks_poller(void)
{
	return (timers_next() || netpoll_watching()) &&
	       (load_seqcst(&sched.lastpoll) != 0 || !sched.nmidle);
}

/* Since its last wait gp had pp, and pp ran no other G: gp's own run after it parked counts as one. */
static bool alone_on(struct g *gp, struct p *pp)
{
	uint32_t runs = load_relaxed(&pp->runs);
	bool alone = gp->restp == pp && runs - gp->restruns <= 1;

	gp->restp = pp;
	gp->restruns = runs;
	return alone;
}

/*
 * gp is to park.  If it rested, was that for long enough?  Beginning and ending it cost several waits, so after a short
 * time it must be alone for twice as long before it rests again.
 */
static void parks_again(struct g *gp)
{
	if (gp->restrow >= gp->restneed) {
		if (gp->restrow < gp->restneed * REST_WORTH)
			gp->restneed = gp->restneed < REST_ROW_MAX ? gp->restneed * 2 : gp->restneed;
		else
			gp->restneed = gp->restneed > REST_ROW ? gp->restneed / 2 : gp->restneed;
	}
	gp->restrow = 0;
}

/* What gp's last waits say. */
static bool promises(struct g *gp, struct m *mp)
{
	if (!gp->restneed)
		gp->restneed = REST_ROW;
	if (!alone_on(gp, mp->p) || anywork()) {
		parks_again(gp);
		return false;
	}
	if (gp->restrow < REST_ROW_MAX * REST_WORTH)
		gp->restrow++;
	return gp->restrow >= gp->restneed || (unlikely(weft_opt.chaos) && nextrand(&mp->rng) % 2);
}

static struct p *leave(struct g *gp, struct m *mp)
{
	store_relaxed(&gp->shim.status, Gsyscall);
	TRACE(SYSBLOCK, gp->shim.goid, 0, mp->p, 0, true);
	return releasep(mp);
}

/* The P of the calling G, which is pinned, goes to the idle list.  False: it is needed. */
static bool lie_down(struct g *gp, struct m *mp)
{
	struct p *pp = mp->p;
	uint64_t t0;
	bool starts;

	lock(&sched.lock);
	if (load_seqcst(&sched.runqsize) > 0 || load_seqcst(&sched.needspinning) || !runqempty(pp) ||
	    pp->id >= load_relaxed(&gomaxprocs) || sched.nresting >= load_relaxed(&gomaxprocs) ||
	    load_relaxed(&sched.single)) {
		unlock(&sched.lock);
		return false;
	}
	starts = lacks_poller();
	if (starts && !sched.nmidle) {
		unlock(&sched.lock);
		return false;
	}
	sched.nresting++;
	gp->rests = true;
	leave(gp, mp);
	if (!starts)
		pidleput(pp);
	unlock(&sched.lock);
	if (starts) {
		/* An idle M gets it, finds nothing, and becomes the poller. */
		startm(pp, false);
		return true;
	}
	/* A waker that found no idle P said so, perhaps just before this one was counted (wakep.c). */
	if (unlikely(load_seqcst(&sched.needspinning)))
		wakep();
	t0 = load_seqcst(&pp->timer0);
	if (t0)
		wakenetpoller(t0);
	return true;
}

bool rest_begins(struct g *gp, struct m *mp, pollslot *slot, int fd)
{
	bool locked = gp->lockdepth != 0;

	if (!locked && !promises(gp, mp))
		return false;
	/* The poller would be woken for each of its events, too. */
	if (load_seqcst(&slot->pd) && !pd_unwatch(slot, fd) && !locked) {
		parks_again(gp);
		return false;
	}
	if (lie_down(gp, mp))
		return true;
	parks_again(gp);
	if (locked)
		handoffp(leave(gp, mp));
	return locked;
}

/* sched.lock held: gp came back, and there is a P for it, or not. */
void rest_ends(struct g *gp, bool served)
{
	gp->rests = false;
	sched.nresting--;
	if (!served)
		parks_again(gp);
}
