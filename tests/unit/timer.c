/*
 * timer: the heap fires in order and loses nothing, whatever is deleted or moved meanwhile.
 */
#include "tests/unit/world.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static void two(void)
{
	world(2);
}

TestSuite(timer, .init = two, .timeout = 60);

enum { MANY = 3000 };

static struct timer timers[MANY];
static unsigned fired[MANY], nfired;
static bool hasfired[MANY];

static struct g *note(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	fired[nfired++] = i;
	hasfired[i] = true;
	return NULL;
}

static void add(unsigned i, uint64_t when)
{
	timers[i].fn = note;
	timers[i].arg = (void *)(uintptr_t)i;
	timer_add(&timers[i], when);
}

/* Every node at or after its parent, indices and back pointers right, timer0 the root's. */
static void heap_is_sound(struct p *pp)
{
	const struct timerheap *h = &pp->timers;

	for (uint32_t i = 0; i < h->n; i++) {
		const struct timerslot *slot = &h->slots[h->keys[i].slot];

		cr_assert_eq(slot->at, i);
		cr_assert_eq(slot->t->slot, h->keys[i].slot);
		cr_assert_eq(slot->t->when, h->keys[i].when);
		cr_assert_eq(load_seqcst(&slot->t->pp), pp);
		if (i > 0)
			cr_assert_leq(h->keys[(i - 1) / 4].when, h->keys[i].when);
	}
	cr_assert_eq(load_seqcst(&pp->timer0), h->n ? h->keys[0].when : 0);
}

/*
 * Memory is short once, at the moment the heap is full: some stand in the list, the rest in the
 * heap.
 */
Test(timer, without_room_in_the_heap_they_fire_in_order_all_the_same)
{
	bool ran = false;
	unsigned listed = 0;

	os_faultinject(0, 1);
	for (unsigned i = 0; i < MANY; i++) {
		add(i, 1000 + i * 7919 % MANY / 2);
		listed += allp[0]->timers.keys == NULL;
	}
	cr_assert_eq(listed, 1);
	for (unsigned i = 1; i < MANY; i += 7)
		cr_assert(timer_del(&timers[i]));
	timers_move(allp[0], allp[1]);
	cr_assert_null(allp[0]->timerlist);
	timers_check(allp[1], 1000 + MANY, &ran);
	cr_assert(ran);
	cr_expect_eq(nfired, MANY - (MANY + 6) / 7);
	for (unsigned i = 1; i < nfired; i++)
		cr_assert_leq(timers[fired[i - 1]].when, timers[fired[i]].when);
	cr_expect_eq(load_seqcst(&allp[1]->timer0), 0);
}

Test(timer, they_fire_in_order_of_their_time)
{
	bool ran = false;
	uint64_t next;

	/* Not sorted, with pairs of equal times. */
	for (unsigned i = 0; i < MANY; i++)
		add(i, 1000 + i * 7919 % MANY / 2);
	heap_is_sound(allp[0]);
	next = timers_check(allp[0], 999, &ran);
	cr_expect_eq(next, 1000);
	cr_expect_not(ran);
	cr_expect_eq(nfired, 0, "none before its time");
	next = timers_check(allp[0], 1000 + MANY, &ran);
	cr_expect_eq(next, 0);
	cr_expect(ran);
	cr_expect_eq(nfired, MANY);
	for (unsigned i = 1; i < MANY; i++)
		cr_assert_leq(timers[fired[i - 1]].when, timers[fired[i]].when);
}

Test(timer, only_what_is_due_fires)
{
	bool ran = false;

	for (unsigned i = 0; i < 100; i++)
		add(i, 1000 + i);
	cr_expect_eq(timers_check(allp[0], 1049, &ran), 1050);
	cr_expect_eq(nfired, 50);
	heap_is_sound(allp[0]);
}

Test(timer, a_deleted_one_does_not_fire_and_the_heap_stays_sound)
{
	uint64_t seed = 42;
	bool gone[MANY] = { false };
	unsigned left = MANY;
	bool ran;

	for (unsigned i = 0; i < MANY; i++)
		add(i, 1 + nextrand(&seed) % 10000);
	for (unsigned k = 0; k < MANY / 2; k++) {
		unsigned i = (unsigned)(nextrand(&seed) % MANY);

		cr_assert_eq(timer_del(&timers[i]), !gone[i], "true once, false after");
		left -= !gone[i];
		gone[i] = true;
		if (k % 100 == 0)
			heap_is_sound(allp[0]);
	}
	cr_expect_eq(allp[0]->timers.n, left);
	timers_check(allp[0], 10001, &ran);
	cr_expect_eq(nfired, left);
	for (unsigned i = 0; i < MANY; i++)
		cr_assert_neq(hasfired[i], gone[i], "timer %u", i);
}

Test(timer, one_that_fired_or_never_ran_cannot_be_deleted)
{
	struct timer never = { .fn = note };
	bool ran;

	add(0, 5);
	timers_check(allp[0], 5, &ran);
	cr_expect_not(timer_del(&timers[0]));
	cr_expect_not(timer_del(&never));
}

Test(timer, time_zero_is_not_no_timer)
{
	bool ran = false;

	add(0, 0);
	cr_expect_neq(timers_next(), 0);
	timers_check(allp[0], 1, &ran);
	cr_expect(ran);
}

Test(timer, the_next_is_the_earliest_of_all_ps)
{
	cr_expect_eq(timers_next(), 0);
	add(0, 500);
	lock(&sched.lock);
	cr_assert_eq(pidleget(), allp[1]);
	unlock(&sched.lock);
	releasep(&m0);
	acquirep(&m0, allp[1]);
	add(1, 300);
	cr_expect_eq(allp[1]->timers.n, 1, "on the P of who adds it");
	cr_expect_eq(timers_next(), 300);
	timer_del(&timers[1]);
	cr_expect_eq(timers_next(), 500);
}

Test(timer, moving_keeps_the_order_and_them_deletable)
{
	bool ran;

	for (unsigned i = 0; i < 1000; i++)
		add(i, 2000 - i);
	timers_move(allp[0], allp[1]);
	cr_expect_eq(allp[0]->timers.n, 0);
	cr_expect_eq(load_seqcst(&allp[0]->timer0), 0);
	cr_expect_eq(allp[1]->timers.n, 1000);
	heap_is_sound(allp[1]);
	cr_expect(timer_del(&timers[10]));
	timers_check(allp[1], 3000, &ran);
	cr_expect_eq(nfired, 999);
	cr_expect_eq(fired[0], 999);
	cr_expect_eq(fired[998], 0);
}

static struct g *claim(void *arg)
{
	return arg;
}

Test(timer, a_g_it_returns_is_readied_and_the_timer_is_detached)
{
	struct g *gs = make_gs(1);
	struct timer t = { .fn = claim, .arg = gs };
	bool ran;

	store_seqcst(&gs->shim.status, Gwaiting);
	timer_add(&t, 10);
	timers_check(allp[0], 10, &ran);
	cr_expect_null(load_seqcst(&t.pp));
	cr_expect_eq(gstatus(gs), Grunnable);
	cr_expect_eq(next_of(allp[0]), 1);
}

/* ---- an owner of timers against who runs them, on real threads ---- */

static _Atomic bool done;
static _Atomic uint64_t runs;

static struct g *count(void *arg)
{
	fetch_add_seqcst((_Atomic uint32_t *)arg, 1);
	fetch_add_seqcst(&runs, 1);
	return NULL;
}

static void *runner(void *arg)
{
	struct m self = { .id = 9 };
	bool ran;

	weft_tls.m = &self; /* has no P: takes timers of others, as a thief does */
	while (!load_seqcst(&done))
		for (int i = 0; i < 2; i++)
			timers_check(allp[i], nanotime(), &ran);
	return NULL;
}

static void *mover(void *arg)
{
	struct m self = { .id = 10 };

	weft_tls.m = &self;
	while (!load_seqcst(&done)) {
		timers_move(allp[0], allp[1]);
		timers_move(allp[1], allp[0]);
	}
	return NULL;
}

/* After timer_del() the timer's memory is its owner's alone: the canary is on the owner's stack. */
static bool one_life(uint64_t ahead)
{
	_Atomic uint32_t canary = 0;
	struct timer t = { .fn = count, .arg = (void *)&canary };
	uint32_t after;
	bool deleted;

	timer_add(&t, nanotime() + ahead);
	for (uint64_t until = nanotime() + 2000; nanotime() < until;)
		arch_pause();
	deleted = timer_del(&t);
	after = load_seqcst(&canary);
	cr_assert_eq(after, deleted ? 0 : 1, "deleted %d, ran %u times", deleted, after);
	cr_assert_null(load_seqcst(&t.pp));
	return deleted;
}

Test(timer, deleting_races_with_firing_and_moving, .timeout = 100)
{
	uint64_t seed = 7, deleted = 0, rounds = 60000;
	pthread_t a, b;

	cr_assert_eq(pthread_create(&a, NULL, runner, NULL), 0);
	cr_assert_eq(pthread_create(&b, NULL, mover, NULL), 0);
	for (uint64_t i = 0; i < rounds; i++)
		deleted += one_life(nextrand(&seed) % 4000);
	store_seqcst(&done, true);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	cr_expect_eq(deleted + load_seqcst(&runs), rounds);
	cr_expect_gt(deleted, 0, "none was deleted in time: the test shows nothing");
	cr_expect_gt(load_seqcst(&runs), 0, "none fired: the test shows nothing");
	cr_expect_eq(allp[0]->timers.n + allp[1]->timers.n, 0);
}

/* ---- on a clock that may be set: setting it is to a timer as if it had another time --------------- */

static uint64_t shows(void)
{
	uint64_t ns = 0;

	cr_assert_eq(os_clock_gettime(OS_CLOCK_REALTIME, &ns), 0);
	return ns;
}

enum { HOUR = 60 * 60 };

static void add_wall(unsigned i, uint64_t wall)
{
	timers[i].wall = wall;
	timers[i].clock = OS_CLOCK_REALTIME;
	add(i, 1);
}

Test(timer, on_another_clock_it_is_due_when_that_shows_the_time)
{
	uint64_t before = nanotime(), now = shows();
	bool ran = false;

	add_wall(0, now + HOUR * 1000000000ULL);
	add_wall(1, now);
	cr_expect_geq(timers[0].when, before + (HOUR - 1) * 1000000000ULL);
	cr_expect_leq(timers[0].when, nanotime() + HOUR * 1000000000ULL);
	timers_check(allp[0], nanotime(), &ran);
	cr_expect(hasfired[1] && !hasfired[0]);
	cr_expect_eq(timers_realtime(allp[0]), timers[0].wall);
}

Test(timer, a_clock_that_was_set_back_prolongs_it)
{
	uint64_t now = shows();
	bool ran = false;
	uint64_t next;

	for (unsigned i = 0; i < 100; i++)
		add_wall(i, now);
	for (unsigned i = 0; i < 100; i += 2)
		timers[i].wall = now + (HOUR + i) * 1000000000ULL;
	next = timers_check(allp[0], nanotime(), &ran);
	heap_is_sound(allp[0]);
	cr_expect_eq(nfired, 50);
	cr_expect_eq(next, timers[0].when);
	for (unsigned i = 0; i < 100; i++)
		cr_assert_eq(hasfired[i], i % 2 == 1);
}

/* Every seventh is on the clock that jumps; the others, and the list, stay as they are. */
static void jump(void (*tell)(void))
{
	uint64_t now = shows(), mono = nanotime(), seed = 3;
	bool ran = false;

	for (unsigned i = 0; i < MANY; i++)
		if (i % 7)
			add(i, mono + (HOUR + nextrand(&seed) % HOUR) * 1000000000ULL);
		else
			add_wall(i, now + (HOUR + nextrand(&seed) % HOUR) * 1000000000ULL);
	for (unsigned i = 0; i < MANY; i += 7)
		timers[i].wall = now - i % 2;
	tell();
	heap_is_sound(allp[0]);
	timers_check(allp[0], nanotime(), &ran);
	for (unsigned i = 0; i < MANY; i++)
		cr_assert_eq(hasfired[i], i % 7 == 0, "timer %u", i);
}

static void aimed(void)
{
	timers_reaim(allp[0]);
}

Test(timer, a_clock_that_was_set_forward_ends_it)
{
	jump(aimed);
}

/* Set to what it shows: a change of some nanoseconds. */
static void set_clock(void)
{
	struct timespec ts;

	cr_assert_eq(clock_gettime(CLOCK_REALTIME, &ts), 0);
	if (clock_settime(CLOCK_REALTIME, &ts))
		cr_skip("not privileged to set the clock");
	netpoll_nowait();
}

Test(timer, the_poller_hears_that_a_clock_was_set)
{
	netpoll_clock();
	cr_assert(netpoll_clocks());
	jump(set_clock);
	for (unsigned i = 0; i < MANY; i++)
		timer_del(&timers[i]);
	memset(hasfired, 0, sizeof(hasfired));
	jump(set_clock); /* not the first time alone */
}

Test(timer, the_list_is_aimed_anew_as_well)
{
	bool ran = false;

	os_faultinject(0, 1);
	add_wall(0, shows() + HOUR * 1000000000ULL);
	cr_assert_eq(allp[0]->timerlist, &timers[0]);
	timers[0].wall = 1;
	timers_reaim(allp[0]);
	timers_check(allp[0], nanotime(), &ran);
	cr_expect(hasfired[0]);
}
