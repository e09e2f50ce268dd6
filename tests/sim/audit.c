/*
 * audit: what must be true of the runtime's state, asked from outside.
 *
 * Quiet: every CPU is idle and time is about to jump.  No thread is between two steps then, so each G is in exactly one
 * place, all counts are right, and whatever the runtime promises to wake is awake already.  sysmon finds lost
 * work within 10 ms; a wake-up that only sysmon would make good is a fault here.  What is sysmon's own task by
 * design is none: a P whose M blocks, in a call or unseen; a queue while no P is idle.
 *
 * Running: once a virtual millisecond, what is late although sysmon had its time.
 *
 * Nothing is asked of a run in which something was refused (sim_fails()): the runtime may then be slow.
 *
 * Must never: be a point; write what the runtime reads.
 */
#include "tests/sim/sim.h"

#include <string.h>

#include "runtime/sched/gmp.h"

/* ---- a G is in exactly one place -------------------------------------------------------------- */

enum { MOST = 1 << 12 };
static uint8_t queued[MOST];  /* by allgidx */

static void count(struct g *gp)
{
	if (gp->allgidx < MOST && queued[gp->allgidx]++)
		sim_fail("g%lu is queued twice", gp->shim.goid);
	if (gstatus(gp) != Grunnable)
		sim_fail("g%lu is queued with status %u", gp->shim.goid, gstatus(gp));
}

static int32_t count_queue(const struct gqueue *q)
{
	int32_t n = 0;

	for (struct g *gp = q->head; gp; gp = gp->schedlink, n++)
		count(gp);
	if (n != q->size)
		sim_fail("%d Gs in a global queue, counted as %d", n, q->size);
	return n;
}

static unsigned count_p(struct p *pp)
{
	uint32_t h = load_relaxed(&pp->runqhead), t = load_relaxed(&pp->runqtail);
	struct g *next = load_relaxed(&pp->runnext);

	for (uint32_t i = h; i != t; i++)
		count(load_relaxed(&pp->runq[i % RUNQ_SIZE]));
	if (next)
		count(next);
	return t - h + (next != NULL);
}

static bool is_current(const struct g *gp)
{
	LIST_EACH(struct m, mp, &sched.allm, all)
		if (mp->curg == gp)
			return true;
	return m0.curg == gp;
}

/* True: only another thread's doing can make it run. */
static bool check_g(struct g *gp)
{
	switch (gstatus(gp)) {
	case Grunnable:
		if (!queued[gp->allgidx])
			sim_fail("g%lu is runnable and in no queue", gp->shim.goid);
		return false;
	case Gwaiting:
		if (!gp->parked)
			sim_fail("g%lu waits and is not in the lot", gp->shim.goid);
		if (load_relaxed(&gp->interrupted))
			sim_fail("g%lu waits and was interrupted", gp->shim.goid);
		return true;
	case Grunning:
	case Gsyscall:
		if (!is_current(gp))
			sim_fail("g%lu has status %u and no M", gp->shim.goid, gstatus(gp));
		return false;
	}
	return true;
}

static bool check_gs(void)
{
	bool all = true;

	memset(queued, 0, sizeof(queued));
	if (count_queue(&sched.runq) + count_queue(&sched.wakeupq) != load_relaxed(&sched.runqsize))
		sim_fail("runqsize is %d", load_relaxed(&sched.runqsize));
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		count_p(allp[i]);
	for (uint32_t i = 0; i < load_relaxed(&sched.nallgs) && i < MOST; i++) {
		struct g *gp = g_at(i);

		if (gp && gp->tls)
			all &= check_g(gp);
	}
	return all;
}

/* ---- Ms and Ps -------------------------------------------------------------------------------- */

static void check_ps(void)
{
	int32_t idle = 0, starting = 0, spinning = 0;

	for (struct p *pp = sched.pidle; pp; pp = pp->link, idle++) {
		if (load_relaxed(&pp->status) != Pidle || pp->m)
			sim_fail("p%d is on the idle list with status %u", pp->id, load_relaxed(&pp->status));
		if (count_p(pp))
			sim_fail("p%d is idle and has Gs", pp->id);
	}
	for (struct p *pp = sched.pstart; pp; pp = pp->link, starting++)
		spinning += pp->startspinning;
	if (idle != load_relaxed(&sched.npidle) || starting != load_relaxed(&sched.npstart))
		sim_fail("%d idle Ps counted as %d, %d that start as %d", idle, load_relaxed(&sched.npidle), starting,
			 load_relaxed(&sched.npstart));
	LIST_EACH(struct m, mp, &sched.allm, all) {
		spinning += mp->spinning;
		if (mp->nextp)
			sim_fail("m%d sleeps and was given p%d", mp->id, mp->nextp->id);
	}
	if (spinning != load_relaxed(&sched.nmspinning))
		sim_fail("%d Ms spin, counted as %d", spinning, load_relaxed(&sched.nmspinning));
	/* Each that is made has a CPU at once, and takes itself off the count. */
	if (sched.nmstarting)
		sim_fail("%d Ms are on their way, and all sleep", sched.nmstarting);
}

static void check_rests(void)
{
	int32_t n = 0;

	for (uint32_t i = 0; i < load_relaxed(&sched.nallgs) && i < MOST; i++) {
		struct g *gp = g_at(i);

		n += gp && gstatus(gp) != Gdead && gp->rests;
	}
	if (n != sched.nresting)
		sim_fail("%d Gs rest, counted as %d", n, sched.nresting);
}

static bool is_listed(const struct p *pp)
{
	const struct p *other;

	for (other = sched.pidle; other && other != pp; other = other->link)
		;
	for (other = other ? other : sched.pstart; other && other != pp; other = other->link)
		;
	return other;
}

static void check_owners(void)
{
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (load_relaxed(&allp[i]->status) == Pdead && (count_p(allp[i]) || load_relaxed(&allp[i]->timer0)))
			sim_fail("p%d is dead and holds Gs or timers", i);
	for (int i = 0; i < load_relaxed(&gomaxprocs); i++) {
		struct p *pp = allp[i];
		uint32_t s = load_relaxed(&pp->status);

		if (s == Pdead || (s == Pidle && !is_listed(pp)))
			sim_fail("p%d has status %u and is on no list", i, s);
		if ((s == Prunning || s == Psignal) && (!pp->m || pp->m->p != pp))
			sim_fail("p%d runs and has no M", i);
	}
}

/* It would end the call that the M waits in. */
static void check_alarm(const struct m *mp)
{
	if (load_relaxed(&mp->alarm.when) && !mp->p)
		sim_fail("m%d sleeps without a P, and its alarm is set", mp->id);
}

static void check_alarms(void)
{
	check_alarm(&m0);
	LIST_EACH(struct m, mp, &sched.allm, all)
		check_alarm(mp);
}

/* ---- wake-ups that were promised -------------------------------------------------------------- */

static bool polls(const struct task *t)
{
	return t->state == TASK_BLOCKED && (t->epoll || t->futex == &sched.netpollwakesig);
}

/* The poller is up by then; sysmon, if it polls, TICK_GAP_MIN later: it must not become a load. */
static bool someone_by(uint64_t when)
{
	for (unsigned i = 0; i < sim.ntasks; i++) {
		const struct task *t = &sim.tasks[i];

		if (t->state != TASK_BLOCKED || !t->deadline)
			continue;
		if (polls(t) && t->deadline <= (!t->sysmon ? when : (when > t->clock ? when : t->clock) + TICK_GAP_MIN))
			return true;
	}
	return false;
}

/* Timers of a P that a G has for itself are its M's own time-outs: no other thread looks at them. */
static bool any_own_timer(void)
{
	LIST_EACH(struct m, mp, &sched.allm, all)
		if (mp->p && mp->p->own && load_relaxed(&mp->p->timer0))
			return true;
	return m0.p && m0.p->own && load_relaxed(&m0.p->timer0);
}

static bool any_polls(bool epoll)
{
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (epoll ? sim.tasks[i].state == TASK_BLOCKED && sim.tasks[i].epoll : polls(&sim.tasks[i]))
			return true;
	return false;
}

static void check_promises(void)
{
	uint64_t first = timers_next();

	if (load_relaxed(&sched.sysmonwait) && load_relaxed(&sched.npidle) < load_relaxed(&gomaxprocs))
		sim_fail("sysmon sleeps for good, and a P is not idle");
	if (any_polls(true) && load_relaxed(&sched.netpollwakesig) && !fd_event_is_set())
		sim_fail("the poller was woken once and cannot be woken again");
	if (load_relaxed(&sched.npidle) == 0)
		return;
	if (sched.wakeupq.size)
		sim_fail("%d woken Gs are queued, a P is idle, and all sleep", sched.wakeupq.size);
	/*
	 * A P that is not idle polls, and takes from the global queue what its Gs put there; or sysmon, when
	 * that lasts.
	 */
	if (load_relaxed(&sched.npidle) < load_relaxed(&gomaxprocs))
		return;
	if (sched.runq.size)
		sim_fail("%d Gs are queued, all Ps are idle, and all sleep", sched.runq.size);
	if (first && !someone_by(first))
		sim_fail("a timer is due at %.3f us, all Ps are idle, and all sleep longer",
			 (double)(first - SIM_BEGIN) / 1000);
	if (fd_any_ready() && !any_polls(true))
		sim_fail("a descriptor is ready, all Ps are idle, and no M polls");
}

/* ---- when ------------------------------------------------------------------------------------- */

static bool is_quiet(bool *kernel)
{
	*kernel = false;
	for (unsigned i = 0; i < sim.ntasks; i++) {
		const struct task *t = &sim.tasks[i];

		if (t->state != TASK_BLOCKED)
			continue;
		if (!strcmp(t->why, WHY_USLEEP) && !t->sysmon)
			return false;
		*kernel |= !strcmp(t->why, WHY_KERNEL);
	}
	return true;
}

void audit_quiet(void)
{
	bool kernel, all;

	if (!sim.judged || sim.over || sim.refused || !is_quiet(&kernel))
		return;
	all = check_gs();
	check_alarms();
	check_ps();
	check_rests();
	check_owners();
	check_promises();
	if (all && !kernel && !timers_next() && !any_own_timer() && !fd_any_ready())
		sim_fail("all threads wait for one another");
}

void audit_running(uint64_t now)
{
	enum { PCT_SHARE = 20 };
	uint64_t first, share;

	if (!sim.judged || sim.over || sim.refused)
		return;
	first = timers_next();
	/*
	 * A task waits its turn while Ps outnumber the CPUs, so much longer; with PCT for all others' turns,
	 * again and again.
	 */
	share = opt.pct ? PCT_SHARE : opt.procs > opt.cpus ? (opt.procs + opt.cpus - 1) / opt.cpus : 1;
	/* 1: a clock that was set has come to its time. */
	if (first > 1 && first + share * LOST < now)
		sim_fail("a timer is late by %lu us", (now - first) / 1000);
}
