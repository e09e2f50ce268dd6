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

/* Before sysmon sleeps: what each M that computes has used. */
static void note_sleep(void)
{
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		struct m *mp = load_relaxed(&pp->m);

		pp->mon.sleepm = NULL;
		if (load_seqcst(&pp->mon.cpubound) && mp &&
		    !os_thread_cpu(mp->ostid, &pp->mon.sleepcpu))
			pp->mon.sleepm = mp;
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
	       cpu - pp->mon.sleepcpu + SWITCHES >= (sysmon.sleep_ended - sysmon.sleep_began) / SLEPT_PARTS * (SLEPT_PARTS - 1);
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
		uint64_t t = load_seqcst(&allp[i]->timer0);

		if (load_seqcst(&allp[i]->mon.cpubound) && t && t < until)
			return true;
	}
	return false;
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
	/*
	 * As the poller sysmon has all timers: an M that goes idle leaves its own to it.  Those that came before polluntil
	 * was written woke nobody.  (One that is due already is another's affair, or sysmon would not sleep.)
	 */
	first = timers_next();
	if (first > sysmon.sleep_began && first < until)
		until = first;
	if (!load_seqcst(&sched.sysmonwake) && !missed_wakeup(until))
		n = netpoll_wait(ev, until);
	store_seqcst(&sched.sysmonpolls, false);
	store_seqcst(&sched.polluntil, 0);
	/* Before any G is readied, or sysmon would wake itself. */
	store_seqcst(&sched.sysmonuntil, 0);
	store_seqcst(&sched.lastpoll, nanotime());
	if (n > 0)
		netpoll_ready(ev, n);
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
	uint64_t ran = now - sysmon.last_tick;

	return sleep_until(now + (ran < RAN_MAX ? ran : RAN_MAX));
}

void sysmon_sleep(uint32_t us)
{
	uint64_t now, until;

	if (!sysmon.next_tick && !sysmon.any_cpubound) {
		os_usleep(us);
		return;
	}
	now = nanotime();
	until = now + us * 1000ULL;
	if (sysmon.next_tick && sysmon.next_tick < until)
		until = sysmon.next_tick;
	if (until < now + TICK_GAP_MIN)
		until = now + TICK_GAP_MIN;
	if (!sysmon.any_cpubound) {
		os_usleep((uint32_t)((until - now) / 1000));
		return;
	}
	if (sysmon.any_draining) {
		/* No waker wakes sysmon here (sysmonuntil is 0), and poll_for_busy() polls. */
		sleep_until(until < now + sysmon_wakeslice() ? until : now + sysmon_wakeslice());
		sysmon.woken_early = false;
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
