/*
 * parkinglot: who waits is woken, in order, once; as foreign kernel threads see it, which is what plain
 * threads are to a runtime that runs no G.
 */
#include "tests/unit/world.h"
#include "runtime/wait/parkinglot.h"

#include <pthread.h>
#include <unistd.h>

static void one(void)
{
	world(1);
	weft_tls.m = NULL; /* a native thread, as all others here */
}

TestSuite(lot, .init = one, .timeout = 60);

static int object, other; /* only their addresses are used */

struct sleeper {
	pthread_t thread;
	struct park pk;
	_Atomic int result; /* PENDING until it is woken */
	_Atomic int order;  /* as which it went on */
};

enum { PENDING = -1000 };
static _Atomic int turn;

static void *sleeper(void *arg)
{
	struct sleeper *s = arg;
	int r = lot_park(&s->pk);

	s->order = fetch_add_seqcst(&turn, 1);
	s->result = r;
	return NULL;
}

static unsigned waiting_on(const void *addr)
{
	unsigned moved = 0;

	/* Moving all to where they are keeps their order, and counts them. */
	lot_requeue(addr, addr, 0, UINT32_MAX, NULL, NULL, NULL, &moved);
	return moved;
}

/* Starts it and waits until it is queued, so that the order is known. */
static void start(struct sleeper *s, struct park pk)
{
	unsigned before = waiting_on(pk.addr);

	s->pk = pk;
	s->result = PENDING;
	cr_assert_eq(pthread_create(&s->thread, NULL, sleeper, s), 0);
	while (waiting_on(pk.addr) == before)
		usleep(100);
}

static int result(struct sleeper *s)
{
	pthread_join(s->thread, NULL);
	return s->result;
}

static int give_7(void *arg, unsigned woken, bool more)
{
	unsigned *seen = arg;

	seen[0] = woken;
	seen[1] = more;
	return 7;
}

Test(lot, the_oldest_is_woken_and_gets_what_the_waker_decides)
{
	struct sleeper s[3];
	unsigned seen[2];

	for (int i = 0; i < 3; i++)
		start(&s[i], (struct park){ .addr = &object });
	cr_expect_eq(lot_wake(&object, 1, 0, READY_TAIL, give_7, seen), 1);
	cr_expect_eq(result(&s[0]), 7);
	cr_expect_eq(seen[0], 1);
	cr_expect_eq(seen[1], 1, "two are left");
	cr_expect_eq(s[1].result, PENDING);
	cr_expect_eq(lot_wake(&object, 5, 0, READY_TAIL, give_7, seen), 2);
	cr_expect_eq(seen[0], 2);
	cr_expect_eq(seen[1], 0);
	cr_expect_eq(result(&s[1]), 7);
	cr_expect_eq(result(&s[2]), 7);
}

Test(lot, waking_nobody_still_asks_the_waker)
{
	unsigned seen[2] = { 9, 9 };

	cr_expect_eq(lot_wake(&object, 1, 0, READY_TAIL, give_7, seen), 0);
	cr_expect_eq(seen[0], 0);
	cr_expect_eq(seen[1], 0);
}

Test(lot, addresses_do_not_mix_even_in_one_bucket)
{
	enum { N = 5000 }; /* more than there are buckets */
	static char objects[N];
	struct sleeper s;

	start(&s, (struct park){ .addr = &objects[N / 2] });
	for (int i = 0; i < N; i++) {
		if (i == N / 2)
			continue;
		cr_assert_eq(lot_wake(&objects[i], 1, 0, READY_TAIL, NULL, NULL), 0);
		cr_assert_not(lot_waiting(&objects[i]));
	}
	cr_expect(lot_waiting(&objects[N / 2]));
	cr_expect_eq(s.result, PENDING);
	lot_wake(&objects[N / 2], 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s), 0);
}

Test(lot, bits_choose_among_waiters)
{
	struct sleeper s[3];

	start(&s[0], (struct park){ .addr = &object, .bitset = 1 });
	start(&s[1], (struct park){ .addr = &object, .bitset = 2 });
	start(&s[2], (struct park){ .addr = &object });
	cr_expect_eq(lot_wake(&object, 9, 4, READY_TAIL, NULL, NULL), 1, "0 waits for all bits");
	cr_expect_eq(result(&s[2]), 0);
	cr_expect_eq(lot_wake(&object, 9, 2, READY_TAIL, NULL, NULL), 1);
	cr_expect_eq(result(&s[1]), 0);
	cr_expect_eq(s[0].result, PENDING);
	lot_wake(&object, 9, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[0]), 0);
}

static int yes(void *arg)
{
	return 1;
}

Test(lot, a_refused_park_does_not_sleep)
{
	struct park pk = { .addr = &object, .refuse = yes };

	cr_expect_eq(lot_park(&pk), -EAGAIN);
	cr_expect_not(lot_waiting(&object));
}

static void wake_it(void *arg)
{
	cr_expect_eq(lot_wake(arg, 1, 0, READY_TAIL, NULL, NULL), 1);
}

Test(lot, one_woken_before_it_sleeps_does_not_sleep)
{
	struct park pk = { .addr = &object, .queued = wake_it, .arg = &object };

	cr_expect_eq(lot_park(&pk), 0);
}

Test(lot, a_deadline_ends_the_wait_and_leaves_the_queue)
{
	struct park pk = { .addr = &object, .deadline = nanotime() + 20000000 };

	cr_expect_eq(lot_park(&pk), -ETIMEDOUT);
	cr_expect_geq(nanotime(), pk.deadline, "not early");
	cr_expect_not(lot_waiting(&object));
	cr_expect_eq(lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL), 0);
	pk.deadline = 1; /* passed long ago */
	cr_expect_eq(lot_park(&pk), -ETIMEDOUT);
}

Test(lot, who_comes_to_the_front_is_woken_first)
{
	struct sleeper s[2];

	start(&s[0], (struct park){ .addr = &object });
	start(&s[1], (struct park){ .addr = &object, .turn = LOT_FIRST });
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[1]), 0);
	cr_expect_eq(s[0].result, PENDING);
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[0]), 0);
}

Test(lot, who_queues_again_stands_where_it_stood)
{
	struct sleeper s[4];

	for (int i = 0; i < 3; i++)
		start(&s[i], (struct park){ .addr = &object, .bitset = i == 1 ? 2 : 1 });
	/* The second leaves, two more come, and it queues again. */
	lot_wake(&object, 1, 2, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[1]), 0);
	cr_expect_eq(s[1].pk.at, &object);
	start(&s[3], (struct park){ .addr = &object, .bitset = 1 });
	start(&s[1], s[1].pk);
	lot_wake(&object, 2, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[0]), 0);
	cr_expect_eq(result(&s[1]), 0);
	cr_expect_eq(s[2].result, PENDING);
	cr_expect_eq(s[3].result, PENDING);
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[2]), 0);
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[3]), 0);
}

/* ---- bigger tables ---- */

Test(lot, a_bigger_table_takes_the_waiters_over_in_their_order)
{
	struct sleeper s[4], at_other, late;
	struct bucket *first = bucket_of(&object);

	for (int i = 0; i < 3; i++)
		start(&s[i], (struct park){ .addr = &object, .bitset = i == 1 ? 2 : 1 });
	start(&at_other, (struct park){ .addr = &other });
	start(&late, (struct park){ .addr = &object, .bitset = 4, .deadline = nanotime() + 300000000 });
	/* The second leaves with its turn. */
	lot_wake(&object, 1, 2, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[1]), 0);
	lot_grow(NBUCKETS - 1);
	cr_assert_eq(bucket_of(&object), first, "there are fewer Gs than buckets");
	lot_grow(NBUCKETS);
	cr_assert_neq(bucket_of(&object), first);
	lot_grow(NBUCKETS * 64);
	cr_expect_eq(bucket_of(&object)->head->g, NULL);
	cr_expect_eq(first->head, NULL);
	cr_expect_eq(result(&late), -ETIMEDOUT);
	/* It queues again by its turn, which is before all that were given since (start() has new ones given). */
	start(&s[1], s[1].pk);
	start(&s[3], (struct park){ .addr = &object, .bitset = 1 });
	for (int i = 0; i < 4; i++) {
		static const int order[] = { 1, 0, 2, 3 };

		cr_expect_eq(lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL), 1);
		cr_expect_eq(result(&s[order[i]]), 0);
		cr_expect(i == 3 || s[order[i + 1]].result == PENDING);
	}
	cr_expect_eq(lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL), 0);
	cr_expect_eq(lot_wake(&other, 1, 0, READY_TAIL, NULL, NULL), 1);
	cr_expect_eq(result(&at_other), 0);
}

Test(lot, without_memory_the_table_stays)
{
	struct bucket *first = bucket_of(&object);

	sched.tight = true;
	lot_grow(NBUCKETS);
	cr_expect_eq(bucket_of(&object), first);
	sched.tight = false;
	lot_grow(NBUCKETS + 1);
	cr_expect_eq(bucket_of(&object), first, "it is asked again at twice as many");
	lot_grow(NBUCKETS * 2);
	cr_expect_neq(bucket_of(&object), first);
}

Test(lot, a_fork_child_begins_with_the_first_table)
{
	struct bucket *first = bucket_of(&object);
	struct sleeper s;

	lot_grow(NBUCKETS);
	cr_assert_neq(bucket_of(&object), first);
	lot_fork_child();
	cr_expect_eq(bucket_of(&object), first);
	start(&s, (struct park){ .addr = &object });
	lot_grow(NBUCKETS);
	cr_expect_neq(bucket_of(&object), first);
	cr_expect_eq(lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL), 1);
	cr_expect_eq(result(&s), 0);
}

static _Atomic unsigned locked;

static int note_locked(void *arg, unsigned woken, bool more)
{
	locked = arg == &object && !woken && !more;
	return 0;
}

Test(lot, a_function_runs_under_the_lock)
{
	lot_do(&object, note_locked, &object);
	cr_expect_eq(locked, 1);
}

/* ---- requeue ---- */

static unsigned announced;

static void announce(void *arg, unsigned n)
{
	announced = n;
}

Test(lot, requeue_wakes_some_and_moves_the_others_in_order)
{
	struct sleeper s[5];
	unsigned moved;

	for (int i = 0; i < 4; i++)
		start(&s[i], (struct park){ .addr = &object });
	start(&s[4], (struct park){ .addr = &other });
	cr_expect_eq(lot_requeue(&object, &other, 1, 2, NULL, announce, NULL, &moved), 1);
	cr_expect_eq(result(&s[0]), 0);
	cr_expect_eq(moved, 2);
	cr_expect_eq(announced, 2, "told before they are moved");
	cr_expect_eq(waiting_on(&object), 1);
	cr_expect_eq(waiting_on(&other), 3);
	/* Behind who was there already, in their order. */
	lot_wake(&other, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[4]), 0);
	lot_wake(&other, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[1]), 0);
	lot_wake(&other, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[2]), 0);
	cr_expect_eq(s[3].result, PENDING);
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s[3]), 0);
}

Test(lot, a_refused_requeue_does_nothing)
{
	struct sleeper s;
	unsigned moved = 77;

	start(&s, (struct park){ .addr = &object });
	cr_expect_eq(lot_requeue(&object, &other, 1, 1, yes, announce, NULL, &moved), -EAGAIN);
	cr_expect_eq(waiting_on(&object), 1);
	cr_expect_eq(announced, 0);
	lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
	cr_expect_eq(result(&s), 0);
}

Test(lot, a_moved_one_still_times_out)
{
	struct sleeper s;

	start(&s, (struct park){ .addr = &object, .deadline = nanotime() + 300000000 });
	lot_requeue(&object, &other, 0, 1, NULL, NULL, NULL, NULL);
	cr_expect_eq(result(&s), -ETIMEDOUT);
	cr_expect_not(lot_waiting(&other));
}

/* ---- everything at once ---- */

enum { SLEEPERS = 6 };

static _Atomic bool done;
static _Atomic uint64_t woken_side, waker_side;

/* Short deadlines, so that time-outs, wake-ups and moves meet. */
static void *churn(void *arg)
{
	uint64_t seed = (uintptr_t)arg * 2654435761u + 1, wakes = 0;

	while (!load_seqcst(&done)) {
		struct park pk = { .addr = nextrand(&seed) & 1 ? &object : &other,
				   .deadline = nanotime() + nextrand(&seed) % 40000 };

		if (nextrand(&seed) % 16 == 0)
			pk.deadline = 0;
		wakes += lot_park(&pk) == 0;
	}
	fetch_add_seqcst(&woken_side, wakes);
	return NULL;
}

static void *mover(void *arg)
{
	while (!load_seqcst(&done)) {
		int n = lot_requeue(&object, &other, 1, 3, NULL, NULL, NULL, NULL);

		fetch_add_seqcst(&waker_side, (uint64_t)n);
		n = lot_requeue(&other, &object, 0, 2, NULL, NULL, NULL, NULL);
		fetch_add_seqcst(&waker_side, (uint64_t)n);
	}
	return NULL;
}

/* The tables last for a third of the time; each is empty but for these waiters. */
static void *grower(void *arg)
{
	for (uint32_t gs = NBUCKETS; gs <= NBUCKETS * 64; gs *= 8) {
		usleep(400000);
		lot_grow(gs);
	}
	return arg;
}

Test(lot, every_wake_up_meets_one_waiter_whatever_else_happens, .timeout = 100)
{
	pthread_t t[SLEEPERS + 1], grows;
	uint64_t until = nanotime() + 1500000000;

	cr_assert_eq(pthread_create(&grows, NULL, grower, NULL), 0);

	for (uintptr_t i = 0; i < SLEEPERS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, churn, (void *)i), 0);
	cr_assert_eq(pthread_create(&t[SLEEPERS], NULL, mover, NULL), 0);
	while (nanotime() < until) {
		waker_side += lot_wake(&object, 1, 0, READY_TAIL, NULL, NULL);
		waker_side += lot_wake(&other, 2, 0, READY_NEXT, NULL, NULL);
	}
	store_seqcst(&done, true);
	pthread_join(grows, NULL);
	pthread_join(t[SLEEPERS], NULL);
	for (int i = 0; i < SLEEPERS; i++) {
		/* The last to look may sleep for ever: until it is gone, wake it. */
		while (pthread_tryjoin_np(t[i], NULL)) {
			waker_side += lot_wake(&object, 9, 0, READY_TAIL, NULL, NULL);
			waker_side += lot_wake(&other, 9, 0, READY_TAIL, NULL, NULL);
			usleep(100);
		}
	}
	cr_expect_eq(woken_side, waker_side, "woken %lu, wake-ups %lu", woken_side, waker_side);
	cr_expect_gt(woken_side, 100, "too few wake-ups to show anything");
	cr_expect_not(lot_waiting(&object));
	cr_expect_not(lot_waiting(&other));
}
