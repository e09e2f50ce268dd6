/*
 * check: what must hold of Ps, queues and Gs at each schedule.  Debug builds alone; of the lot see
 * lot_check() (parkinglot.c), of timers heap_check() (timer.c).
 *
 * A check runs where its structure is at rest: its lock is held, or its owner asks.  Thieves are at work
 * in a ring meanwhile: what a check finds wrong of a G counts only if the G stood there still
 * afterwards.  Each looks at CHECK_MOST entries at most, so that 100,000 threads stay possible.
 *
 * What costs a branch where something is taken out anyway is checked in every build, there: the status
 * of a G that is readied or run, a ring with more than it holds, a timer that is not where it says, a
 * waiter that is dequeued twice, counts below zero.
 *
 * Must never: change anything, or wait.
 */
#include "runtime/sched/gmp.h"

#ifdef WEFT_DEBUG
/* ---- Ps without an M ------------------------------------------------------------------------- */

static int32_t check_list(const struct p *pp, const char *which)
{
	int32_t n = 0;

	for (; pp; pp = pp->link, n++)
		if (pp->m || load_seqcst(&pp->status) != Pidle)
			throw("p%d in %s: it has an M, or status %u", pp->id, which, load_seqcst(&pp->status));
	return n;
}

void p_check(void)
{
	int32_t n = check_list(sched.pidle, "pidle");
	struct m *napper;

	if (n != load_seqcst(&sched.npidle))
		throw("p_check: %d idle Ps, counted as %d", n, load_seqcst(&sched.npidle));
	n = check_list(sched.pstart, "pstart");
	if (n != load_seqcst(&sched.npstart))
		throw("p_check: %d Ps in pstart, counted as %d", n, load_seqcst(&sched.npstart));
	napper = load_relaxed(&sched.napper);
	if (napper && !napper->idle.back)
		throw("p_check: m%d naps, and is not in the list of idle Ms", napper->id);
	if (sched.pstart && load_relaxed(&sched.midle))
		throw("p_check: p%d waits for an M, and m%d is idle", sched.pstart->id,
		      LIST_OBJECT(load_relaxed(&sched.midle), struct m, idle)->id);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* The G of place i in the ring is runnable, or a thief has moved the head past it. */
static void check_place(struct p *pp, uint32_t i)
{
	struct g *gp = load_relaxed(&pp->runq[i % RUNQ_SIZE]);
	uint32_t s = gp ? load_acquire(&gp->shim.status) : Gdead;

	if (s != Grunnable && (int32_t)(i - load_acquire(&pp->runqhead)) >= 0)
		throw("runq_check: p%d has g%lu with status %u", pp->id, gp ? gp->shim.goid : 0, s);
}

static void check_next(struct p *pp)
{
	struct g *gp = load_acquire(&pp->runnext);
	uint32_t s = gp ? load_acquire(&gp->shim.status) : Grunnable;

	if (s != Grunnable && load_acquire(&pp->runnext) == gp)
		throw("runq_check: p%d has g%lu in runnext with status %u", pp->id, gp->shim.goid, s);
}

void runq_check(struct p *pp)
{
	uint32_t h = load_acquire(&pp->runqhead), t = load_relaxed(&pp->runqtail);

	if (t - h > RUNQ_SIZE)
		throw("runq_check: p%d has %u Gs, which is more than the ring holds", pp->id, t - h);
	check_next(pp);
	/* The newest: the oldest are the thieves'. */
	for (uint32_t i = t - h > CHECK_MOST ? t - CHECK_MOST : h; i != t; i++)
		check_place(pp, i);
}

static void check_queue(const struct gqueue *q, const char *which)
{
	const struct g *gp = q->head, *last = NULL;
	int32_t n = 0;

	if (!q->head != !q->tail || !q->head != (q->size == 0))
		throw("globrunq_check: %s of %d Gs has no head, or no tail", which, q->size);
	for (; gp && n <= (int32_t)CHECK_MOST; last = gp, gp = gp->schedlink, n++)
		if (gstatus(gp) != Grunnable)
			throw("globrunq_check: g%lu in %s has status %u", gp->shim.goid, which, gstatus(gp));
	if (gp ? q->size < n : q->size != n || q->tail != last)
		throw("globrunq_check: %s has %d Gs, counted as %d, or another tail", which, n, q->size);
}

void globrunq_check(void)
{
	check_queue(&sched.runq, "runq");
	check_queue(&sched.wakeupq, "wakeupq");
	if (load_relaxed(&sched.runqsize) != sched.runq.size + sched.wakeupq.size ||
	    load_relaxed(&sched.wakeupqsize) != sched.wakeupq.size)
		throw("globrunq_check: %d and %d Gs, shown as %d, %d of them woken", sched.runq.size,
		      sched.wakeupq.size, load_relaxed(&sched.runqsize),
		      load_relaxed(&sched.wakeupqsize));
}

/* ---- a G that is about to run ---------------------------------------------------------------- */

static void check_rest(const struct g *gp)
{
	if (gp->parked || load_relaxed(&gp->parkaddr))
		throw("g_check: g%lu is to run, and waits in the lot", gp->shim.goid);
	if (gp->shim.sysdepth)
		throw("g_check: g%lu is to run, and is in a system call", gp->shim.goid);
	if (!gp->sp || !gp->tls || gp->tls->g != gp)
		throw("g_check: g%lu is to run, and has no context, or another G's block", gp->shim.goid);
	if (!gp->tls->locks)
		throw("g_check: g%lu was switched away and is not pinned", gp->shim.goid);
}

void g_check(const struct m *mp, const struct g *gp)
{
	const struct p *pp = mp->p;
	uint32_t s = pp ? load_seqcst(&pp->status) : Pdead;

	if (!pp || pp->m != mp || (s != Prunning && s != Psignal))
		throw("g_check: m%d runs g%lu without a P, or its status is %u", mp->id, gp->shim.goid, s);
	if (mp->spinning)
		throw("g_check: m%d runs g%lu and spins", mp->id, gp->shim.goid);
	if ((mp->lockedg && mp->lockedg != gp) || (gp->lockedm && gp->lockedm != mp))
		throw("g_check: g%lu on m%d, one of which is locked to another", gp->shim.goid, mp->id);
	check_rest(gp);
}
#endif
