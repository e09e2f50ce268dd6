/*
 * runq: the rules of the local ring, of stealing, of overflow and of batches from the global queue,
 * on the runtime's own objects; and the ring under real threads, where no G may be lost or run
 * twice.
 */
#include "tests/unit/world.h"

#include <pthread.h>

static void two(void)
{
	world(2);
}

TestSuite(runq, .init = two, .timeout = 60);

Test(runq, the_ring_is_first_in_first_out)
{
	struct g *gs = make_gs(10);

	for (int i = 0; i < 10; i++)
		runqput(allp[0], &gs[i], false);
	cr_expect_eq(runqlen(allp[0]), 10);
	for (unsigned i = 1; i <= 10; i++)
		cr_expect_eq(next_of(allp[0]), i);
	cr_expect_eq(next_of(allp[0]), 0);
	cr_expect(runqempty(allp[0]));
}

Test(runq, runnext_goes_first_and_inherits_the_slice)
{
	struct g *gs = make_gs(2), *gp;
	bool inherit = false;

	runqput(allp[0], &gs[0], false);
	runqput(allp[0], &gs[1], true);
	cr_expect_not(runqempty(allp[0]));
	gp = runqget(allp[0], &inherit);
	cr_expect_eq(gp, &gs[1]);
	cr_expect(inherit);
	gp = runqget(allp[0], &inherit);
	cr_expect_eq(gp, &gs[0]);
	cr_expect_not(inherit);
}

Test(runq, a_displaced_runnext_goes_to_the_tail)
{
	struct g *gs = make_gs(4);

	runqput(allp[0], &gs[0], true);
	runqput(allp[0], &gs[1], false);
	runqput(allp[0], &gs[2], true); /* kicks 1 behind 2 */
	cr_expect_eq(next_of(allp[0]), 3);
	cr_expect_eq(next_of(allp[0]), 2);
	cr_expect_eq(next_of(allp[0]), 1);
}

Test(runq, a_queue_with_only_runnext_is_not_empty)
{
	struct g *gs = make_gs(1);

	cr_expect(runqempty(allp[0]));
	runqput(allp[0], &gs[0], true);
	cr_expect_not(runqempty(allp[0]));
	cr_expect_eq(runqlen(allp[0]), 1);
}

Test(runq, the_ring_holds_256_and_runnext_one_more)
{
	struct g *gs = make_gs(257);

	for (int i = 0; i < 256; i++)
		runqput(allp[0], &gs[i], false);
	runqput(allp[0], &gs[256], true);
	cr_expect_eq(runqlen(allp[0]), 257);
	cr_expect_eq(sched.runq.size, 0);
}

Test(runq, overflow_moves_the_older_half_and_the_new_one_to_the_global_tail)
{
	struct g *gs = make_gs(258);

	globrunqput(&gs[257], false); /* was there before: stays first */
	for (int i = 0; i < 257; i++)
		runqput(allp[0], &gs[i], false);
	cr_expect_eq(runqlen(allp[0]), 128);
	cr_expect_eq(sched.runq.size, 130);
	cr_expect_eq(load_seqcst(&sched.runqsize), 130);
	cr_expect_eq(next_global(), 258);
	for (unsigned i = 1; i <= 128; i++)
		cr_expect_eq(next_global(), i);
	cr_expect_eq(next_global(), 257);
	for (unsigned i = 129; i <= 256; i++)
		cr_expect_eq(next_of(allp[0]), i);
	cr_expect_eq(next_of(allp[0]), 0);
}

Test(runq, overflow_by_a_displaced_runnext_moves_the_displaced)
{
	struct g *gs = make_gs(258);

	for (int i = 0; i < 256; i++)
		runqput(allp[0], &gs[i], false);
	runqput(allp[0], &gs[256], true);
	runqput(allp[0], &gs[257], true);
	cr_expect_eq(sched.runq.size, 129);
	cr_expect_eq(sched.runq.tail, &gs[256]);
	cr_expect_eq(next_of(allp[0]), 258);
	cr_expect_eq(next_of(allp[0]), 129);
}

Test(runq, the_ring_wraps_around)
{
	struct g *gs = make_gs(200);

	/* Indices far past 256, and past the wrap of 32 bits. */
	store_seqcst(&allp[0]->runqhead, UINT32_MAX - 100);
	store_seqcst(&allp[0]->runqtail, UINT32_MAX - 100);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++)
			runqput(allp[0], &gs[i], false);
		cr_expect_eq(runqlen(allp[0]), 200);
		for (unsigned i = 1; i <= 200; i++)
			cr_expect_eq(next_of(allp[0]), i);
	}
	cr_expect_eq(sched.runq.size, 0);
}

/* ---- stealing, Go's rule ---- */

Test(runq, a_thief_takes_ceil_half_oldest_first_and_runs_the_last)
{
	for (unsigned n = 1; n <= 256; n++) {
		struct g *gs = make_gs(n), *gp;
		unsigned half = n - n / 2;

		for (unsigned i = 0; i < n; i++)
			runqput(allp[1], &gs[i], false);
		gp = runqsteal(allp[0], allp[1], false, nanotime());
		cr_assert_eq(gp, &gs[half - 1], "of %u: the last taken is run", n);
		cr_assert_eq(runqlen(allp[0]), half - 1, "of %u", n);
		for (unsigned i = 1; i < half; i++)
			cr_assert_eq(next_of(allp[0]), i);
		for (unsigned i = half + 1; i <= n; i++)
			cr_assert_eq(next_of(allp[1]), i);
		cr_assert(runqempty(allp[0]) && runqempty(allp[1]));
		free(gs);
	}
}

Test(runq, runnext_is_stolen_on_the_last_pass_alone)
{
	struct g *gs = make_gs(1);

	runqput(allp[1], &gs[0], true);
	cr_expect_null(runqsteal(allp[0], allp[1], false, nanotime()));
	cr_expect_eq(runqsteal(allp[0], allp[1], true, nanotime()), &gs[0]);
	cr_expect(runqempty(allp[1]));
}

Test(runq, runnext_stays_while_the_ring_has_something)
{
	struct g *gs = make_gs(2);

	runqput(allp[1], &gs[0], true);
	runqput(allp[1], &gs[1], false);
	cr_expect_eq(runqsteal(allp[0], allp[1], true, nanotime()), &gs[1]);
	cr_expect_eq(load_seqcst(&allp[1]->runnext), &gs[0]);
}

/* ---- stealing what has aged ---- */

Test(runq, fresh_work_is_left_alone_until_it_has_aged)
{
	struct g *gs = make_gs(4);
	uint64_t t = 1000000000;

	weft_opt.stealage = 20000;
	for (int i = 0; i < 4; i++)
		runqput(allp[1], &gs[i], false);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t), "the first look only marks");
	cr_expect_null(runqsteal(allp[0], allp[1], true, t + 19999), "not old enough");
	cr_expect_eq(runqsteal(allp[0], allp[1], true, t + 20000), &gs[1], "half of four");
	cr_expect_eq(next_of(allp[0]), 1);
	cr_expect_eq(runqlen(allp[1]), 2);
}

/* Two thieves look at once: the one that took the time first may come second. */
Test(runq, what_a_later_look_has_marked_has_not_aged)
{
	struct g *gs = make_gs(4);
	uint64_t t = 1000000000;

	weft_opt.stealage = 20000;
	for (int i = 0; i < 4; i++)
		runqput(allp[1], &gs[i], false);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t));
	cr_expect_null(runqsteal(allp[0], allp[1], true, t - 1));
	cr_expect_eq(runqsteal(allp[0], allp[1], true, t + 20000), &gs[1], "the mark is the later look's");
}

Test(runq, only_the_part_that_was_seen_is_aged)
{
	struct g *gs = make_gs(6);
	uint64_t t = 1000000000;

	weft_opt.stealage = 20000;
	runqput(allp[1], &gs[0], false);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t));
	for (int i = 1; i < 6; i++)
		runqput(allp[1], &gs[i], false);
	/* Half would be three, but one alone was there at the last look. */
	cr_expect_eq(runqsteal(allp[0], allp[1], true, t + 20000), &gs[0]);
	cr_expect_eq(runqlen(allp[0]), 0);
	cr_expect_eq(runqlen(allp[1]), 5);
}

Test(runq, what_the_owner_ran_meanwhile_does_not_count_as_aged)
{
	struct g *gs = make_gs(4);
	uint64_t t = 1000000000;

	weft_opt.stealage = 20000;
	runqput(allp[1], &gs[0], false);
	runqput(allp[1], &gs[1], false);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t));
	cr_expect_eq(next_of(allp[1]), 1);
	cr_expect_eq(next_of(allp[1]), 2);
	runqput(allp[1], &gs[2], false);
	runqput(allp[1], &gs[3], false);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t + 20000));
	cr_expect_eq(runqsteal(allp[0], allp[1], true, t + 40000), &gs[2]);
}

Test(runq, a_runnext_must_age_as_well)
{
	struct g *gs = make_gs(2);
	uint64_t t = 1000000000;

	weft_opt.stealage = 20000;
	runqput(allp[1], &gs[0], true);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t));
	cr_expect_eq(next_of(allp[1]), 1);
	runqput(allp[1], &gs[1], true);
	cr_expect_null(runqsteal(allp[0], allp[1], true, t + 20000), "another one than last time");
	/*
	 * Age decides, not the pass: the first pass renews the mark, so a later one finds nothing.
	 */
	cr_expect_eq(runqsteal(allp[0], allp[1], false, t + 40000), &gs[1]);
}

Test(runq, a_long_queue_is_stolen_from_at_once)
{
	struct g *gs = make_gs(8);

	weft_opt.stealage = 20000;
	for (int i = 0; i < 8; i++)
		runqput(allp[1], &gs[i], false);
	cr_expect_eq(runqsteal(allp[0], allp[1], false, 1000000000), &gs[3]);
}

/* ---- the global queue ---- */

static void fill_global(struct g *gs, int n)
{
	for (int i = 0; i < n; i++)
		globrunqput(&gs[i], false);
}

static void batch_is(int procs, int size, int want)
{
	struct g *gs = make_gs((unsigned)size), *gp;

	store_seqcst(&gomaxprocs, procs);
	fill_global(gs, size);
	gp = globrunqget(allp[0], 0, true);
	cr_expect_eq(gp, &gs[0], "the oldest runs");
	cr_expect_eq((int)runqlen(allp[0]), want - 1, "%d Ps, %d queued: %u go local", procs, size,
		     runqlen(allp[0]));
	cr_expect_eq(sched.runq.size, size - want);
	cr_expect_eq(load_seqcst(&sched.runqsize), size - want);
	for (unsigned i = 2; i <= (unsigned)want; i++)
		cr_expect_eq(next_of(allp[0]), i);
	for (unsigned i = (unsigned)want + 1; i <= (unsigned)size; i++)
		cr_expect_eq(next_global(), i);
	cr_expect_null(sched.runq.tail);
	free(gs);
}

Test(runq, a_global_batch_is_a_fair_share_and_at_most_128)
{
	batch_is(1, 1, 1);
	batch_is(1, 10, 10);
	batch_is(1, 127, 127);
	batch_is(1, 128, 128);
	batch_is(1, 1000, 128);
	batch_is(2, 1, 1);
	batch_is(2, 10, 6);
	batch_is(8, 7, 1);
	batch_is(8, 100, 13);
	batch_is(8, 1000, 126);
	batch_is(8, 2000, 128);
}

Test(runq, a_bound_on_the_batch_is_kept)
{
	struct g *gs = make_gs(10);

	fill_global(gs, 10);
	cr_expect_eq(globrunqget(allp[0], 1, true), &gs[0]);
	cr_expect_eq(sched.runq.size, 9);
	cr_expect(runqempty(allp[0]));
}

Test(runq, urgent_ones_go_first_until_the_others_have_their_turn)
{
	struct g *gs = make_gs(4);

	fill_global(gs, 2);
	globrunqwoken(&gs[2]);
	globrunqwoken(&gs[3]);
	cr_expect_eq(globrunqget(allp[0], 1, true), &gs[2]);
	cr_expect_eq(globrunqget(allp[0], 1, false), &gs[0]);
	cr_expect_eq(globrunqget(allp[0], 1, true), &gs[3]);
	cr_expect_eq(globrunqget(allp[0], 1, true), &gs[1]);
	cr_expect_eq(sched.runqsize, 0);
}

Test(runq, an_empty_global_queue_gives_nothing)
{
	cr_expect_null(globrunqget(allp[0], 0, true));
	cr_expect_null(globrunqget(allp[0], 1, true));
}

Test(runq, the_front_of_the_global_queue_runs_first)
{
	struct g *gs = make_gs(4);

	globrunqput(&gs[0], true);
	cr_expect_eq(sched.runq.tail, &gs[0], "front of an empty queue is its tail");
	globrunqput(&gs[1], false);
	globrunqput(&gs[2], true);
	globrunqput(&gs[3], false);
	cr_expect_eq(next_global(), 3);
	cr_expect_eq(next_global(), 1);
	cr_expect_eq(next_global(), 2);
	cr_expect_eq(next_global(), 4);
}

Test(runq, draining_keeps_the_order_and_empties)
{
	struct g *gs = make_gs(5);
	struct gqueue q;
	struct g *gp;
	unsigned want[] = { 5, 1, 2, 3, 4 }, i = 0;

	for (int k = 0; k < 4; k++)
		runqput(allp[1], &gs[k], false);
	runqput(allp[1], &gs[4], true);
	runqdrain(allp[1], &q);
	cr_expect_eq(q.size, 5);
	for (gp = q.head; gp; gp = gp->schedlink)
		cr_expect_eq(gp->shim.goid, want[i++]);
	cr_expect_eq(i, 5);
	cr_expect_eq(q.tail, &gs[3]);
	cr_expect(runqempty(allp[1]));
	runqdrain(allp[1], &q);
	cr_expect_null(q.head);
	cr_expect_eq(q.size, 0);
}

/* ---- real threads ---- */

enum { THIEVES = 3, ROUNDS = 3000000, INFLIGHT = 300 };

static _Atomic uint32_t runs[INFLIGHT]; /* 1 while queued; whoever runs it takes it to 0 */
static struct g *pool;
static _Atomic bool done;
static _Atomic uint64_t ran_by_owner, ran_by_thief, doubled;

static void run(struct g *gp, _Atomic uint64_t *who)
{
	if (exchange_seqcst(&runs[gp->shim.goid - 1], 0) != 1)
		fetch_add_seqcst(&doubled, 1);
	fetch_add_relaxed(who, 1);
}

static void *thief(void *arg)
{
	struct p *mine = arg;
	struct m self = { .id = mine->id };
	bool inherit;

	/* An M of its own: the ring's owner is whoever holds the P. */
	weft_tls.m = &self;
	m_init(&self);
	acquirep(&self, mine);
	while (!load_seqcst(&done)) {
		struct g *gp = runqsteal(mine, allp[0], nextrand(&self.rng) & 1, nanotime());

		for (; gp; gp = runqget(mine, &inherit))
			run(gp, &ran_by_thief);
	}
	releasep(&self);
	return NULL;
}

/* The owner queues by both ways, takes, overflows; the thieves take all the time. */
static uint64_t owner(uint64_t rounds)
{
	uint64_t queued = 0, seed = 88172645463325252ULL;
	bool inherit;

	for (uint64_t i = 0; i < rounds; i++) {
		struct g *gp = &pool[nextrand(&seed) % INFLIGHT];
		uint32_t idle = 0;

		if (cas_seqcst(&runs[gp->shim.goid - 1], &idle, 1)) {
			runqput(allp[0], gp, nextrand(&seed) % 4 == 0);
			queued++;
		}
		if (nextrand(&seed) % 3 == 0 && (gp = runqget(allp[0], &inherit)))
			run(gp, &ran_by_owner);
		if (load_seqcst(&sched.runqsize) > 0) {
			lock(&sched.lock);
			gp = globrunqget(allp[0], 1, true);
			unlock(&sched.lock);
			if (gp)
				run(gp, &ran_by_owner);
		}
	}
	return queued;
}

static void stress(void)
{
	pthread_t t[THIEVES];
	struct g *gp;
	uint64_t queued;
	bool inherit;

	pool = make_gs(INFLIGHT);
	for (long i = 0; i < THIEVES; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, thief, allp[i + 1]), 0);
	queued = owner(ROUNDS);
	store_seqcst(&done, true);
	for (int i = 0; i < THIEVES; i++)
		pthread_join(t[i], NULL);
	while ((gp = runqget(allp[0], &inherit)))
		run(gp, &ran_by_owner);
	while (sched.runq.head)
		run(&pool[next_global() - 1], &ran_by_owner);
	cr_expect_eq(load_seqcst(&doubled), 0);
	cr_expect_eq(load_seqcst(&ran_by_owner) + load_seqcst(&ran_by_thief), queued,
		     "queued %lu, run %lu + %lu", queued, load_seqcst(&ran_by_owner),
		     load_seqcst(&ran_by_thief));
	for (int i = 0; i < INFLIGHT; i++)
		cr_expect_eq(load_seqcst(&runs[i]), 0, "G%d was lost", i + 1);
	cr_expect_gt(load_seqcst(&ran_by_thief), 0, "nothing was ever stolen: the test shows nothing");
}

static void four(void)
{
	world(4);
	/* The thieves take their Ps off the idle list. */
	sched.pidle = NULL;
	store_seqcst(&sched.npidle, 0);
}

TestSuite(runq_threads, .init = four, .timeout = 100);

Test(runq_threads, owner_and_thieves_lose_and_double_nothing)
{
	stress();
}

Test(runq_threads, the_same_when_only_aged_work_is_stolen)
{
	weft_opt.stealage = 2000;
	stress();
}
