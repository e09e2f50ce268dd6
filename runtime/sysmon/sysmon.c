/*
 * sysmon: a kernel thread without a P that sees what no M can see.
 *
 * After a look that helped sysmon looks again soon, and then half as often each time, down to once in 10 ms: takes
 * Ps from system calls that block (insyscall.c), finds queued work beside an idle P and timers that no M runs,
 * reaps idle Ms, has memory of dead Gs given back (scavenge.c), has Ms called by their Gs' names (mnames.c),
 * re-reads the CPU limits once a second, asks Gs that had their slice to give way (retake.c), prints the
 * schedtrace.  Sleeps deep, costing nothing, while all Ps are idle.
 *
 * Must never: own a P, block on anything a G may hold: so it makes no thread.
 */
#include "runtime/sysmon/sysmon.h"

#include <errno.h>

#define SEC 1000000000ULL

static bool retaken; /* Ps have been taken from Ms that block: more Ms may be needed */

void sysmon_note_retaken(void)
{
	retaken = true;
	sysmon.helped = sysmon.last_tick;
}

/*
 * All Ps have been busy or in system calls for long: no M has polled the descriptors, nor noticed
 * that a clock was set.
 */
static void poll_for_busy(uint64_t now)
{
	uint64_t last = load_seqcst(&sched.lastpoll);

	if ((netpoll_watching() || netpoll_clocks()) && last && last + sysmon_pollgap(SYSCALL_SLICE) <= now &&
	    cas_seqcst(&sched.lastpoll, &last, now)) {
		if (netpoll_nowait())
			sysmon.helped = now;
		sysmon.ownpoll = load_seqcst(&sched.lastpoll);
	}
}

/*
 * Work that waits although a P is idle: ready() wakes no M but for a waker that was seen to compute on
 * (wakers.c), so this is the backstop.  again: there is work, and a look after WAITS_LONG would tell whether it waits.
 */
static bool wake_for_queued(uint64_t now, bool *again)
{
	uint64_t first = timers_next();
	bool queued = load_seqcst(&sched.runqsize) > 0 || (first && first + WAITS_LONG < now);

	*again = false;
	if (load_seqcst(&sched.npidle) == 0)
		return false;
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint32_t runs = load_relaxed(&pp->runs);
		/* Two Gs that wake each other share a slice: the one in runnext does not wait. */
		bool moves = runs != pp->mon.runs && !runqring(pp);

		pp->mon.runs = runs;
		if (pp->mon.newtick || moves || runqempty(pp)) {
			pp->mon.newtick = false;
			pp->mon.stallsince = now;
			*again |= load_seqcst(&pp->runnext) != NULL;
		} else if (since(pp->mon.stallsince, now) >= WAITS_LONG) {
			queued = true;
			waker_seen(pp, since(pp->mon.stallsince, now));
		}
	}
	if (queued) {
		store_relaxed(&sched.naps, NAP_TRIES);
		wakep();
		sysmon.helped = now;
	}
	return queued;
}

/* ns for which an idle M is kept: the more idle Ms there are, the shorter. */
static uint64_t keep_idle(int32_t n)
{
	return REAP_AFTER * SEC * REAP_MANY / (uint64_t)(n > REAP_MANY ? n : REAP_MANY);
}

/* M0 stays, and so do locked ones; of the others one for each P: so many the next moment of work needs. */
static bool stays(const struct m *mp, int32_t *n)
{
	return mp == &m0 || mp->lockedg || (*n)++ < load_relaxed(&gomaxprocs);
}

/* sched.lock held. */
static bool any_to_reap(void)
{
	int32_t n = 0;

	LIST_EACH(struct m, mp, &sched.midle, idle)
		if (!stays(mp, &n))
			return true;
	return false;
}

/* Takes off the idle list what has been there for long.  sched.lock held. */
static struct m *cold_idle(uint64_t now)
{
	uint64_t keep = keep_idle(sched.nmidle);
	struct m *cold = NULL;
	int32_t n = 0;

	LIST_EACH(struct m, mp, &sched.midle, idle) {
		if (stays(mp, &n) || since(mp->idlesince, now) <= keep)
			continue;
		midle_drop(mp);
		mp->dying = true;
		mp->schedlink = cold;
		cold = mp;
	}
	return cold;
}

static void reap_idle(uint64_t now)
{
	static uint64_t next;
	struct m *mp, *cold;

	if (now < next || fromnow_holds(FROMNOW_NOMORE) || fromnow_holds(FROMNOW_MS_STAY) ||
	    load_relaxed(&sched.nmidle) <= load_relaxed(&gomaxprocs))
		return;
	next = now + REAP_EVERY;
	lock(&sched.lock);
	cold = cold_idle(now);
	unlock(&sched.lock);
	while ((mp = cold)) {
		cold = mp->schedlink; /* the M uses the field once it is awake */
		mwake(mp);
	}
}

void sysmon_wake(void)
{
	if (exchange_seqcst(&sched.sysmonwait, 0))
		os_futex_wake((uint32_t *)&sched.sysmonwait, 1);
}

/* 0 is never. */
static uint64_t sooner(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Also a P whose number is too high by now (p.c), and whose G computes on: nobody else would make it give way. */
static bool any_busy(void)
{
	int n = load_acquire(&gomaxprocs);

	if (load_seqcst(&sched.npidle) < n)
		return true;
	for (int i = n; i < MAXPROCS && allp[i]; i++)
		if (load_seqcst(&allp[i]->status) == Prunning)
			return true;
	return false;
}

/*
 * All Ps are idle: sleep until an M takes one (pidleget), with a bound while there are Ms to reap
 * or memory to give back.
 */
static void sleep_deep(void)
{
	uint64_t until = 0;

	store_seqcst(&sched.sysmonwait, 1);
	/* Pairs with pidleget's and entersyscall's read of sysmonwait after they took a P. */
	if (any_busy() || pollquiet_any()) {
		store_seqcst(&sched.sysmonwait, 0);
		return;
	}
	lock(&sched.lock);
	if (!fromnow_holds(FROMNOW_MS_STAY) && any_to_reap())
		until = nanotime() + keep_idle(sched.nmidle);
	unlock(&sched.lock);
	until = sooner(sooner(until, scavenge_when()), deadlock_when(nanotime()));
	until = sooner(until, blocked_when(nanotime()));
	if (weft_opt.schedtrace) {
		uint64_t next = nanotime() + (uint64_t)weft_opt.schedtrace * 1000000;

		until = sooner(until, next);
	}
	while (load_seqcst(&sched.sysmonwait) &&
	       os_futex_wait((uint32_t *)&sched.sysmonwait, 1, until) != -ETIMEDOUT)
		;
	store_seqcst(&sched.sysmonwait, 0);
}

enum { SYSMON_STACK = 128 * 1024 };

/* The sooner of two times from now in us; 0 is no time. */
static uint32_t sooner_us(uint32_t a, uint32_t b)
{
	return b && b < a ? b : a;
}

static struct helper sysmon_thread;
/* seq_cst with sched.sysmonwait and sched.sysmonwake: sysmon_stop() writes this one, then wakes */
static _Atomic bool sysmon_quits; /* asked to end */

/*
 * A busy server idles for moments: only a longer idleness, after which looks are as rare as they become, is worth a
 * deep sleep.
 */
static void sleep_if_idle(uint32_t delay)
{
	/* blockreport has to see when a block ends. */
	if (any_busy() || blocked_ran() || delay != TICK_MAX || weft_opt.blockreport)
		return;
	names_look(0);
	sleep_deep();
}

/* As many Ps as the process has CPUs now. */
static void follow_cpus(uint64_t now, uint64_t *lastcpu)
{
	unsigned ncpu;

	if (weft_opt.procs != 0 || fromnow_holds(FROMNOW_LOCKED) || now - *lastcpu < SEC)
		return;
	ncpu = procfs_ncpu();
	if (ncpu)
		*lastcpu = now;
	if (ncpu && ncpu != (unsigned)load_acquire(&gomaxprocs))
		procresize(ncpu, ncpu);
}

static void *sysmon_main(void *arg)
{
	uint64_t lasttrace = nanotime(), lastcpu = lasttrace;
	uint32_t delay = TICK_FIRST, suspect = 0, blocked = 0;
	bool queued = false; /* this look is one for work that the last one found */

	(void)arg;
	os_setname("weft-sysmon");
	sysmon.tid = os_gettid();
	sysmon.helped = nanotime();
	os_timerslack(SYSMON_SLACK);
	os_cpuslice(SYSMON_CPU_SLICE);
	for (;;) {
		uint64_t now;
		bool taken, woke, again;

		sysmon_sleep(sooner_us(sooner_us(delay, suspect), blocked));
		if (unlikely(load_relaxed(&sysmon_quits)))
			return NULL;
		sleep_if_idle(delay);
		now = nanotime();
		sysmon_tick(now);
		suspect = retake_syscalls(now, &taken);
		/* What was found once is looked for soon again, for what helps costs somebody a CPU. */
		woke = wake_for_queued(now, &again);
		queued = again && !queued;
		if (woke || taken)
			delay = TICK_FIRST;
		else
			delay = delay * 2 < TICK_MAX ? delay * 2 : TICK_MAX;
		pollquiet_look(now);
		poll_for_busy(now);
		blocked = blocked_check(now);
		/* Once for each look that comes of itself: on a server something is always queued. */
		if (queued)
			blocked = blocked ? sooner_us(blocked, WAITS_LONG / 1000) : WAITS_LONG / 1000;
		pstart_look(now);
		if (retaken && m_wants_spare())
			spawner_want_spare();
		if (sched.mdead) /* an M may have left before its maker noted its handle */
			spawner_wake();
		reap_idle(now);
		names_look(now);
		trace_look(now);
		profile_look(now);
		control_look();
		deadlock_look(now);
		scavenge_tick(now);
		if (weft_opt.schedtrace &&
		    now - lasttrace >= (uint64_t)weft_opt.schedtrace * 1000000) {
			lasttrace = now;
			schedtrace(weft_opt.scheddetail);
		}
		follow_cpus(now, &lastcpu);
	}
	return NULL;
}

bool sysmon_start(void)
{
	/* The spawner first: while it does not run, sysmon would have to make Ms itself. */
	return spawner_start() && helper_start(&sysmon_thread, sysmon_main, SYSMON_STACK);
}

static void sysmon_forget(void)
{
	retaken = false;
	helper_forget(&sysmon_thread);
	sysmon = (struct sysmon){ 0 };
}

void sysmon_stop(void)
{
	if (!helper_started(&sysmon_thread))
		return;
	store_seqcst(&sysmon_quits, true);
	sysmon_wake_by(0);
	sysmon_wake();
	helper_join(&sysmon_thread);
	pollquiet_look(UINT64_MAX);
	store_seqcst(&sysmon_quits, false);
	store_seqcst(&sched.sysmonwake, 0);
	sysmon_forget();
}

void sysmon_fork_child(void)
{
	sysmon_forget();
	deadlock_fork_child();
	store_relaxed(&sysmon_quits, false);
	spawner_fork_child();
}
