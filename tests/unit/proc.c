/*
 * proc: what an M looks at and in which order, the 61st tick, and a number of Ps that changes.
 */
#include "tests/unit/world.h"

static void two(void)
{
	world(2);
}

TestSuite(proc, .init = two, .timeout = 60);

/*
 * schedule() up to the choice: what would run, by number; 0: nothing.  execute() counts the tick.
 */
static unsigned choose(void)
{
	bool inherit;
	struct g *gp = findwork(&m0, &inherit);

	if (m0.spinning) {
		m0.spinning = false;
		fetch_sub_seqcst(&sched.nmspinning, 1);
	}
	if (gp && !inherit)
		fetch_add_seqcst(&allp[0]->schedtick, 1);
	return gp ? (unsigned)gp->shim.goid : 0;
}

static void at_tick(uint32_t tick)
{
	store_seqcst(&allp[0]->schedtick, tick);
}

Test(proc, local_before_global)
{
	struct g *gs = make_gs(2);

	at_tick(1);
	globrunqput(&gs[0], false);
	runqput(allp[0], &gs[1], false);
	cr_expect_eq(choose(), 2);
	cr_expect_eq(choose(), 1);
	cr_expect_eq(choose(), 0);
}

Test(proc, the_61st_tick_takes_one_from_the_global_queue)
{
	struct g *gs = make_gs(20);

	for (int i = 0; i < 10; i++)
		globrunqput(&gs[i], false);
	for (int i = 10; i < 20; i++)
		runqput(allp[0], &gs[i], false);
	at_tick(61);
	cr_expect_eq(choose(), 1);
	cr_expect_eq(sched.runq.size, 9, "one, not a batch");
	cr_expect_eq(runqlen(allp[0]), 10);
	cr_expect_eq(choose(), 11, "and then local again");
}

Test(proc, a_busy_queue_cannot_starve_the_global_one)
{
	struct g *gs = make_gs(2);
	unsigned looks = 0;

	at_tick(1);
	globrunqput(&gs[0], false);
	do {
		runqput(allp[0], &gs[1], false);
		looks++;
	} while (choose() != 1 && looks < 1000);
	cr_expect_eq(looks, 61);
}

Test(proc, where_gs_compute_the_global_queue_is_left_to_who_has_less)
{
	struct g *gs = make_gs(4);

	weft_opt.slice = 3600 * 1000000000ULL;
	store_seqcst(&allp[0]->mon.cpubound, true);
	globrunqput(&gs[0], false);
	runqput(allp[0], &gs[1], false);
	runqput(allp[0], &gs[2], false);
	at_tick(61);
	cr_expect_eq(choose(), 2);
	runqput(allp[0], &gs[3], false);
	/* Nobody took it for a long time: nobody will. */
	weft_opt.slice = 0;
	at_tick(122);
	cr_expect_eq(choose(), 1);
	cr_expect_eq(choose(), 3);
}

Test(proc, how_long_they_run_is_the_mean_of_what_was_worked_off)
{
	struct g *gs = make_gs(2);
	struct p *pp = allp[0];

	at_tick(1);
	for (int round = 0; round < 40; round++) {
		p_batch_begins(pp, true);
		for (int i = 0; i < 2; i++) {
			runqput(pp, &gs[i], false);
			choose();
			fetch_add_seqcst(&pp->runs, 1);
		}
		pp->hint.batchwhen -= 2 * 50000; /* ns that both took */
		cr_assert_eq(choose(), 0);
		cr_assert_eq(pp->hint.batchwhen, 0);
	}
	/* 7/8 to the power of 40 is missing, and what the test itself takes is added. */
	cr_expect_gt(load_seqcst(&pp->hint.meanservice), 49000);
	cr_expect_leq(load_seqcst(&pp->hint.meanservice), 2 * 50000);
}

Test(proc, a_chain_of_runnext_is_one_slice)
{
	struct g *gs = make_gs(1);

	at_tick(7);
	for (int i = 0; i < 1000; i++) {
		runqput(allp[0], &gs[0], true);
		cr_assert_eq(choose(), 1);
	}
	cr_expect_eq(load_seqcst(&allp[0]->schedtick), 7);
}

Test(proc, the_global_batch_fills_an_empty_local_queue)
{
	struct g *gs = make_gs(10);

	at_tick(1);
	for (int i = 0; i < 10; i++)
		globrunqput(&gs[i], false);
	cr_expect_eq(choose(), 1);
	cr_expect_eq(runqlen(allp[0]), 5); /* 10 / 2 Ps + 1, of which one runs */
	cr_expect_eq(sched.runq.size, 4);
}

Test(proc, an_m_without_work_steals_and_counts_as_spinning)
{
	struct g *gs = make_gs(4), *gp;
	bool inherit;

	at_tick(1);
	store_seqcst(&allp[1]->status, Prunning);
	sched.pidle = NULL;
	store_seqcst(&sched.npidle, 0);
	for (int i = 0; i < 4; i++)
		runqput(allp[1], &gs[i], false);
	gp = findwork(&m0, &inherit);
	cr_expect_eq(gp, &gs[1]);
	cr_expect(m0.spinning);
	cr_expect_eq(load_seqcst(&sched.nmspinning), 1);
	resetspinning(&m0);
	cr_expect_not(m0.spinning);
	cr_expect_eq(load_seqcst(&sched.nmspinning), 0);
}

static struct g *wake_arg(void *arg)
{
	return arg;
}

/* needspinning: it would have woken another M, but no P is idle. */
Test(proc, short_gs_that_timers_ready_together_wake_no_other_m)
{
	struct g *gs = make_gs(8);
	struct timer ts[4] = {0};
	bool ran = false;

	at_tick(1);
	sched.pidle = NULL;
	store_seqcst(&sched.npidle, 0);
	for (int i = 0; i < 4; i++) {
		store_relaxed(&gs[i].shim.status, Gwaiting);
		ts[i].fn = wake_arg;
		ts[i].arg = &gs[i];
		timer_add(&ts[i], 1);
	}
	setspinning(&m0);
	timers_check(allp[0], 2, &ran);
	cr_assert(ran);
	cr_assert_eq(runqlen(allp[0]), 4);
	resetspinning(&m0);
	cr_expect_eq(load_seqcst(&sched.needspinning), 0);
	while (choose())
		;
	for (int i = 4; i < 8; i++)
		runqput(allp[0], &gs[i], false);
	setspinning(&m0);
	resetspinning(&m0);
	cr_expect_eq(load_seqcst(&sched.needspinning), 1, "what others queued may be long");
}

/* A P whose M is being made has nobody, and perhaps work. */
Test(proc, a_p_in_flight_is_stolen_from)
{
	struct g *gs = make_gs(4);

	at_tick(1);
	for (int i = 0; i < 4; i++)
		runqput(allp[1], &gs[i], false);
	cr_expect_neq(choose(), 0);
}

Test(proc, spinners_are_at_most_half_of_the_busy)
{
	struct g *gs = make_gs(1);
	bool inherit;

	/* Two Ps, both busy; one M spins already: 2 * 1 < 2 is false, so this one does not look. */
	at_tick(1);
	store_seqcst(&allp[1]->status, Prunning);
	sched.pidle = NULL;
	store_seqcst(&sched.npidle, 0);
	store_seqcst(&sched.nmspinning, 1);
	runqput(allp[1], &gs[0], false);
	cr_expect_null(findwork(&m0, &inherit));
	cr_expect_not(m0.spinning);
	/* None spins: 0 < 2. */
	store_seqcst(&sched.nmspinning, 0);
	cr_expect_eq(findwork(&m0, &inherit), &gs[0]);
	cr_expect(m0.spinning);
}

/* ---- waking ---- */

Test(proc, one_starter_at_a_time)
{
	wakep();
	cr_expect_eq(refused_threads, 1, "an idle P, nobody spins: an M is started");
	cr_expect_eq(load_seqcst(&sched.nmspinning), 0, "the refused start is taken back");
	cr_expect_eq(load_seqcst(&sched.npidle), 1, "and its P is idle again");
	store_seqcst(&sched.nmspinning, 1);
	wakep();
	cr_expect_eq(refused_threads, 1, "a spinner will find it");
}

Test(proc, no_idle_p_leaves_a_note_for_the_next_to_go_idle)
{
	sched.pidle = NULL;
	store_seqcst(&sched.npidle, 0);
	wakep();
	cr_expect_eq(refused_threads, 0);
	cr_expect_eq(load_seqcst(&sched.needspinning), 1);
	cr_expect_eq(load_seqcst(&sched.nmspinning), 0);
}

/* ---- a number of Ps that changes ---- */

Test(proc, idle_ps_are_last_in_first_out)
{
	struct p *first, *second;

	cr_assert_eq(procresize(4, os_ncpu()), 0);
	lock(&sched.lock);
	first = pidleget();
	second = pidleget();
	pidleput(first);
	pidleput(second);
	cr_expect_eq(pidleget(), second);
	cr_expect_eq(pidleget(), first);
	cr_expect_eq(load_seqcst(&sched.npidle), 1);
	unlock(&sched.lock);
}

Test(proc, growing_makes_idle_ps)
{
	cr_assert_eq(procresize(8, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&gomaxprocs), 8);
	cr_expect_eq(load_seqcst(&sched.npidle), 7);
	for (int i = 0; i < 8; i++)
		cr_expect_eq(allp[i]->id, i);
	cr_expect_null(allp[8]);
}

Test(proc, a_p_between_two_ms_is_listed_by_who_has_it)
{
	struct p *pp;

	lock(&sched.lock);
	pp = pidleget();
	unlock(&sched.lock);
	cr_assert_eq(pp, allp[1]);
	cr_assert_eq(procresize(1, 2), 0);
	cr_assert_eq(procresize(2, 2), 0);
	cr_expect_eq(load_seqcst(&sched.npidle), 0);
	lock(&sched.lock);
	pidleput(pp);
	cr_expect_eq(load_seqcst(&sched.npidle), 1);
	cr_expect_eq(pidleget(), pp);
	cr_expect_null(pidleget());
	unlock(&sched.lock);
}

Test(proc, a_dying_ps_queue_goes_to_the_head_of_the_global_one)
{
	struct g *gs = make_gs(5);

	globrunqput(&gs[4], false);
	for (int i = 0; i < 3; i++)
		runqput(allp[1], &gs[i], false);
	runqput(allp[1], &gs[3], true);
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&allp[1]->status), Pdead);
	cr_expect_eq(sched.runq.size, 5);
	cr_expect_eq(next_global(), 4); /* its runnext */
	cr_expect_eq(next_global(), 1);
	cr_expect_eq(next_global(), 2);
	cr_expect_eq(next_global(), 3);
	cr_expect_eq(next_global(), 5);
	cr_expect_eq(load_seqcst(&sched.npidle), 0);
}

static struct g *nothing(void *arg)
{
	return arg;
}

/* Of two Ps, the caller's and the idle one change places. */
static void run_p1(void)
{
	lock(&sched.lock);
	cr_assert_eq(pidleget(), allp[1]);
	pidleput(releasep(&m0));
	unlock(&sched.lock);
	acquirep(&m0, allp[1]);
}

Test(proc, a_dying_ps_timers_move)
{
	struct timer t[3] = { { .fn = nothing }, { .fn = nothing }, { .fn = nothing } };
	uint64_t far = nanotime() + 1000000000000;

	run_p1();
	for (int i = 0; i < 3; i++)
		timer_add(&t[i], far + (uint64_t)i);
	cr_expect_eq(allp[1]->timers.n, 3);
	lock(&sched.lock);
	cr_assert_eq(pidleget(), allp[0]);
	pidleput(releasep(&m0));
	unlock(&sched.lock);
	acquirep(&m0, allp[0]);
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	cr_expect_eq(allp[1]->timers.n, 0);
	cr_expect_eq(load_seqcst(&allp[1]->timer0), 0);
	cr_expect_eq(allp[0]->timers.n, 3);
	cr_expect_eq(load_seqcst(&allp[0]->timer0), far);
	for (int i = 0; i < 3; i++)
		cr_expect(timer_del(&t[i]), "timer %d can still be deleted", i);
}

Test(proc, a_running_p_retires_when_its_m_next_schedules)
{
	struct g *gs = make_gs(1);

	run_p1();
	runqput(allp[1], &gs[0], false);
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&allp[1]->status), Prunning, "not taken away from under its M");
	cr_expect(p_retire_if_dying(&m0));
	cr_expect_eq(load_seqcst(&allp[1]->status), Pdead);
	cr_expect_null(m0.p);
	cr_expect_eq(next_global(), 1);
}

Test(proc, a_dead_p_comes_back)
{
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	cr_assert_eq(procresize(3, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&allp[1]->status), Pidle);
	cr_expect_eq(load_seqcst(&sched.npidle), 2);
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&sched.npidle), 0);
}

Test(proc, the_number_of_ps_has_bounds)
{
	cr_assert_eq(procresize(0, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&gomaxprocs), 1);
	cr_assert_eq(procresize(100000, os_ncpu()), 0);
	cr_expect_eq(load_seqcst(&gomaxprocs), MAXPROCS);
	cr_assert_eq(procresize(1, os_ncpu()), 0);
	for (int i = 1; i < MAXPROCS; i++)
		cr_assert_eq(load_seqcst(&allp[i]->status), Pdead, "P%d", i);
	cr_expect_eq(load_seqcst(&sched.npidle), 0);
}

/* sysmon knows the time from before its other looks: a P may have come to pstart since. */
Test(proc, a_p_that_came_since_sysmons_time_waits_as_long_as_others)
{
	struct g *gs = make_gs(1);
	struct m *own = calloc(1, sizeof(*own));
	uint64_t now = nanotime();
	struct p *pp;

	gs[0].lockedm = own;
	lock(&sched.lock);
	globrunqput(&gs[0], false);
	pp = pidleget();
	pp->startsince = now + 1;
	sched.pstart = pp;
	store_seqcst(&sched.npstart, 1);
	unlock(&sched.lock);
	pstart_look(now);
	cr_expect_null(own->nextp);
	cr_expect_eq(sched.pstart, pp);
	pstart_look(now + 1 + STARTING_LONG);
	cr_expect_eq(own->nextp, pp);
	cr_expect_null(sched.pstart);
}

/* ---- pollspin.c ---- */

/* What each wait that sleeps finds; one that looks finds one event. */
static unsigned found = 1;

/* n waits of the poller, each until what comes so long after it began; how many of them looked. */
static unsigned waits(unsigned n, uint64_t sleeping, uint64_t looking)
{
	static uint64_t now = 1000000000;
	unsigned looked = 0;

	weft_opt.spin = 5000;
	for (unsigned i = 0; i < n; i++) {
		bool looks = pollspin_begins(now) != 0;

		looked += looks;
		/* One that looks for too long sleeps after all. */
		now += !looks ? sleeping :
		       looking <= POLL_SPIN_MAX ? looking : looking + (sleeping - looking % sleeping);
		pollspin_ends(now, looks ? 1 : found);
	}
	return looked;
}

Test(proc, a_poller_that_is_asked_seldom_never_looks)
{
	pollspin_fork_child();
	cr_expect_eq(waits(10000, 1000000, 1000000), 0);
}

Test(proc, a_poller_looks_for_what_comes_sooner_than_it_would_wake_up)
{
	pollspin_fork_child();
	waits(200, 60000, 20000);
	cr_expect_gt(waits(10000, 60000, 20000), 9500);
	/* Then nothing comes any more: it stops within a few waits. */
	cr_expect_lt(waits(10000, 1000000, 1000000), 50);
}

/* Where no CPU is idle a wake-up takes nothing, and looking keeps the other side from running. */
Test(proc, a_poller_does_not_look_where_sleeping_is_no_slower)
{
	pollspin_fork_child();
	waits(2000, 15000, 25000);
	cr_expect_lt(waits(10000, 15000, 25000), 400);
	cr_expect_lt(waits(10000, 25000, 20000), 400, "nor where it gains less than it takes");
}

/* Of a busy server: to sleep takes longer, and for each event less long. */
Test(proc, a_poller_does_not_look_where_one_that_sleeps_finds_many)
{
	pollspin_fork_child();
	found = 4;
	waits(2000, 12000, 5000);
	cr_expect_lt(waits(10000, 12000, 5000), 400);
}

/* What a timer or a waker ended tells nothing. */
Test(proc, a_poller_judges_by_events_alone)
{
	uint64_t now = 5000000000;

	pollspin_fork_child();
	weft_opt.spin = 5000;
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(pollspin_begins(now), 0);
		pollspin_ends(now += 20000, 0);
	}
}
