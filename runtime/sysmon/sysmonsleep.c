/*
 * sysmonsleep: sysmon's sleep, between two looks.
 *
 * As long as some P computes, sysmon must be awake when a timer is due, when an urgent G has waited
 * long enough, and when a descriptor has data and no M polls.  It then sleeps as the poller, and is
 * woken for what comes sooner (monitor_alarm).  It must not become a load of its own.
 *
 * Must never: sleep with a lock; ready a G while it counts as the poller.
 */
#include "runtime/sysmon/sysmon.h"

enum {
	LOOK_MIN = 50000,      /* ns between two looks, at least, while some P computes */
	/* ns; an M that ran for longer had to wait for its CPU, and is owed that time */
	RAN_MAX = 500000,
	SLEPT_MIN = 20000,     /* ns; only a sleep of this length proves that an M ran meanwhile */
	/* ns of such a sleep that two context switches take, usually at most */
	SWITCHES = 10000,
};

/* Before sysmon sleeps: what each M that computes has used. */
static void note_sleep(void)
{
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);

		pp->mon_sleepm = NULL;
		if (atomic_load(&pp->mon_computes) && mp &&
		    !os_thread_cpu(mp->ostid, &pp->mon_sleepcpu))
			pp->mon_sleepm = mp;
	}
	mon.slept = nanotime();
}

/*
 * mp computed all the time that sysmon slept.  It still runs, or would run if sysmon had not taken
 * its CPU.  (It may have blocked in the last microseconds, as after any other proof.)  Asked before
 * /proc: that means to wake another thread and wait for it, after which sysmon may be without a CPU
 * until the next tick.
 */
bool monitor_computed(struct p *pp, struct m *mp)
{
	uint64_t cpu;

	return pp->mon_sleepm == mp && mon.woke - mon.slept >= SLEPT_MIN && !os_thread_cpu(mp->ostid, &cpu) &&
	       cpu - pp->mon_sleepcpu + SWITCHES >= (mon.woke - mon.slept) / 32 * 31;
}

void monitor_alarm(uint64_t when)
{
	/*
	 * Pairs with monitor_sleep: it publishes monuntil, then looks at what we have changed
	 * before this.
	 */
	if (atomic_load(&sched.monuntil) <= when || atomic_exchange(&sched.monwake, 1) != 0)
		return;
	if (atomic_load(&sched.monpolls))
		netpoll_break();
	else
		os_futex_wake((uint32_t *)&sched.monwake, 1);
}

/*
 * Something became due before monuntil was published, when no waker could know that sysmon wants to
 * be told.
 */
static bool came(uint64_t until)
{
	if (atomic_load(&sched.urgentsize) > mon.seen_urgent)
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		uint64_t t = atomic_load(&allp[i]->timer0);

		if (atomic_load(&allp[i]->mon_computes) && t && t < until)
			return true;
	}
	return false;
}

/* sysmon polls the descriptors if no M does.  False: an M polls, or no descriptor is watched. */
static bool sleep_polling(uint64_t until)
{
	struct os_event ev[NETPOLL_BATCH];
	int n = 0;

	if (!netpoll_watching() || atomic_load(&sched.lastpoll) == 0 ||
	    atomic_exchange(&sched.lastpoll, 0) == 0)
		return false;
	atomic_store(&sched.polluntil, until);
	atomic_store(&sched.monpolls, true);
	if (!atomic_load(&sched.monwake) && !came(until))
		n = netpoll_wait(ev, until);
	atomic_store(&sched.monpolls, false);
	atomic_store(&sched.polluntil, 0);
	/* Before any G is readied, or sysmon would wake itself. */
	atomic_store(&sched.monuntil, 0);
	atomic_store(&sched.lastpoll, nanotime());
	if (n > 0)
		netpoll_ready(ev, n);
	/* An M that went idle meanwhile left the polling, and all timers, to sysmon. */
	if (atomic_load(&sched.npidle) > 0)
		wakep();
	return true;
}

static uint64_t sleep_until(uint64_t when)
{
	note_sleep();
	os_usleep(when > mon.slept ? (uint32_t)((when - mon.slept) / 1000) + 1 : 1);
	return mon.woke = nanotime();
}

/*
 * Where alarms are frequent, sysmon sleeps for as long as it ran before it may be woken.  The
 * kernel (EEVDF, Linux 6.6) makes a thread wait that has had more than its share, woken or not, and
 * looks again only at its next tick: for up to 4 ms nothing that is due would be noticed.  After
 * this sleep sysmon is owed its share again.
 */
static uint64_t sleep_off(uint64_t now)
{
	uint64_t ran = now - mon.last_look;

	return sleep_until(now + (ran < RAN_MAX ? ran : RAN_MAX));
}

void monitor_sleep(uint32_t us)
{
	uint64_t now, until;

	if (!mon.next_look && !mon.computing) {
		os_usleep(us);
		return;
	}
	now = nanotime();
	until = now + us * 1000ULL;
	if (mon.next_look && mon.next_look < until)
		until = mon.next_look;
	if (until < now + LOOK_MIN)
		until = now + LOOK_MIN;
	if (!mon.computing) {
		os_usleep((uint32_t)((until - now) / 1000));
		return;
	}
	if (mon.works) {
		/* No waker wakes sysmon here (monuntil is 0), and poll_for_busy() polls. */
		sleep_until(until < now + monitor_urgency() ? until : now + monitor_urgency());
		mon.alarmed = false;
		return;
	}
	if (mon.alarmed)
		now = sleep_off(now);
	mon.alarmed = true; /* also when something came before the sleep */
	atomic_store(&sched.monwake, 0);
	atomic_store(&sched.monuntil, until);
	if (now < until && !came(until)) {
		note_sleep();
		/*
		 * No polling while some P serves: sysmon would be woken for each event, and each G
		 * that sysmon readies is urgent.
		 */
		if (mon.serving || !sleep_polling(until))
			os_futex_wait((uint32_t *)&sched.monwake, 0, until);
		mon.woke = nanotime();
		mon.alarmed = mon.woke < until;
	}
	atomic_store(&sched.monuntil, 0);
	/* However many alarms there are, the looks must not become a load of their own. */
	if (mon.alarmed && mon.woke < mon.last_look + LOOK_MIN)
		sleep_until(mon.last_look + LOOK_MIN);
}
