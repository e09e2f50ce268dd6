/*
 * retake: sysmon's look at every P: which G computes, which P serves, which G is asked to give way.
 *
 * A G that had its slice (option slice) is asked when something waits that its P could run: a
 * preemption for nothing costs two microseconds.  The G goes to the tail of the global queue, as in
 * Go.
 *
 * And, beyond Go, a G that had `wakeslice`, when another is woken without a P at hand (by a timer,
 * a system call that ends, a foreign thread: globrunqwoken) and every P computes: a thread that
 * sleeps or serves is then late by microseconds instead of the slices of all Gs that compute.  The
 * G that computes longest gives way.  It goes to its local tail and keeps what it used of its
 * slice: otherwise a busy sleeper would let some Gs run for ever while others wait in the global
 * queue.  sysmon must then be there when a timer is due: as long as some P computes for long it
 * sleeps no longer than to that P's first timer, and is woken for what comes sooner
 * (monitor_alarm).
 *
 * A P is judged by what it did since the last look:
 *
 *	computes   its schedtick stood still while its M's CPU clock moved
 *	serves     many have run since
 *	works off  those that the poller brought, each for long, and now and then all are done
 *
 * Must never: switch, or hold a P; touch what a P's owner writes.
 */
#include "runtime/sysmon/sysmon.h"

enum {
	/* ns for which a P counts as computing after its G last computed for wakeslice */
	STAY = 50000000,
	/* the same for a P that had not computed for long; doubled each time it computes again */
	STAY_ONCE = 1500000,
	/* wakeslices for which an urgent G waits where all Gs run for long */
	PATIENT = 10,
	SERVES = 8,            /* a P with so many schedules between two looks serves */
};

struct monitor mon;

static void look_by(uint64_t when)
{
	if (!mon.next_look || when < mon.next_look)
		mon.next_look = when;
}

/* Something waits that pp would run next. */
static bool work_waits(struct p *pp, uint64_t now)
{
	uint64_t t = atomic_load(&pp->timer0);

	return !runqempty(pp) || atomic_load(&sched.runqsize) > 0 || (t && t <= now) ||
	       pp->id >= atomic_load(&gomaxprocs);
}

static uint64_t used_before(struct p *pp)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	struct g *gp = mp ? __atomic_load_n(&mp->curg, __ATOMIC_RELAXED) : NULL;

	return gp ? atomic_load_explicit(&gp->sliceused, memory_order_relaxed) : 0;
}

/* Some G computed for long on pp, and pp has run many Gs since. */
static bool serves(const struct p *pp)
{
	return pp->mon_servewhen > pp->mon_longwhen;
}

/*
 * A busy server's P: Gs that the poller brought run for tens of microseconds each, and now and then
 * the queue is empty.  These Gs are all alike.  To interrupt one for another, and to wake sysmon
 * for each of them, takes a sixth of a database's CPU (MariaDB, 16 connections) and makes none
 * faster.
 */
static bool works_off(struct p *pp, uint64_t now)
{
	return now - atomic_load_explicit(&pp->workedwhen, memory_order_relaxed) < STAY &&
	       atomic_load_explicit(&pp->burst, memory_order_relaxed) >= BURST_LONG;
}

/* Grace period, in ns, before an urgent G preempts a G that computes. */
uint64_t monitor_urgency(void)
{
	return (mon.works ? PATIENT : 1) * (uint64_t)weft_opt.wakeslice;
}

uint64_t monitor_pollgap(uint64_t usual)
{
	return mon.works ? monitor_urgency() : usual;
}

static void note(struct p *pp, uint32_t tick, uint64_t now)
{
	bool told = tick && atomic_load_explicit(&pp->switchtick, memory_order_acquire) == tick;

	if (tick - pp->mon_schedtick >= SERVES)
		pp->mon_servewhen = now;
	pp->mon_schedtick = tick;
	pp->mon_schedwhen =
		told ? atomic_load_explicit(&pp->switchwhen, memory_order_relaxed) : now;
	pp->mon_used = used_before(pp);
	pp->mon_fresh = true;
	pp->mon_quick = !told;
	pp->mon_askwhen = 0;
}

/* Asks pp's G to give way if its slice is over and another G gains by it. */
static void look_slice(struct p *pp, uint64_t now)
{
	uint64_t end = pp->mon_schedwhen - pp->mon_used + (uint64_t)weft_opt.slice;

	if (!weft_opt.slice || !work_waits(pp, now))
		return;
	if (end > now) {
		look_by(end);
		return;
	}
	preempt_ask(pp, now, 0);
	look_by(now + RETRY);
}

/* The timers of a P whose G computes: no M runs them. */
static void look_timers(struct p *pp, uint64_t now)
{
	bool ran = false;
	uint64_t t;

	atomic_store(&pp->mon_computes, now - pp->mon_longwhen < pp->mon_stay);
	if (!pp->mon_computes)
		return;
	mon.computing = true;
	if (serves(pp)) {
		mon.serving = true;
		look_by(now + monitor_urgency());
	}
	t = timers_check(pp, now, &ran);
	if (t)
		look_by(t);
}

/*
 * pp's G computed for wakeslice.  A P that did so shortly before will do so again.  A server's G
 * does so once in some tens of ms, when the kernel handles the packets of many others in one
 * send().  Attending to its P all the time meant 3,500 looks a second, each on a CPU that was in
 * use.
 */
static void note_long(struct p *pp, uint64_t now)
{
	uint64_t stay = pp->mon_stay * 2 < STAY ? pp->mon_stay * 2 : STAY;

	pp->mon_stay = now - pp->mon_longwhen < pp->mon_stay ? stay : STAY_ONCE;
	pp->mon_longwhen = now;
}

/*
 * Its G computes: the CPU clock of its M moved by half a wakeslice while schedtick stood still.
 * Elapsed time alone would say the same of an M that waits for its CPU.
 */
static void look_long(struct p *pp, uint64_t now)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	bool known = now - pp->mon_longwhen < pp->mon_stay / 4 && !serves(pp);
	uint64_t cpu;

	if (known || now - pp->mon_schedwhen < (uint64_t)weft_opt.wakeslice / 2 || !mp ||
	    os_thread_cpu(mp->ostid, &cpu))
		return;
	if (pp->mon_longtick != pp->mon_schedtick || cpu < pp->mon_longcpu) {
		pp->mon_longtick = pp->mon_schedtick;
		pp->mon_longcpu = cpu;
		look_by(now + (uint64_t)weft_opt.wakeslice);
	} else if (cpu - pp->mon_longcpu >= (uint64_t)weft_opt.wakeslice / 2) {
		note_long(pp, now);
	}
}

static uint64_t ripe(struct p *pp)
{
	return pp->mon_schedwhen + monitor_urgency();
}

/*
 * The P whose G computes longest; of those that may be asked, one whose M is on a CPU if there is
 * one.  sysmon has just taken a CPU from one of the Ms: whether that one runs must be looked up in
 * /proc, and it runs the handler only when sysmon sleeps again.  NULL: some P is about to schedule
 * anyway.
 */
static struct p *longest(uint64_t now)
{
	struct p *any = NULL, *moving = NULL;

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);

		if (atomic_load(&pp->status) != Prunning || !mp)
			continue;
		if (pp->mon_quick)
			return NULL;
		if (!any || pp->mon_schedwhen < any->mon_schedwhen)
			any = pp;
		if (ripe(pp) <= now && (!moving || pp->mon_schedwhen < moving->mon_schedwhen) &&
		    aside_moves(mp->ostid))
			moving = pp;
	}
	return moving ? moving : any;
}

/*
 * An urgent G waits: the G that computes longest is asked, unless it has computed for less than
 * wakeslice.
 */
static void look_urgent(uint64_t now)
{
	struct p *pp = longest(now);
	uint64_t used;

	if (!pp) {
		look_by(now + (mon.works ? monitor_urgency() : RETRY_URGENT));
		return;
	}
	if (ripe(pp) > now) {
		look_by(ripe(pp));
		return;
	}
	used = pp->mon_used + (now - pp->mon_schedwhen);
	preempt_ask(pp, now, weft_opt.slice && used >= (uint64_t)weft_opt.slice ? 0 : used);
	look_by(now + RETRY_URGENT);
}

/* Chaos: asks any G, at any time, with or without a reason. */
static void look_chaos(struct p *pp, uint64_t now)
{
	static uint64_t rng;

	if (!rng)
		rng = (uint64_t)weft_opt.chaos | 1;
	if (nextrand(&rng) % 2) {
		pp->mon_askwhen = 0;
		preempt_ask(pp, now, nextrand(&rng) % 2);
	}
	look_by(now + nextrand(&rng) % 400000);
}

void monitor_look(uint64_t now)
{
	mon.last_look = now;
	mon.next_look = 0;
	mon.computing = mon.serving = mon.works = false;
	for (int i = 0; weft_opt.wakeslice && i < MAXPROCS && allp[i]; i++)
		mon.works |= works_off(allp[i], now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint32_t tick = atomic_load(&pp->schedtick), status = atomic_load(&pp->status);

		pp->mon_quick = false;
		if (tick != pp->mon_schedtick || !pp->mon_schedwhen)
			note(pp, tick, now);
		if (status == Psignal)
			preempt_resend(pp, now);
		if (status != Prunning)
			continue;
		if (weft_opt.wakeslice) {
			look_long(pp, now);
			look_timers(pp, now);
		}
	}
	/* Before the slices: preempt_ask() may have to wait for /proc. */
	mon.seen_urgent = atomic_load(&sched.urgentsize);
	if (mon.seen_urgent > 0 && atomic_load(&sched.npidle) == 0)
		look_urgent(now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		if (atomic_load(&allp[i]->status) != Prunning)
			continue;
		if (unlikely(weft_opt.chaos))
			look_chaos(allp[i], now);
		else
			look_slice(allp[i], now);
	}
}
