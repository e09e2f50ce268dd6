/*
 * sysmonsleep: sysmon's sleep, between two looks.
 *
 * As long as some P computes, sysmon must be awake when a timer is due, when a woken G has waited
 * long enough, and when a descriptor has data and no M polls.  It then sleeps as the poller, and is
 * woken for what comes sooner (sysmon_wake_by).  It must not become a load of its own.
 *
 * Must never: sleep with a lock; ready a G while it counts as the poller.
 */
#include "runtime/sysmon/sysmon.h"

/* pp goes into the list of those that compute longest, if that is so. */
static void rank(struct p *pp, struct p **oldest)
{
	for (int i = 0; i < SLEEP_NOTES; i++) {
		struct p *than = oldest[i];

		if (than && than->mon.schedwhen <= pp->mon.schedwhen)
			continue;
		oldest[i] = pp;
		if (!than)
			return;
		pp = than;
	}
}

/* Before sysmon sleeps: what the Ms have used that it may ask to give way. */
static void note_sleep(void)
{
	struct p *oldest[SLEEP_NOTES] = { NULL };

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		allp[i]->mon.sleepm = NULL;
		if (load_relaxed(&allp[i]->mon.cpubound))
			rank(allp[i], oldest);
	}
	for (int i = 0; i < SLEEP_NOTES && oldest[i]; i++) {
		struct m *mp = load_relaxed(&oldest[i]->m);

		if (mp && !os_thread_cpu(mp->ostid, &oldest[i]->mon.sleepcpu))
			oldest[i]->mon.sleepm = mp;
	}
	sysmon.sleep_began = nanotime();
}

/*
 * mp computed all the time that sysmon slept.  It still runs, or would run if sysmon had not taken
 * its CPU.  (It may have blocked in the last microseconds, as after any other proof.)  Asked before
 * /proc: that means to wake another thread and wait for it, after which sysmon may be without a CPU
 * until the next tick.
 */
bool sysmon_saw_running(struct p *pp, struct m *mp)
{
	uint64_t cpu;

	return pp->mon.sleepm == mp && sysmon.sleep_ended - sysmon.sleep_began >= SLEPT_MIN &&
	       !os_thread_cpu(mp->ostid, &cpu) &&
	       cpu - pp->mon.sleepcpu + SWITCHES >=
		       (sysmon.sleep_ended - sysmon.sleep_began) / SLEPT_PARTS * (SLEPT_PARTS - 1);
}

/*
 * Where /proc may not be asked: pp has not scheduled since the last question, and its M has used CPU.  It may have
 * blocked after that: then its call is begun again by the kernel, or ends with EINTR.  An M that stood still is
 * asked about again.  Where a filter forbids the clocks of other threads, too, a thread other than sysmon has used
 * CPU: pp's M, or another.  Without this a G that computes would never be asked to give way, and all others could
 * wait for ever.
 */
bool sysmon_saw_clock(struct p *pp, struct m *mp)
{
	uint64_t used;
	bool computed;

	if (os_thread_cpu(mp->ostid, &used))
		used = since(os_own_cpu(), os_process_cpu());
	computed = pp->mon.clocktick == pp->mon.schedtick && since(pp->mon.clockcpu, used) > SWITCHES;
	pp->mon.clocktick = pp->mon.schedtick;
	pp->mon.clockcpu = used;
	return computed;
}

void sysmon_wake_by(uint64_t when)
{
	/*
	 * Pairs with sysmon_sleep: it publishes sysmonuntil, then looks at what we have changed
	 * before this.
	 */
	if (load_seqcst(&sched.sysmonuntil) <= when || exchange_seqcst(&sched.sysmonwake, 1) != 0)
		return;
	if (load_seqcst(&sched.sysmonpolls))
		netpoll_break();
	else
		os_futex_wake((uint32_t *)&sched.sysmonwake, 1);
}

/*
 * Something became due before sysmonuntil was published, when no waker could know that sysmon wants to
 * be told.
 */
static bool missed_wakeup(uint64_t until)
{
	if (load_seqcst(&sched.wakeupqsize) > sysmon.seen_wakeupq)
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint64_t t = load_seqcst(&pp->timer0);

		if (!load_seqcst(&pp->mon.cpubound) || p_sees_itself(pp, sysmon.last_tick))
			continue;
		if (t && t < until)
			return true;
		if (load_relaxed(&gomaxprocs) == 1 && load_seqcst(&pp->runnext) != pp->mon.next)
			return true;
	}
	return false;
}

/*
 * As the poller sysmon has all timers: an M that goes idle leaves its own to it.  Those that came before polluntil was
 * written woke nobody.  One that is due already is an M's, unless that went idle since (npidle is counted
 * before lastpoll is read).
 */
static uint64_t next_as_poller(void)
{
	bool idle = load_seqcst(&sched.npidle) > 0;
	uint64_t first = 0;

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		uint64_t t = load_seqcst(&allp[i]->timer0);

		if (!t || (first && t >= first))
			continue;
		if (idle || (t > sysmon.sleep_began && !p_sees_itself(allp[i], sysmon.sleep_began)))
			first = t;
	}
	return first;
}

/* sysmon polls the descriptors if no M does.  False: an M polls, or no descriptor is watched. */
static bool sleep_polling(uint64_t until)
{
	struct os_event ev[NETPOLL_BATCH];
	uint64_t first;
	int n = 0;

	if (!netpoll_watching() || load_seqcst(&sched.lastpoll) == 0 ||
	    exchange_seqcst(&sched.lastpoll, 0) == 0)
		return false;
	store_seqcst(&sched.polluntil, until);
	store_seqcst(&sched.sysmonpolls, true);
	first = next_as_poller();
	if (first && first < until)
		until = first;
	if (!load_seqcst(&sched.sysmonwake) && !missed_wakeup(until))
		n = netpoll_wait(ev, until, 0);
	store_seqcst(&sched.sysmonpolls, false);
	store_seqcst(&sched.polluntil, 0);
	/* Before any G is readied, or sysmon would wake itself. */
	store_seqcst(&sched.sysmonuntil, 0);
	sysmon.ownpoll = nanotime();
	store_seqcst(&sched.lastpoll, sysmon.ownpoll);
	if (n > 0 && netpoll_ready(ev, n))
		sysmon.helped = nanotime();
	else if (n > 0)
		netpoll_vain(ev, n);
	/* An M that went idle meanwhile left the polling, and all timers, to sysmon. */
	if (load_seqcst(&sched.npidle) > 0)
		wakep();
	return true;
}

static uint64_t sleep_until(uint64_t when)
{
	note_sleep();
	os_usleep(when > sysmon.sleep_began ? (uint32_t)((when - sysmon.sleep_began) / 1000) + 1 : 1);
	return sysmon.sleep_ended = nanotime();
}

/*
 * Where wake-ups are frequent, sysmon sleeps for as long as it ran before it may be woken.  The
 * kernel (EEVDF, Linux 6.6) makes a thread wait that has had more than its share, woken or not, and
 * looks again only at its next tick: for up to 4 ms nothing that is due would be noticed.  After
 * this sleep sysmon is owed its share again.
 */
static uint64_t repay_cpu(uint64_t now)
{
	uint64_t ran = now - sysmon.last_tick; /* more than SYSMON_DEBT: it had to wait for its CPU */

	return sleep_until(now + (ran < SYSMON_DEBT ? ran : SYSMON_DEBT));
}

/*
 * Where its looks help nobody, as beside a server that is always busy, sysmon keeps to its part.  Where one helped,
 * the next may, too.  Behind a P that computes sysmon alone sees what is due there, unless its M has set an alarm; and
 * it alone polls, unless another did since.  Beside an idle P nothing is to wait for longer than the bound, where
 * something was seen to wait there lately (naps).
 */
static bool next_may_help(uint64_t now)
{
	if (sysmon.any_blind || sysmon.urgent || since(sysmon.helped, now) < SYSMON_DEBT_MOST)
		return true;
	return sysmon.any_cpubound && ((load_relaxed(&sched.npidle) > 0 && load_relaxed(&sched.naps) > 0) ||
				       (netpoll_watching() && load_seqcst(&sched.lastpoll) == sysmon.ownpoll));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * ns until it is worth looking again for what no sign tells of: events, and work or timers beside an idle P.  Where
 * looks have found none for long, the next will not, either: what comes after a silence is noticed late by a part of
 * it.
 */
static uint64_t rest(uint64_t now)
{
	uint64_t ns = since(sysmon.helped, now) / REST_PART;

	if (sysmon.blind_waits || sysmon.urgent)
		return 0;
	return ns < SYSMON_DEBT_MOST ? ns : SYSMON_DEBT_MOST;
}

/*
 * ns for which sysmon has to sleep, however much there is to see: it may use a part of a CPU, and some at once
 * after it used less.  Its clock counts what its sleeps and wake-ups take, too.
 */
static uint64_t owed(uint64_t now)
{
	uint64_t part = SYSMON_PART;
	uint64_t cpu, used, most, debt;

	/*
	 * A filter may forbid the clocks that name a thread.  Without a bound sysmon would look each time that
	 * work waits.
	 */
	if (os_thread_cpu(sysmon.tid, &cpu))
		cpu = os_own_cpu();
	/* It asks one G a look to give way, so where more Ps compute it looks more often. */
	if (sysmon.urgent)
		part = SYSMON_PART_URGENT / (1 + (uint64_t)load_relaxed(&gomaxprocs) / SYSMON_PS) + 1;
	used = since(sysmon.used, cpu); /* of two clocks the second may be behind */
	sysmon.saved += since(sysmon.usedwhen, now) / part;
	if (sysmon.saved > SYSMON_BURST)
		sysmon.saved = SYSMON_BURST;
	sysmon.usedwhen = now;
	sysmon.used = cpu;
	if (sysmon.saved >= used) {
		sysmon.saved -= used;
		return 0;
	}
	used -= sysmon.saved;
	sysmon.saved = 0;
	most = next_may_help(now) ? later(SYSMON_DEBT, rest(now)) : SYSMON_DEBT_MOST;
	debt = used * part < most ? used * part : most;
	sysmon.usedwhen = now + debt; /* what it sleeps off it does not save as well */
	return debt;
}

/* Where Ps drain what the poller brings no waker wakes sysmon (sysmonuntil is 0), and poll_for_busy() polls. */
static void sleep_draining(uint64_t now, uint64_t until)
{
	uint64_t next = now + later(sysmon_wakeslice(), rest(now));

	sleep_until(until < next ? until : next);
	sysmon.woken_early = false;
}

void sysmon_sleep(uint32_t us)
{
	uint64_t now = nanotime(), debt = owed(now), until = now + us * 1000ULL;

	/* Nothing wakes it: its wakers would pay for that. */
	if (unlikely(debt)) {
		now = sleep_until(now + debt);
		sysmon.woken_early = false;
	}
	if (now >= until)
		return;
	if (!sysmon.next_tick && !sysmon.any_cpubound) {
		os_usleep((uint32_t)((until - now) / 1000));
		return;
	}
	if (sysmon.next_tick && sysmon.next_tick < until)
		until = sysmon.next_tick;
	if (until < now + TICK_GAP_MIN)
		until = now + TICK_GAP_MIN;
	if (!sysmon.any_cpubound) {
		os_usleep((uint32_t)((until - now) / 1000));
		return;
	}
	if (sysmon.any_draining) {
		sleep_draining(now, until);
		return;
	}
	if (sysmon.woken_early)
		now = repay_cpu(now);
	sysmon.woken_early = true; /* also when something came before the sleep */
	store_seqcst(&sched.sysmonwake, 0);
	store_seqcst(&sched.sysmonuntil, until);
	if (now < until && !missed_wakeup(until)) {
		note_sleep();
		/*
		 * No polling while some P is I/O-bound: sysmon would be woken for each event, and each G
		 * that sysmon readies is woken.
		 */
		if (sysmon.any_iobound || !sleep_polling(until))
			os_futex_wait((uint32_t *)&sched.sysmonwake, 0, until);
		sysmon.sleep_ended = nanotime();
		sysmon.woken_early = sysmon.sleep_ended < until;
	}
	store_seqcst(&sched.sysmonuntil, 0);
	/* However many wake-ups there are, the looks must not become a load of their own. */
	if (sysmon.woken_early && sysmon.sleep_ended < sysmon.last_tick + TICK_GAP_MIN)
		sleep_until(sysmon.last_tick + TICK_GAP_MIN);
}
