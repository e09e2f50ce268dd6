/*
 * retake: sysmon's look at every P: which is CPU-bound, which I/O-bound, which G is asked to give way.
 *
 * A G that had its slice (option slice) is asked when something waits that its P could run: a
 * preemption for nothing costs two microseconds.  The G goes to the tail of the global queue, as in
 * Go.
 *
 * And, beyond Go, a G that had `wakeslice`, when another is woken without a P at hand (by a timer,
 * a system call that ends, a native thread: globrunqwoken) and every P computes: a thread that
 * sleeps or serves is then late by microseconds instead of the slices of all Gs that compute.  The
 * G that computes longest gives way.  It goes to its local tail and keeps what it used of its
 * slice: otherwise a busy sleeper would let some Gs run for ever while others wait in the global
 * queue.  An M whose G computes sees to its P's timers by itself (sched/alarm.c).  Where it has set no alarm
 * sysmon must be there when a timer is due: as long as some P computes for long it sleeps no longer than to
 * that P's first timer, and is woken for what comes sooner (sysmon_wake_by).
 *
 * A P is judged by what it did since the last look:
 *
 *	CPU-bound  its schedtick stood still while its M's CPU clock moved
 *	I/O-bound  many have run since
 *	draining   those that the poller brought, each for long, and now and then all are done
 *
 * Must never: switch, or hold a P; touch what a P's owner writes.
 */
#include "runtime/sysmon/sysmon.h"

struct sysmon sysmon;

static void tick_by(uint64_t when)
{
	if (!sysmon.next_tick || when < sysmon.next_tick)
		sysmon.next_tick = when;
}

bool sysmon_work_waits(struct p *pp, uint64_t now)
{
	uint64_t t = load_seqcst(&pp->timer0);

	return !runqempty(pp) || load_seqcst(&sched.runqsize) > 0 || (t && t <= now) ||
	       pp->id >= load_acquire(&gomaxprocs);
}

static uint64_t used_before(struct p *pp)
{
	struct m *mp = load_relaxed(&pp->m);
	struct g *gp = mp ? load_relaxed(&mp->curg) : NULL;

	return gp ? load_relaxed(&gp->sliceused) : 0;
}

/* Some G computed for long on pp, and pp has run many Gs since. */
static bool is_iobound(const struct p *pp)
{
	return pp->mon.ioboundwhen > pp->mon.cpuboundwhen;
}

/*
 * A busy server's P: Gs that the poller brought run for tens of microseconds each, and now and then
 * the queue is empty.  These Gs are all alike.  To interrupt one for another, and to wake sysmon
 * for each of them, takes a sixth of a database's CPU (MariaDB, 16 connections) and makes none
 * faster.
 */
static bool is_draining(struct p *pp, uint64_t now)
{
	return since(load_relaxed(&pp->hint.drainedwhen), now) < CPUBOUND_NS &&
	       load_relaxed(&pp->hint.meanservice) >= SERVICE_LONG;
}

/* Woken Gs that wait, for each P. */
static uint64_t queued_woken(void)
{
	return (uint64_t)load_relaxed(&sched.wakeupqsize) / (uint64_t)load_relaxed(&gomaxprocs);
}

/* Grace period, in ns, before a woken G preempts a CPU-bound one. */
uint64_t sysmon_wakeslice(void)
{
	return (sysmon.any_draining ? DRAINING_WAKESLICES : 1) * (uint64_t)weft_opt.wakeslice * (1 + queued_woken());
}

uint64_t sysmon_pollgap(uint64_t usual)
{
	return sysmon.any_draining ? sysmon_wakeslice() : usual;
}

/*
 * pp has scheduled since the last look.  When it did so last is known only of a preemption; else the mean of
 * what may have been is taken, so that sysmon need not look in between.  A P that schedules once in a wakeslice
 * will do so again by itself.
 */
static void note_tick(struct p *pp, uint32_t tick, uint64_t now)
{
	bool told = tick && load_acquire(&pp->hint.switchtick) == tick;
	uint64_t gap = pp->mon.schedwhen ? since(sysmon.last_look, now) : 0;
	uint32_t n = tick - pp->mon.schedtick;

	if (n >= IOBOUND_SCHEDS)
		pp->mon.ioboundwhen = now;
	pp->mon.schedtick = tick;
	pp->mon.schedwhen =
		told ? load_relaxed(&pp->hint.switchwhen) : now - gap / (n + 1);
	pp->mon.usedns = used_before(pp);
	pp->mon.newtick = true;
	pp->mon.selfsched = !told && gap < n * (uint64_t)weft_opt.wakeslice;
	pp->mon.preemptwhen = 0;
}

/*
 * All that waits is one G that runs next, and a P is idle: an M comes for it if it waits for long (wake_for_queued()).
 * Two Gs that wake each other and share a slice are such a pair, as an event loop is with its helpers: the one that
 * gave way went to another M each time, and its caches did not.  Where none of the two has run since the last look and
 * the other has waited for a slice no M came: the kernel may give none.
 */
static bool pair_alone(struct p *pp, uint64_t now)
{
	uint64_t t = load_seqcst(&pp->timer0);

	return load_seqcst(&sched.npidle) > 0 && !runqring(pp) && load_seqcst(&sched.runqsize) == 0 &&
	       (!t || t > now) && pp->id < load_acquire(&gomaxprocs) &&
	       (load_relaxed(&pp->runs) != pp->mon.runs || since(pp->mon.stallsince, now) < (uint64_t)weft_opt.slice);
}

/* Asks pp's G to give way if its slice is over and another G gains by it. */
static void check_slice(struct p *pp, uint64_t now)
{
	uint64_t end = pp->mon.schedwhen - pp->mon.usedns + (uint64_t)weft_opt.slice;

	if (!weft_opt.slice || !sysmon_work_waits(pp, now))
		return;
	/* The M's alarm rings before that, if it is set, and then a new slice has begun by the time of this look. */
	if (p_sees_itself(pp, now))
		end += PREEMPT_RETRY;
	if (end > now) {
		tick_by(end);
		return;
	}
	if (pair_alone(pp, now))
		return;
	preemptone(pp, now, 0);
	sysmon.helped = now;
	tick_by(now + PREEMPT_RETRY);
}

/* The timers of a P whose G computes: no M runs them. */
static void check_timers(struct p *pp, uint64_t now)
{
	uint64_t t, computed = load_relaxed(&pp->hint.computedwhen);
	/* What it did since the last look counts, however long ago: a P that is not known to compute sets no alarm. */
	uint64_t gap = since(sysmon.last_look, now), stay = pp->mon.cpuboundns > gap ? pp->mon.cpuboundns : gap;
	bool ran = false;

	if (computed > pp->mon.cpuboundwhen)
		pp->mon.cpuboundwhen = computed;
	store_seqcst(&pp->mon.cpubound, now - pp->mon.cpuboundwhen < stay);
	if (!load_seqcst(&pp->mon.cpubound))
		return;
	sysmon.any_cpubound = true;
	if (p_sees_itself(pp, now))
		return; /* its M sees to them */
	sysmon.any_blind = true;
	sysmon.blind_waits |= load_seqcst(&pp->timer0) || sysmon_work_waits(pp, now);
	if (is_iobound(pp)) {
		sysmon.any_iobound = true;
		tick_by(now + CPUBOUND_FIRST_NS);
	}
	t = timers_check(pp, now, &ran);
	/* No other thread looks at them: sysmon has to be there when the next is due. */
	sysmon.urgent |= ran || (t && t < now + SYSMON_DEBT_MOST);
	if (ran)
		sysmon.helped = now;
	if (t)
		tick_by(t);
}

/*
 * pp's G computed for a CPUBOUND_PART of wakeslice.  A P that did so shortly before will do so again.  A server's G
 * does so once in some tens of ms, when the kernel handles the packets of many others in one
 * send().  Attending to its P all the time meant 3,500 looks a second, each on a CPU that was in
 * use.
 */
static void note_cpubound(struct p *pp, uint64_t now)
{
	uint64_t stay = pp->mon.cpuboundns * 2 < CPUBOUND_NS ? pp->mon.cpuboundns * 2 : CPUBOUND_NS;

	pp->mon.cpuboundns =
		now - pp->mon.cpuboundwhen < pp->mon.cpuboundns ? stay : CPUBOUND_FIRST_NS;
	pp->mon.cpuboundwhen = now;
}

/*
 * Its G computes: the CPU clock of its M moved by CPUBOUND_PART of a wakeslice while schedtick stood still.
 * Elapsed time alone would say the same of an M that waits for its CPU.
 */
static void check_cpubound(struct p *pp, uint64_t now)
{
	struct m *mp = load_relaxed(&pp->m);
	bool known = now - pp->mon.cpuboundwhen < pp->mon.cpuboundns / CPUBOUND_PART && !is_iobound(pp);
	uint64_t cpu;

	if (known || since(pp->mon.schedwhen, now) < (uint64_t)weft_opt.wakeslice / CPUBOUND_PART || !mp ||
	    os_thread_cpu(mp->ostid, &cpu))
		return;
	if (pp->mon.watchtick != pp->mon.schedtick || cpu < pp->mon.watchcpu) {
		pp->mon.watchtick = pp->mon.schedtick;
		pp->mon.watchcpu = cpu;
		/* A server's P has scheduled by then, and is asked about less often each time. */
		if (load_relaxed(&pp->mon.cpubound))
			pp->mon.watchmisses = 0;
		tick_by(now + ((uint64_t)weft_opt.wakeslice << pp->mon.watchmisses));
		if (pp->mon.watchmisses < WATCH_MISSES)
			pp->mon.watchmisses++;
	} else if (cpu - pp->mon.watchcpu >= (uint64_t)weft_opt.wakeslice / CPUBOUND_PART) {
		pp->mon.watchmisses = 0;
		note_cpubound(pp, now);
	}
}

static uint64_t eligible_at(struct p *pp)
{
	return pp->mon.schedwhen + sysmon_wakeslice();
}

/*
 * The P whose G computes longest; of those that may be asked, one whose M is on a CPU if there is
 * one.  sysmon has just taken a CPU from one of the Ms: whether that one runs must be looked up in
 * /proc, and it runs the handler only when sysmon sleeps again.  NULL: some P is about to schedule
 * anyway.
 */
static struct p *longest_running(uint64_t now)
{
	struct p *any = NULL, *moving = NULL;

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		struct m *mp = load_relaxed(&pp->m);

		if (load_seqcst(&pp->status) != Prunning || !mp)
			continue;
		if (pp->mon.selfsched)
			return NULL;
		if (!any || pp->mon.schedwhen < any->mon.schedwhen)
			any = pp;
		if (eligible_at(pp) <= now && (!moving || pp->mon.schedwhen < moving->mon.schedwhen) &&
		    procfs_oncpu(mp->ostid))
			moving = pp;
	}
	return moving ? moving : any;
}

/* pp's G is to give way to a woken one.  What it used of its slice counts when it runs again, unless that was all. */
static void ask_for_woken(struct p *pp, uint64_t now)
{
	uint64_t used = pp->mon.usedns + (now - pp->mon.schedwhen);

	preemptone(pp, now, weft_opt.slice && used >= (uint64_t)weft_opt.slice ? 0 : used);
	sysmon.helped = now;
}

/*
 * A woken G waits: the G that computes longest is asked, unless it has computed for less than
 * wakeslice.  That is urgent where it is known to compute for long: a server's G is done soon by itself.
 */
static void check_wakeupq(uint64_t now)
{
	struct p *pp = longest_running(now);

	if (!pp) {
		tick_by(now + (sysmon.any_draining ? sysmon_wakeslice() : PREEMPT_RETRY_WAKEUP));
		return;
	}
	sysmon.urgent |= load_relaxed(&pp->mon.cpubound) && !queued_woken();
	if (eligible_at(pp) > now) {
		tick_by(eligible_at(pp));
		return;
	}
	ask_for_woken(pp, now);
	tick_by(now + PREEMPT_RETRY_WAKEUP);
}

/*
 * The G of the only P woke another, which waits in runnext while that one computes on: it is treated as one
 * that was woken without a P.  What waits in the ring may be Gs that had their slice, so nothing is known of
 * it.
 */
static void check_next(struct p *pp, uint64_t now)
{
	struct g *next = load_seqcst(&pp->runnext);
	uint32_t runs = load_relaxed(&pp->runs);
	uint64_t due;

	if (next != pp->mon.next || runs != pp->mon.nextruns) {
		pp->mon.next = next;
		pp->mon.nextruns = runs;
		pp->mon.nextwhen = now;
	} else if (next && load_relaxed(&gomaxprocs) == 1) {
		waker_seen(pp, since(pp->mon.nextwhen, now));
	}
	if (!next || !load_relaxed(&pp->mon.cpubound) || load_relaxed(&gomaxprocs) > 1 || p_sees_itself(pp, now))
		return;
	due = pp->mon.nextwhen + next_slice(pp);
	if (due < eligible_at(pp))
		due = eligible_at(pp);
	if (due > now) {
		tick_by(due);
		return;
	}
	ask_for_woken(pp, now);
	tick_by(now + next_slice(pp));
	/* Where that happens all the time, as at a queue or a contended mutex, each time costs and none is urgent. */
	store_relaxed(&pp->mon.nextslice, since(pp->mon.nextasked, now) >= NEXT_REST ? 0 :
					  next_slice(pp) < NEXT_REST / 2 ? 2 * next_slice(pp) : NEXT_REST / 2);
	pp->mon.nextasked = now;
}

/* Chaos: asks any G, at any time, with or without a reason. */
static void check_chaos(struct p *pp, uint64_t now)
{
	static uint64_t rng;

	if (!rng)
		rng = (uint64_t)weft_opt.chaos | 1;
	if (nextrand(&rng) % 2) {
		pp->mon.preemptwhen = 0;
		preemptone(pp, now, nextrand(&rng) % 2);
	}
	tick_by(now + nextrand(&rng) % CHAOS_TICK);
}

void sysmon_tick(uint64_t now)
{
	sysmon.last_look = sysmon.last_tick;
	sysmon.last_tick = now;
	sysmon.next_tick = 0;
	sysmon.any_cpubound = sysmon.any_blind = sysmon.blind_waits = false;
	sysmon.any_iobound = sysmon.any_draining = sysmon.urgent = false;
	for (int i = 0; weft_opt.wakeslice && i < MAXPROCS && allp[i]; i++)
		sysmon.any_draining |= is_draining(allp[i], now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint32_t tick = load_relaxed(&pp->schedtick), status = load_seqcst(&pp->status);

		pp->mon.selfsched = false;
		if (tick != pp->mon.schedtick || !pp->mon.schedwhen)
			note_tick(pp, tick, now);
		if (weft_opt.wakeslice && status == Psyscall && sysmon_calls_compute(pp, now)) {
			note_cpubound(pp, now);
			check_timers(pp, now);
		}
		if (status != Prunning)
			continue;
		if (weft_opt.wakeslice) {
			check_cpubound(pp, now);
			check_timers(pp, now);
			check_next(pp, now);
		}
	}
	/* Before the slices: preemptone() may have to wait for /proc. */
	sysmon.seen_wakeupq = load_seqcst(&sched.wakeupqsize);
	if (sysmon.seen_wakeupq > 0 && load_seqcst(&sched.npidle) == 0)
		check_wakeupq(now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		if (load_seqcst(&allp[i]->status) != Prunning)
			continue;
		if (unlikely(weft_opt.chaos))
			check_chaos(allp[i], now);
		else
			check_slice(allp[i], now);
	}
}
