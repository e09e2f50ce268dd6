/*
 * check: each invariant is seen to fire: a child breaks one structure, takes the step that looks at it, and
 * must end by the check's own words.  What only a debug build checks is skipped elsewhere.  scripts/check-throws asks
 * that each throw() of a check has a case here.
 */
#include "tests/unit/world.h"
#include "runtime/wait/parkinglot.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void two(void)
{
	world(2);
}

TestSuite(check, .init = two, .timeout = 60);

/* What fn says before it aborts has the words, a pattern as the shell's, in it. */
static void expect_throw(void (*fn)(void), const char *words)
{
	char said[512] = "", pattern[128];
	int out[2], status;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	cr_assert_eq(pipe(out), 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(out[1], 2);
		fn();
		_exit(0);
	}
	close(out[1]);
	while (n < sizeof(said) - 1 && (r = read(out[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)r;
	close(out[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x, said: %s", status, said);
	snprintf(pattern, sizeof(pattern), "*%s*", words);
	cr_expect(fnmatch(pattern, said, 0) == 0, "wanted: %s\nsaid: %s", words, said);
}

/* ---- every build ----------------------------------------------------------------------------- */

static struct g *queued(unsigned n)
{
	struct g *gs = make_gs(n);

	for (unsigned i = 0; i < n; i++)
		runqput(allp[0], &gs[i], false);
	return gs;
}

static void overfull_ring(void)
{
	queued(2);
	allp[0]->runqtail += RUNQ_SIZE;
	runqput(allp[0], make_gs(1), false);
}

static void negative_queue(void)
{
	struct g *gs = make_gs(1);
	struct gqueue q = { gs, gs, -1 };

	globrunqputbatch(&q, false);
}

static struct g *no_g(void *arg)
{
	(void)arg;
	return NULL;
}

static struct timer timers[3];

static void set_timers(void)
{
	for (unsigned i = 0; i < 3; i++) {
		timers[i].fn = no_g;
		timer_add(&timers[i], 1000 * (i + 1));
	}
}

static void timer_elsewhere(void)
{
	set_timers();
	timers[1].slot = 2;
	timer_del(&timers[1]);
}

static struct waiter waiters[2];
static int object;

static void queue_waiter(struct waiter *w)
{
	store_relaxed(&w->addr, &object);
	lock(&bucket_of(&object)->lock);
	lot_push(bucket_of(&object), w);
	unlock(&bucket_of(&object)->lock);
}

static void dequeued_twice(void)
{
	queue_waiter(&waiters[0]);
	waiters[0].queued = false;
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
}

static void readied_twice(void)
{
	goready(make_gs(1), READY_TAIL);
}

Test(check, every_build_looks_where_it_takes_out)
{
	expect_throw(overfull_ring, "more than the ring holds");
	expect_throw(negative_queue, "globrunq: -1 Gs");
	expect_throw(timer_elsewhere, "timerheap: another timer than the one");
	expect_throw(dequeued_twice, "dequeued twice");
	expect_throw(readied_twice, "goready: g1 has status 1");
}

/* ---- debug builds ---------------------------------------------------------------------------- */

#ifdef WEFT_DEBUG
static void ring_with_dead(void)
{
	struct g *gs = queued(3);

	store_relaxed(&gs[1].shim.status, Gdead);
	runq_check(allp[0]);
}

static void dead_next(void)
{
	struct g *gs = make_gs(1);

	runqput(allp[0], gs, true);
	store_relaxed(&gs->shim.status, Gwaiting);
	runq_check(allp[0]);
}

static void ring_too_long(void)
{
	allp[0]->runqtail += RUNQ_SIZE + 1;
	runq_check(allp[0]);
}

Test(check, runq_check)
{
	queued(10);
	runq_check(allp[0]);
	expect_throw(ring_with_dead, "runq_check: p0 has g2 with status 6");
	expect_throw(dead_next, "in runnext with status 4");
	expect_throw(ring_too_long, "which is more than the ring holds");
}

static void global_miscounted(void)
{
	globrunqput(make_gs(1), false);
	sched.runq.size = 2;
	globrunqput(make_gs(1), false);
}

static void global_tail_lost(void)
{
	struct g *gs = make_gs(3);

	globrunqput(&gs[0], false);
	globrunqput(&gs[1], false);
	sched.runq.tail = &gs[0];
	globrunqput(&gs[2], true);
}

static void global_with_waiting(void)
{
	struct g *gs = make_gs(2);

	globrunqwoken(&gs[0]);
	store_relaxed(&gs[0].shim.status, Gwaiting);
	globrunqwoken(&gs[1]);
}

static void global_hidden(void)
{
	globrunqput(make_gs(1), false);
	store_relaxed(&sched.runqsize, 0);
	globrunq_check();
}

static void global_headless(void)
{
	globrunqput(make_gs(1), false);
	sched.runq.head = NULL;
	globrunq_check();
}

Test(check, globrunq_check)
{
	struct g *gs = make_gs(200);

	weft_opt.wakeslice = 1000000;
	for (unsigned i = 0; i < 200; i++)
		globrunqput(&gs[i], i % 2);
	expect_throw(global_with_waiting, "in wakeupq has status 4");
	while (globrunqget(allp[0], 1, true))
		;
	expect_throw(global_headless, "runq of 1 Gs has no head");
	expect_throw(global_miscounted, "runq has 2 Gs, counted as 3");
	expect_throw(global_tail_lost, "or another tail");
	expect_throw(global_hidden, "shown as 0");
}

static void heap_out_of_order(void)
{
	set_timers();
	timers[2].when = allp[0]->timers.keys[2].when = 1;
	timer_add(&(struct timer){ .fn = no_g }, 5000);
}

static void heap_slots_lost(void)
{
	set_timers();
	allp[0]->timers.used = 1;
	timer_del(allp[0]->timers.slots[0].t);
}

static void heap_of_another(void)
{
	set_timers();
	store_relaxed(&timers[1].pp, allp[1]);
	timer_del(&timers[0]);
}

static void listed_elsewhere(void)
{
	static struct timer listed;

	listed.slot = 5;
	allp[0]->timerlist = &listed;
	set_timers();
}

Test(check, heap_check)
{
	set_timers();
	for (unsigned i = 0; i < 3; i++)
		timer_del(&timers[i]);
	expect_throw(heap_out_of_order, "is due before its parent");
	expect_throw(listed_elsewhere, "a timer in the list has its place elsewhere");
	expect_throw(heap_of_another, "or on another P");
	expect_throw(heap_slots_lost, "2 timers in 1 slots");
}

/* As a parked G's. */
static void queue_g(struct waiter *w, struct g *gp)
{
	w->g = gp;
	store_relaxed(&gp->shim.status, Gwaiting);
	queue_waiter(w);
	lot_publish(w);
}

static void lot_out_of_order(void)
{
	queue_waiter(&waiters[0]);
	queue_waiter(&waiters[1]);
	waiters[0].turn = 9;
	lot_check(bucket_of(&object));
}

static void lot_broken_link(void)
{
	queue_waiter(&waiters[0]);
	queue_waiter(&waiters[1]);
	waiters[1].prev = NULL;
	lot_check(bucket_of(&object));
}

static void lot_lost_tail(void)
{
	queue_waiter(&waiters[0]);
	queue_waiter(&waiters[1]);
	bucket_of(&object)->tail = &waiters[0];
	lot_check(bucket_of(&object));
}

static void lot_wrong_bucket(void)
{
	queue_waiter(&waiters[0]);
	for (const char *p = (const char *)&object; bucket_of(p) == bucket_of(&object); p++)
		store_relaxed(&waiters[0].addr, p + 1);
	lot_check(bucket_of(&object));
}

static void lot_not_interruptible(void)
{
	struct g *gs = make_gs(1);

	queue_g(&waiters[0], gs);
	store_relaxed(&gs->parkaddr, NULL);
	lot_check(bucket_of(&object));
}

static void lot_runnable(void)
{
	struct g *gs = make_gs(1);

	queue_g(&waiters[0], gs);
	store_relaxed(&gs->shim.status, Grunnable);
	lot_check(bucket_of(&object));
}

Test(check, lot_check)
{
	expect_throw(lot_out_of_order, "turn 9 stands before 2");
	expect_throw(lot_broken_link, "another one before it");
	expect_throw(lot_lost_tail, "the last waiter is not the last");
	expect_throw(lot_wrong_bucket, "not in this bucket");
	expect_throw(lot_not_interruptible, "cannot be interrupted");
	expect_throw(lot_runnable, ", with status 1");
	queue_g(&waiters[0], make_gs(1));
	queue_waiter(&waiters[1]);
	lot_check(bucket_of(&object));
}

static void buckets_downwards(void)
{
	lock(&lot_buckets[7].lock);
	lock(&lot_buckets[3].lock);
}

static void three_buckets(void)
{
	lock(&lot_buckets[3].lock);
	lock(&lot_buckets[7].lock);
	lock(&lot_buckets[9].lock);
}

static void never_taken(void)
{
	lock(&lot_buckets[3].lock);
	unlock(&lot_buckets[7].lock);
}

Test(check, two_buckets_in_order)
{
	expect_throw(buckets_downwards, "of a higher address");
	expect_throw(three_buckets, "a third bucket");
	expect_throw(never_taken, "a bucket that is not held");
	for (int i = 0; i < 2; i++) {
		lock(&lot_buckets[3].lock);
		lock(&lot_buckets[7].lock);
		unlock(&lot_buckets[i ? 3 : 7].lock);
		unlock(&lot_buckets[i ? 7 : 3].lock);
	}
}

static struct lock higher = LOCK_INIT(Sched), lower = LOCK_INIT(Timers);

static void ranks_downwards(void)
{
	lock(&higher);
	lock(&lower);
}

static void rank_never_taken(void)
{
	unlock(&higher);
}

static void switch_with_lock(void)
{
	lock(&higher);
	lockrank_none("gopark");
}

Test(check, ranks_in_order)
{
	expect_throw(ranks_downwards, "lock rank: taking [0-9]* while holding");
	expect_throw(rank_never_taken, "lock rank: dropping [0-9]* that");
	expect_throw(switch_with_lock, "lock rank: gopark while holding [0-9]");
	lock(&lower);
	lock(&higher);
	unlock(&lower);
	unlock(&higher);
	lockrank_none("gopark");
}

static struct weft_tls block;
static struct g at_rest;

static void rest(void)
{
	block = (struct weft_tls){ .g = &at_rest, .locks = 1 };
	at_rest = (struct g){ .shim = { .goid = 5 }, .sp = 8, .tls = &block };
	store_relaxed(&at_rest.shim.status, Grunnable);
}

static void g_without_p(void)
{
	releasep(&m0);
	g_check(&m0, &at_rest);
}

static void g_queued(void)
{
	at_rest.parked = &waiters[0];
	g_check(&m0, &at_rest);
}

static void g_in_call(void)
{
	at_rest.shim.sysdepth = 1;
	g_check(&m0, &at_rest);
}

static void g_unpinned(void)
{
	block.locks = 0;
	g_check(&m0, &at_rest);
}

static void g_of_another_block(void)
{
	block.g = NULL;
	g_check(&m0, &at_rest);
}

static void m_locked(void)
{
	m0.lockedg = make_gs(1);
	g_check(&m0, &at_rest);
}

static void m_spins(void)
{
	m0.spinning = true;
	g_check(&m0, &at_rest);
}

Test(check, g_check)
{
	rest();
	g_check(&m0, &at_rest);
	expect_throw(g_without_p, "without a P");
	expect_throw(g_queued, "waits in the lot");
	expect_throw(g_in_call, "in a system call");
	expect_throw(g_unpinned, "is not pinned");
	expect_throw(g_of_another_block, "another G's block");
	expect_throw(m_locked, "locked to another");
	expect_throw(m_spins, "and spins");
}

static void napper_is_lost(void)
{
	store_relaxed(&sched.napper, &m0);
	lock(&sched.lock);
	p_check();
}

static void p_has_m(void)
{
	lock(&sched.lock);
	sched.pidle->m = &m0;
	p_check();
}

static void p_miscounted(void)
{
	lock(&sched.lock);
	fetch_add_seqcst(&sched.npidle, 1);
	p_check();
}

static void p_start_miscounted(void)
{
	lock(&sched.lock);
	fetch_add_seqcst(&sched.npstart, 1);
	p_check();
}

static void p_and_m_wait(void)
{
	lock(&sched.lock);
	sched.pstart = pidleget();
	fetch_add_seqcst(&sched.npstart, 1);
	store_relaxed(&sched.midle, &m0.idle);
	p_check();
}

Test(check, p_check)
{
	expect_throw(p_has_m, "in pidle: it has an M");
	expect_throw(p_miscounted, "1 idle Ps, counted as 2");
	expect_throw(p_start_miscounted, "0 Ps in pstart, counted as 1");
	expect_throw(napper_is_lost, "m0 naps, and is not in the list of idle Ms");
	expect_throw(p_and_m_wait, "p1 waits for an M, and m0 is idle");
}
#endif
