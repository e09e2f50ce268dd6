/*
 * policy: every constant that decides which thread runs when, how long one waits for another, and what
 * is kept in reserve.
 *
 * What a user may set is an option (base/options.def); the options that this file leans on are named
 * where that is so.  policy.c holds the relations that must stay true when a value is changed.
 *
 * Each constant has a comment of one form, which check-policy reads:
 *
 *	unit, files that read it: what it decides.  From: what it was derived from, or measured where
 *
 * "Go" is the value of Go's runtime, taken over and not measured again.  A commit is named where its
 * message has the figures.  Costs are those of the machine of runtime/sched/README.md (2 virtual CPUs).
 * What a value decides is seen by tests/sim/rows/sensitivity.
 *
 * Sizes of tables, kinds and states are no policy and stay where they are used; check-policy lists
 * them with the reason.
 *
 * Must never: hold state, or include anything but the compiler's headers.
 */
#ifndef WEFT_POLICY_H
#define WEFT_POLICY_H

/* ---- what a P runs next ---------------------------------------------------------------------- */

enum {
	/*
	 * Gs, struct_p.h runq.c check.c findrunnable.c: in a P's ring; of a full one half goes to the global
	 * queue.  From: Go.
	 */
	RUNQ_SIZE = 256,
	/*
	 * schedules, findrunnable.c sched_inline.h: every 61st takes from the global queue and looks at the
	 * descriptors first.  From: Go.
	 */
	GLOBAL_TICK = 61,
	/*
	 * Gs, findrunnable.c: of the local queue, at most so many are waited for where the local Gs compute
	 * and the global queue has its turn.  From: 8bd50d4 (4 spinners, 2 Ps: least share 66 %, then 76).
	 */
	GLOBAL_WAIT_GS = 2,
	/* slices, findrunnable.c: waited for beyond one for each of these Gs.  From: as GLOBAL_WAIT_GS. */
	GLOBAL_WAIT_SLICES = 2,
	/*
	 * wakeslices, findrunnable.c: a row of woken Gs goes before the local queue for so long.  From:
	 * 5cacb09 (8 sleepers of 100 us were late by 370 us when a row was three Gs).
	 */
	WAKEUP_ROW = 3,
	/*
	 * one in, proc.c blocked.c sigring.c: what chaos does unasked it does so often: yields to each of both
	 * tails, a P that is taken from an M that may run, a signal that is held on to.  From: of three steps
	 * one each is then disturbed in most runs, and few runs in all.
	 */
	CHAOS_PART = 8,
};

/* ---- stealing, spinning, naps ---------------------------------------------------------------- */

enum {
	/* passes, findrunnable.c: over all Ps in search of work, the last with runnext and timers.  From: Go. */
	STEAL_PASSES = 4,
	/*
	 * Gs, runq.c: a queue this long is stolen from before it has aged (stealage): else one that turns over
	 * between two looks of a thief never is.  From: half of so many run for longer than the 5 us that the
	 * thief's way takes.
	 */
	STEAL_LONG = 8,
	/* us, runq.c: left to a P to run its runnext itself, where stealage is 0.  From: Go. */
	STEAL_NEXT_US = 3,
	/*
	 * wake-ups, wakers.c: of a G that computed on after one, that wake an M.  From: a wake-up costs 5 us,
	 * and what a thief takes has waited for stealage and a nap: 70 us.  So wake-ups in vain take less than
	 * what was seen cost.
	 */
	WAKER_TRIES = 8,
	/*
	 * ns, wakep.c wakers.c sysmon.c: a G that waited for so long behind its waker, beside an idle P, waited for too
	 * long.  From: the bound that weft sets itself; glibc's woken threads run after 10 to 50 us.
	 */
	WAITS_LONG = 100000,
	/*
	 * ns, wakers.c: between two of them on a P, at least.  From: a wake-up costs 5 us: so these are at most
	 * a twentieth of what the P does; WAITS_LONG.
	 */
	WAKER_GAP = 100000,
	/*
	 * one in, findrunnable.c wakep.c: of the busy Ps, so many Ms at most look for work, or are woken to.
	 * From: Go.
	 */
	SPINNERS_PART = 2,
	/*
	 * pauses, idle.c netpoll.c: between two looks of an M that spins for work, and of the poller.  From: Go's pause
	 * of a spinning lock.
	 */
	SPIN_PAUSES = 30,
	/*
	 * ns, idle.c: an idle M looks at least this often while another P is busy; the first nap is the option
	 * nap, each next one is twice as long.  From: as TICK_WAITS: 500 wake-ups a second of 5 us are a
	 * quarter of a percent of a CPU.
	 */
	NAP_MAX = 2000000,
	/*
	 * naps, idle.c schedinit.c sysmon.c: in vain, one after the other, after which idle Ms sleep until they are
	 * woken, and sysmon alone looks for what waits beside an idle P.  From: so many, doubled from the option nap to
	 * NAP_MAX, are twice sysmon's rarest look (TICK_MAX); each is a wake-up that takes a CPU from other programs.
	 */
	NAP_TRIES = 16,
};

/* ---- the poller ------------------------------------------------------------------------------ */

enum {
	/*
	 * events, findrunnable.c idle.c netpoll.c sysmonsleep.c: of descriptors, taken by one look.
	 * From: Go; the default of the option pollsurplus is the same number.
	 */
	NETPOLL_BATCH = 128,
	/*
	 * ns, wakep.c retake.c: Gs that the poller or timers ready and that run for longer at a time wake
	 * an idle P.  From: 148feba (MariaDB, 16 connections, procs=2: 0.75 of native without).
	 */
	SERVICE_LONG = 20000,
	/*
	 * ns, wakep.c: Gs that are readied together and run for so long, all of them, wake an idle P: twice what a
	 * wake-up takes where a CPU is free, so that its half of them is done no later there; more where the last ones
	 * took longer (m_came()).  From: measured, "wakeup" in tests/sim/cost.c.
	 */
	HELP_WORTH = 40000,
	/*
	 * runs, findrunnable.c wakep.c: over which mean service times and wake-ups are taken.  From: the gain
	 * of TCP's mean of noisy times (RFC 6298).
	 */
	SERVICE_MEAN = 8,
};

enum {
	/*
	 * parks, pollonce.c: of an event loop that are told of one event each, after one at which others came in vain.
	 * From: such a park costs a system call, 0.3 us; one that is told of all, to see, up to a wake-up of
	 * 5 us for each event.
	 */
	ONCE_ROW = 64,
	/*
	 * ns, pollclose.c: after which such a call is in the kernel.  From: ten times for how long the kernel lets a
	 * thread wait for its turn on a machine of 30 busy threads a CPU (3 ms each).
	 */
	KEEP_NS = 1000000000,
	/*
	 * wake-ups, polldesc.c: of readers that writers here told, after which a file is watched for its end alone.
	 * From: that and the way back are two system calls, 0.6 us; each write before costs up to a wake-up of 5 us.
	 */
	QUIET_AFTER = 8,
	/*
	 * ns, pollquiet.c: for which it is so.  From: it bounds how late a write is seen of which nobody told, as
	 * sysmon's rarest look (TICK_MAX) bounds what no M sees.
	 */
	QUIET_NS = 10000000,
	/*
	 * ns, pollspin.c: for which the poller looks before it sleeps, at most.  From: measured, echo with one
	 * request outstanding (20 us: less than twice the rate, 50: three times): a client's own two wake-ups
	 * of 10 us, and as long again for what it does.
	 */
	POLL_SPIN_MAX = 60000,
	/*
	 * ns, pollspin.c: a wait that is longer counts as this; where nearly all are nothing is tried.  From:
	 * POLL_SPIN_MAX and the longest usual wake-up.
	 */
	SPIN_FAR = 120000,
	/* waits, pollspin.c: over which the mean is taken.  From: SERVICE_MEAN. */
	SPIN_MEAN = 8,
	/*
	 * waits, pollspin.c: that go the other way in a row.  From: SPIN_MEAN, twice: what the first of them met
	 * counts for little.
	 */
	SPIN_TRIAL = 16,
	/*
	 * waits, pollspin.c: before the first trial.  From: SPIN_TRIAL: a server is judged after its first hundred
	 * requests.
	 */
	SPIN_TRIAL_FIRST = 64,
	/*
	 * waits, pollspin.c: between two trials at most.  From: a trial in vain costs SPIN_TRIAL times
	 * POLL_SPIN_MAX: 1 us a wait.
	 */
	SPIN_TRIAL_LAST = 1024,
};

/* ---- waits in the kernel --------------------------------------------------------------------- */

enum {
	/*
	 * waits, rest.c: with nothing else to do, before a G rests first.  From: beginning and ending it are
	 * three system calls and perhaps a switch, about 10 us; each rest saves about one.
	 */
	REST_ROW = 16,
	/*
	 * waits, rest.c: the same, at most, when resting did not last.  From: REST_ROW: the cost is a hundredth
	 * of it.
	 */
	REST_ROW_MAX = 4096,
	/*
	 * times, rest.c: as long as before it, a rest must last to have been worth it.  From: REST_ROW times
	 * so many waits save 64 us, and the rest costs 10.
	 */
	REST_WORTH = 4,
	/*
	 * ns, epollwait.c: a wait that took longer slept, and the next will: it is not preceded by a try.
	 * From: less than the two switches of a sleep, more than a call that finds something.
	 */
	SLEPT_NS = 3000,
};

/* ---- sysmon: how often it looks -------------------------------------------------------------- */

enum {
	/*
	 * us, sysmon.c: from a look that took a P or woke one to the next; twice as long after each that did
	 * not.  From: wakeslice's default: no other woken G is looked for sooner.
	 */
	TICK_FIRST = 100,
	/* us, sysmon.c: at most.  From: Go. */
	TICK_MAX = 10000,
	/*
	 * us, insyscall.c blocked.c: between two looks, at most, while a G waits behind a call that may be
	 * blocked.  From: 500 looks a second, of 10 us each, are half of what SYSMON_PART allows.
	 */
	TICK_WAITS = 2000,
	/*
	 * one in, sysmonsleep.c: part of a CPU that sysmon may use.  From: what no program is to notice: 1 %, which is
	 * within the noise of a figure.
	 */
	SYSMON_PART = 100,
	/*
	 * one in, sysmonsleep.c: the same while a woken G, or a timer, waits beside a P that computes for
	 * long.  From: a look takes 10 us, and wakeslice is 100: one look in each; with one in 50 a thread that
	 * sleeps 1 ms beside one that computes was late by 1 ms.
	 */
	SYSMON_PART_URGENT = 10,
	/*
	 * ns, sysmonsleep.c findrunnable.c: that sysmon sleeps at most when it used more than its part and its next
	 * look may help (next_may_help()); and after which a P that computes looks at the descriptors itself.
	 * From: the bound on what waits beside an idle P.
	 */
	SYSMON_DEBT = 1000000,
	/* ns, sysmonsleep.c retake.c: the same where neither is so.  From: TICK_MAX, its rarest look. */
	SYSMON_DEBT_MOST = 10000000,
	/*
	 * one in, sysmonsleep.c: of the time since a look helped, for which sysmon does not look for more, TICK_MAX at
	 * most.  From: an event in 20 ms is noticed within SYSMON_DEBT, as without such a rest, and what comes after a
	 * longer silence is late by little of it.
	 */
	REST_PART = 16,
	/*
	 * Ps, sysmonsleep.c: for each so many that part is allowed once more.  From: together under 1 % of
	 * their CPUs.
	 */
	SYSMON_PS = 16,
	/*
	 * ns of CPU, sysmonsleep.c: that sysmon may use at once after it used none.  From: 20 looks of 10 us:
	 * what begins to compute, to block or to wait is noticed in less.
	 */
	SYSMON_BURST = 200000,
	/*
	 * Ps, sysmonsleep.c: of those that compute longest, whose Ms' clocks are read before a sleep.  From: a
	 * look asks one of them to give way; others if that one cannot.  No more, for the cost of a sleep must
	 * not grow with the number of Ps.
	 */
	SLEEP_NOTES = 4,
	/*
	 * ns, pstart.c aside.c: for which a P waits for an M that is made, before sysmon helps; and a G,
	 * before others have its turn.  From: five times the 0.2 ms that making one takes.
	 */
	STARTING_LONG = 1000000,
	/* ns, pstart.c: after the kernel gave no thread, until the next try.  From: as STARTING_LONG. */
	REFUSED_FIRST = 1000000,
	/*
	 * ns, pstart.c: the same at most; it doubles.  From: a try takes 30 us: a thousandth of a CPU is 30 ms,
	 * and the next power.
	 */
	REFUSED_MOST = 32000000,
	/*
	 * ns, sysmon.c: timer slack of its sleeps; the kernel's usual 50 us is half of TICK_FIRST.  From: a
	 * hundredth of TICK_FIRST.
	 */
	SYSMON_SLACK = 1000,
	/*
	 * ns, sysmon.c procfs.c: CPU slice of sysmon and of its /proc reader, the least that the kernel has.
	 * From: d1230a2 (woken among spinners they waited for milliseconds).
	 */
	SYSMON_CPU_SLICE = 100000,
	/* ns, sysmonsleep.c: between two looks, at least, while some P computes.  From: 910108e. */
	TICK_GAP_MIN = 50000,
	/* ns, sysmonsleep.c: only a sleep of this length proves that an M ran meanwhile.  From: 58ff8f6. */
	SLEPT_MIN = 20000,
	/* ns, sysmonsleep.c: of such a sleep that two context switches take, usually at most.  From: 58ff8f6. */
	SWITCHES = 10000,
	/* one in, sysmonsleep.c: parts of such a sleep; the M ran in all but one of them.  From: 910108e. */
	SLEPT_PARTS = 32,
	/*
	 * ns, retake.c: with chaos sysmon looks again within this.  From: four wakeslices: before, within and
	 * after what it is to disturb.
	 */
	CHAOS_TICK = 400000,
	/*
	 * ns, mnames.c: between two looks at the names of Ms; an M with one G for longer is called by it.
	 * From: what top -H shows is a second old or more: a tenth of that.
	 */
	NAMES_EVERY = 100000000,
};

/* ---- sysmon: when a G gives way -------------------------------------------------------------- */

enum {
	/*
	 * ns, insyscall.c sysmon.c: a P is left to a system call for so long when nothing waits, and the
	 * descriptors are polled after so long without an M that does.  From: Go, for both.
	 */
	SYSCALL_SLICE = 10000000,
	/*
	 * calls, entersyscall.c: that may turn out so before a G keeps its P again.  From: the least that
	 * outlasts one exception.
	 */
	HANDS_OVER = 2,
	/*
	 * ns, alarm.c: an alarm is set no earlier than this before something is due.  From: TICK_MAX: sysmon,
	 * which must look that often, sees what is due later; and of the alarms that are set few are taken
	 * back.
	 */
	ALARM_FAR = 10000000,
	/* ns, alarm.c: an alarm is set for no sooner.  From: the call that sets it takes 0.3 us. */
	ALARM_SOONEST = 2000,
	/*
	 * one in, alarm.c: of the signals that the program may queue, so many may be alarms.  From: what no
	 * program is to notice: as SYSMON_PART.
	 */
	ALARM_PART = 100,
	/*
	 * ns, preempt.c retake.c alarm.c: between two requests to a G that could not give way.  From: a
	 * request costs a look and a signal, 10 us: SYSMON_PART of it.
	 */
	PREEMPT_RETRY = 1000000,
	/* ns, preempt.c retake.c alarm.c: the same while a woken G waits.  From: the option wakeslice's default. */
	PREEMPT_RETRY_WAKEUP = 100000,
	/*
	 * ns, preempt.c: after its slice, from which the program counter no longer counts.  From: two slices
	 * more: a G that is there for three holds no lock of libc but computes.
	 */
	PREEMPT_FORCE = 20000000,
	/*
	 * ns, retake.c: for which a P counts as CPU-bound after its G last computed for wakeslice.
	 * From: dcceb65; a P that serves is judged over the same time.
	 */
	CPUBOUND_NS = 50000000,
	/*
	 * ns, retake.c: the same, and between two looks, for a P that was not CPU-bound for long; doubled each
	 * time it is again.  From: 02a9fef (a busy echo server, procs=1: 3,500 looks a second, then 1,300).
	 */
	CPUBOUND_FIRST_NS = 1500000,
	/*
	 * ns, retake.c: a G that was asked to give way to one that it woke goes on twice as long next time, up
	 * to half of this; and for a wakeslice again after this long without.  From: a preemption costs 10 us
	 * with sysmon's look: 1 % of half of it.
	 */
	NEXT_REST = 2000000,
	/*
	 * times, retake.c: that the time doubles after which a G is seen to compute, where it has given way each
	 * time.  From: wakeslice doubled so often is longer than CPUBOUND_FIRST_NS, the usual time between looks.
	 */
	WATCH_MISSES = 6,
	/*
	 * one in, alarm.c insyscall.c retake.c: part of a wakeslice of CPU time at one schedtick that says
	 * CPU-bound; and of the time that it then counts as that, before it is asked again.  From: what computed for so
	 * long will do so for as long again.
	 */
	CPUBOUND_PART = 2,
	/*
	 * schedules, retake.c: a P with so many between two looks is I/O-bound.  From: SERVICE_MEAN: the mean
	 * of its Gs is known then, and one that computes for wakeslices makes one.
	 */
	IOBOUND_SCHEDS = 8,
	/*
	 * wakeslices, retake.c: for which a woken G waits where all Gs run for long.  From: 148feba (MariaDB,
	 * 16 connections: 0.87 of native, then 1.15 to 1.3).
	 */
	DRAINING_WAKESLICES = 10,
};

/* ---- sysmon: Ms that block unseen ------------------------------------------------------------ */

enum {
	/* ns, blocked.c: between two looks.  From: below BLOCKED_GAP_SUSPECT, so that no tick is lost. */
	BLOCKED_GAP_MIN = 80000,
	/*
	 * us, blocked.c insyscall.c: until the next look when an M stands still and work waits.  From:
	 * TICK_FIRST.
	 */
	BLOCKED_GAP_SUSPECT = 100,
	/* us, blocked.c: when work waits; with BLOCKED_GAP_SUSPECT less than a millisecond.  From: ecc8456. */
	BLOCKED_GAP_WORK = 800,
	/* ns, blocked.c: after which no work means that none will come.  From: SYSCALL_SLICE. */
	WORK_LASTS = 10000000,
	/* ns, blocked.c: an M keeps its P when no work waits.  From: SYSCALL_SLICE. */
	KEEP_P = 10000000,
	/*
	 * ns, blocked.c insyscall.c: for which an M must stand still longer each time it was not blocked.
	 * From: 02a9fef (1,600 questions to /proc a second, then 300).
	 */
	MISS_NS = 100000,
	/* times, blocked.c insyscall.c: that count for MISS_NS, at most.  From: as MISS_NS. */
	MISSES_MAX = 4,
	/*
	 * one in, blocked.c: parts of the time since the last look; an M that ran in fewer may have blocked.
	 * From: the parts of BLOCKED_GAP_SUSPECT in BLOCKED_GAP_WORK.
	 */
	BLOCKED_PARTS = 8,
	/* ns, blocked.c: until an M that computes without a P is signalled once more.  From: PREEMPT_RETRY. */
	PROD_AGAIN = 1000000,
	/* signals, blocked.c: after which the program counter no longer counts.  From: PREEMPT_FORCE. */
	PRODS_FORCE = 20,
};

/* ---- what is kept in reserve ----------------------------------------------------------------- */

enum {
	/*
	 * s, sysmon.c: for which an idle M is kept while there are at most REAP_MANY.  From: making one takes
	 * 0.2 ms, and 64 that are made every 10 s a thousandth of a CPU.
	 */
	REAP_AFTER = 10,
	/*
	 * Ms, sysmon.c: idle ones; with more of them each is kept for a shorter time.  From: ae931ae
	 * (a broadcast to thousands: 53 s, then 27; natively 21).
	 */
	REAP_MANY = 64,
	/* ns, sysmon.c: between two looks for idle Ms to reap.  From: a hundredth of REAP_AFTER. */
	REAP_EVERY = 100000000,
	/*
	 * Ms, m.c aside.c home.c: so near to maxthreads no M is made in reserve.  From: with 16 Ps each can be
	 * handed over once more.
	 */
	SPARE_BELOW = 16,
	/* Gs, gfree.c: a P with so many free ones of a class moves some to the global list ...  From: Go. */
	GFREE_HIGH = 64,
	/* Gs, gfree.c: ... down to this.  From: Go's half, and the one that is being freed. */
	GFREE_LOW = 31,
	/* Gs, gfree.c: a P without free ones takes so many from the global list.  From: Go. */
	GFREE_REFILL = 32,
	/*
	 * Gs, gfree.c: of rare shapes, looked through for one that fits.  From: so many looks take up to 6 us,
	 * a new stack (mmap, its first fault, munmap) as long.
	 */
	OTHER_LOOKS = 64,
	/*
	 * ns, scavenge.c: between two looks for memory that no thread needed.  From: what a user sees as at
	 * once in top, whose interval is longer.
	 */
	SCAVENGE_PERIOD = 1000000000,
	/*
	 * Gs, scavenge.c stack.c: whose memory is given back at a time, for libc's locks are held.  From: a
	 * microsecond each: less than WAITS_LONG.
	 */
	SCAVENGE_BATCH = 64,
	/* Gs, scavenge.c: of a class, that keep their thread block.  From: GFREE_HIGH, a P's own. */
	KEEP_GS = 64,
	/*
	 * times, scavenge.c: as long as it worked the spawner rests: a quarter of a CPU at most.  From: Go's
	 * share for its collector.
	 */
	SCAVENGE_REST = 3,
};

/* ---- how long one thread waits for another --------------------------------------------------- */

enum {
	/*
	 * pauses, base/moment.h procfs.c: before a yield.  From: a wake-up takes 10 us, and so many pauses
	 * take 10 to 20: what is waited for is on a CPU or on its way to one, and then a yield costs more than
	 * the rest of the wait.
	 */
	MOMENT_PAUSES = 512,
	/*
	 * yields, base/moment.c sigring.c dlopen.c: before a sleep.  From: a yield with nobody to yield to
	 * takes 0.3 us, a sleep 5 us of CPU and more.
	 */
	MOMENT_YIELDS = 20,
	/*
	 * ns, base/moment.c: the first sleep.  From: a kernel thread is made, or has ended, in 200 us; a sleep
	 * in less costs more CPU than it spares.
	 */
	MOMENT_SLEEP_NS = 50000,
	/*
	 * one in, base/moment.c: of what it slept so far is the next sleep.  From: what a wait may be longer
	 * by for want of a look, where the kernel's own delays are of the wait's size.
	 */
	MOMENT_LATE = 8,
	/* ns, base/moment.c: no longer than this.  From: a sleep costs 5 us: half of SYSMON_PART. */
	MOMENT_SLEEP_MOST = 1000000,
	/* ns, single.c: until the kernel has forgotten an ended thread, at most.  From: three of its slices. */
	GONE_NS = 10000000,
	/* tries, lock.c: of a runtime lock before the thread sleeps.  From: Go. */
	LOCK_SPINS = 4,
	/* pauses, lock.c: between two of them.  From: Go. */
	LOCK_PAUSES = 30,
	/*
	 * ns, lock.c: first sleep where the kernel has no membarrier and an unlock may be missed.  From: such
	 * a sleep costs 5 us: half of SYSMON_PART.
	 */
	LOCK_MISSED = 1000000,
	/*
	 * ns, lock.c: the last; each is twice the one before, for thousands may wait (9fe9d7b).  From: the
	 * last power below STANDSTILL_NS.
	 */
	LOCK_MISSED_MAX = 512000000,
};

enum {
	/*
	 * ns, aside.c onlymain.c pstart.c fdtable.c sigkeepout.c sigretarget.c sigring.c sigrun.c kill.c:
	 * for which a thread waits for what comes by itself, a CPU provided.  After that it goes on, or the
	 * user is told: nothing here is worth a hang.  From: what a user takes for a standstill.
	 */
	STANDSTILL_NS = 1000000000,
	/*
	 * ns, aside.c: that a G waits at most until there is another M: 10 s.  From: seen, 50 busy threads a
	 * CPU: a new thread has its first turn after seconds.  No program is to wait for ever.
	 */
	ASIDE_NS = 10000000000,
};

/* ---- the shim: locks ------------------------------------------------------------------------- */

enum {
	/*
	 * tries, mutex_word.c: of a mutex that is held, before its thread queues.  From: with MUTEX_PAUSES as
	 * long as a wake-up takes, 6 to 10 us.
	 */
	MUTEX_SPINS = 10,
	/* pauses, mutex_word.c: between two of them.  From: Go. */
	MUTEX_PAUSES = 30,
	/*
	 * ns, mutex_word.c: a slow path this soon after another of its slot is a crowd, and queues at once.
	 * From: twice what it takes to hand a lock and its line to another CPU and back, 250 ns.
	 */
	SPIN_REST_NS = 500,
	/*
	 * wins, mutex_word.c: of spinning over losses, that count at most.  From: SERVICE_MEAN: as much
	 * history.
	 */
	LUCK_MAX = 8,
	/*
	 * one in, mutex_word.c: slow paths that spin where it never won lately.  From: a spin in vain takes 10
	 * us: 0.3 us a slow path, as much as its park.
	 */
	LUCK_TRIES = 32,
	/*
	 * yields, mutex_word.c: to the holder of a shared mutex, before the kernel is asked to wait.  From:
	 * LOCK_SPINS.
	 */
	SHARED_YIELDS = 4,
	/*
	 * tries, spin.c: of a spin lock between two yields, for its holder may wait for this P.  From: 2 to 3
	 * us; a switch costs 0.3, and the lines of the other G up to 10 (a database's connections).
	 */
	SPIN_SPINS = 100,
	/*
	 * pauses, rwslot.c rwlock.c: of a lock whose readers stand in lanes: for which a writer waits for them,
	 * and they for it.  From: a park and a wake-up take about 300 ns, a pause up to 25.
	 */
	RWLOCK_PAUSES = 16,
	/*
	 * one in, rwslot.c: of the lanes were read in since the last writer, at least, or the lock loses them.
	 * From: a look into a lane costs the writer a cache line; a read in one saves its reader two, that of
	 * the word when it comes and when it leaves.
	 */
	RWLOCK_READ_IN = 2,
	/* one in, rwslot.c: writers that look into it.  From: the look costs as much as another writer. */
	RWLOCK_TURNS = 16,
};

/* ---- the shim: waits without a waker --------------------------------------------------------- */

enum {
	/*
	 * ns, fdlocal.c: until a writer at a full local socket looks first whether its half was shut down.
	 * From: five slices: a peer that lives has read by then.
	 */
	LOCAL_RETRY_NS = 50000000,
	/*
	 * times, fdlocal.c: each look that much later than the one before.  From: an idle process is silent:
	 * four looks in the first half minute, two in the hour after it.
	 */
	LOCAL_RETRY_RARER = 8,
	/* ns, stdio.c: until a waiter for a FILE tries again: libc's own functions wake none.  From: SYSCALL_SLICE. */
	FILE_RETRY_NS = 10000000,
	/*
	 * ns, nosigthread.c: between two looks for signals where there is no signal thread.  From: wakeslice's
	 * default.
	 */
	ARM_EVERY = 100000,
	/*
	 * ns, sigroute.c: between two kicks of threads that have not taken their signals, as the kernel
	 * queues signal 32 as often as it is sent.  From: PREEMPT_RETRY.
	 */
	REKICK_NS = 1000000,
	/* ns, cputimer.c: between two looks at a timer on a thread's CPU time.  From: the kernel's tick at 250 Hz. */
	CPUTIMER_TICK = 4000000,
	/*
	 * ns, cputimer.c: the same of a thread that does not run; doubled up to this.  From: 16 looks a
	 * second: as few as a process that is called idle makes.
	 */
	CPUTIMER_PAUSE = 64000000,
	/* ns, sigring.c: of each of them, unless it is woken.  From: SYSCALL_SLICE. */
	FLUSH_SLEEP_NS = 10000000,
	/*
	 * sleeps, sigring.c: of a thread that ends, for signals of others.  From: two rounds of the signal
	 * thread, as sigroute_catch_up().
	 */
	FLUSH_OTHERS = 2,
	/* ns, sigring.c: of each of them, unless it is woken.  From: more than the wake-up of the signal thread. */
	FLUSH_OTHERS_NS = 1000000,
	/*
	 * ns, sigring.c: so long: more than a look for what is pending takes.  From: MOMENT_SLEEP_NS, and a
	 * wake-up on a busy machine.
	 */
	CHAOS_TRANSIT_NS = 2000000,
};

#endif
