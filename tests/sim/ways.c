/*
 * ways: workloads of what few programs use: Ps and Ms of a thread's own, inherited priorities, child processes,
 * what holds from some moment on, forks.
 *
 * Must never: end a round without giving back what it took, but at a thread's end, where the runtime must.
 */
#include "tests/sim/workloads.h"

#include <errno.h>

#include "runtime/os/os.h"
#include "runtime/park.h"
#include "runtime/process.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

/* ---- what they all do ------------------------------------------------------------------------- */

enum { DOERS = 6 };
static struct {
	struct mutex m;
	struct cond c;
	unsigned inside, turn;
	_Atomic unsigned over;
	struct thread *t[DOERS];
	unsigned n;
} way;

static void step(void)
{
	switch (sim_random(6)) {
	case 1:
		nap(some(0, 60000));
		break;
	case 2:
		ksleep_seen(some(0, 60000), sim_random(2));
		break;
	case 3:
		gosched();
		break;
	case 4:
		ksleep(some(0, 200000)); /* unseen */
		break;
	default:
		compute(some(0, 20000));
	}
}

static void under_lock(bool inherits)
{
	if (inherits)
		pi_lock(&way.m);
	else
		mutex_lock(&way.m);
	if (way.inside++)
		sim_fail("two in the mutex");
	way.turn++;
	if (sim_chance(3))
		step();
	else if (!inherits && sim_chance(3)) {
		way.inside--;
		cond_wait(&way.c, &way.m, some(1000, 200000));
		if (way.inside++)
			sim_fail("two in the mutex");
	}
	way.inside--;
	if (inherits)
		pi_unlock(&way.m, sim_chance(4));
	else
		mutex_unlock(&way.m);
	cond_signal(&way.c, sim_random(2) ? 1 : ~0u);
	progress++;
}

static void doer(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 10); i > 0; i--) {
		step();
		under_lock(false);
	}
	fetch_add_seqcst(&way.over, 1);
}

static void begin(void (*fn)(void *), unsigned n)
{
	for (way.n = 0; way.n < n; way.n++)
		way.t[way.n] = start(fn, (void *)(uintptr_t)way.n);
}

/* ---- real-time threads, holders of inheriting locks ------------------------------------------- */

/* In libc, where it cannot give way. */
static void toil(void)
{
	uint64_t ns = some(0, 2 * (uint64_t)weft_opt.slice);

	for (uint64_t piece = ns / 8 + 1; ns > piece; ns -= piece) {
		sim_charge(piece);
		sim_point(POINT_WORK, "computes");
	}
}

static void owner(void *arg)
{
	bool real = sim_random(2);

	(void)arg;
	if (real) {
		lockosthread(LOCK_OWN, 0);
		runtime_realtime(true);
	}
	for (uint64_t i = some(1, 10); i > 0; i--) {
		if (!real && sim_chance(3)) {
			toil(); /* its slice may be over by then, and it may have been asked to give way */
			lockosthread(true, 0);
			runtime_realtime(true);
			real = true;
		}
		step();
		under_lock(sim_random(2));
		if (way.n && sim_chance(3))
			prefer(way.t[sim_random(way.n)], (int)some(0, 3));
		if (real && sim_chance(8)) {
			runtime_realtime(false);
			unlockosthread(false);
			real = false;
		}
	}
	/* Some end with it. */
	if (real && sim_random(2)) {
		runtime_realtime(false);
		unlockosthread(false);
	}
}

void workload_owners(void)
{
	store_relaxed(&realtime_order, sim_random(2));
	if (sim_random(2))
		need_slices();
	begin(owner, (unsigned)some(1, 4));
	for (uint64_t i = some(0, 2); i > 0; i--)
		start(doer, NULL);
	join_all();
	/* What those were is nothing to the next. */
	for (uint64_t i = some(0, 3); i > 0; i--)
		start(doer, NULL);
	join_all();
}

/* ---- children, which belong to the M that made them ------------------------------------------- */

static void parent(void *arg)
{
	unsigned children = 0;

	(void)arg;
	for (uint64_t i = some(1, 6); i > 0; i--) {
		bool makes = sim_random(3);

		lockosthread(LOCK_CHILD, sim_random(2) ? 0 : ASIDE_NOW);
		ksleep_seen(some(0, 30000), sim_random(2));
		if (makes)
			child_made();
		unlockosthread(makes);
		children += makes;
		step();
		under_lock(false);
		if (children && sim_random(2)) {
			lockosthread(LOCK_CHILD, 0);
			if (child_waited())
				children--;
			unlockosthread(false);
			runtime_child_gone();
		}
	}
}

void workload_homes(void)
{
	begin(parent, (unsigned)some(1, 4));
	for (uint64_t i = some(0, 3); i > 0; i--)
		start(doer, NULL);
	join_all();
}

/* ---- what holds from some moment on ----------------------------------------------------------- */

void workload_fromnow(void)
{
	struct runtime_filter f = { .threads = true, .tries = sim_random(2) };
	bool filter = sim_random(2);

	begin(doer, (unsigned)some(1, DOERS));
	if (sim_random(2))
		nap(some(0, 200000));
	if (filter) {
		runtime_filter_obey(&f, true);
	} else {
		runtime_fromnow(FROMNOW_LOCKED);
		for (uint64_t i = some(0, 3); i > 0; i--)
			start(doer, NULL);
	}
	join_all();
}

/* ---- more Gs than a P's ring holds ------------------------------------------------------------ */

static void one_of_many(void *arg)
{
	(void)arg;
	gosched();
	fetch_add_seqcst(&way.over, 1);
}

void workload_crowds(void)
{
	unsigned n = sim_chance(4) ? (unsigned)some(257, 600) : (unsigned)some(1, 40);

	for (unsigned i = 0; i < n; i++)
		go_detached(one_of_many, NULL);
	while (load_seqcst(&way.over) != n)
		nap(100000);
}

/* ---- a fork: of all threads one is left, which goes on ---------------------------------------- */

void workload_forks(void)
{
	begin(doer, (unsigned)some(1, 4));
	step();
	world_fork();
	way.inside = 0;
	way.m = (struct mutex){ 0 };
	store_seqcst(&way.over, 0);
	forget_threads();
	begin(doer, (unsigned)some(1, 4));
	join_all();
}

/* ---- waits for a clock that is set ------------------------------------------------------------ */

static _Atomic uint64_t last_set;
static bool last_long;        /* the waits are, and so are the steps of the clock */

static void wall_waiter(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 5); i > 0; i--) {
		struct park pk = park_time(WaitSleep);
		uint64_t began = sim_now(), until = clock_now() + some(1000, last_long ? 50000000 : 3000000);
		int r;

		park_until_wall(&pk, until, OS_CLOCK_REALTIME);
		r = lot_sleep(&pk);
		if (r != -ETIMEDOUT)
			sim_fail("a wait for a clock said %d", r);
		if (sim_now() > load_seqcst(&last_set) + LOST && sim_now() > began + LOST && clock_now() > until + LOST)
			sim_fail("a clock was waited for, for %lu us too long", (clock_now() - until) / 1000);
		if (load_seqcst(&last_set) < began && clock_now() < until)
			sim_fail("a clock was not waited for: %lu us", (until - clock_now()) / 1000);
		progress++;
	}
	fetch_add_seqcst(&way.over, 1);
}

/* Beside them a server: a descriptor is watched, and two that wake each other pass the scheduler all the time. */
static struct stream unread;

static void unread_reader(void *arg)
{
	(void)arg;
	while (stream_read(&unread, 1, 0) != 0)
		;
}

static struct {
	struct mutex m;
	struct cond c;
	unsigned turn;
	bool enough;             /* one of them has ended */
	_Atomic unsigned passing;
} two;

static void passer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	mutex_lock(&two.m);
	for (uint64_t i = some(1, 1500); i > 0 && !two.enough; i--) {
		while (two.turn % 2 != me && !two.enough)
			cond_wait(&two.c, &two.m, 0);
		two.turn++;
		sim_charge(some(0, 1u << sim_random(16)));
		/* The other goes to the queue's tail: each turn is a slice of its own. */
		cond_broadcast(&two.c, &two.m);
	}
	two.enough = true;
	mutex_unlock(&two.m);
	cond_signal(&two.c, ~0u);
	fetch_sub_seqcst(&two.passing, 1);
}

/* Comes back on its own M, which then goes idle while others run, and becomes the poller for long. */
static void arriver(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;

	while (load_seqcst(&way.over) != n) {
		ksleep_seen(some(0, 100000), true);
		nap(some(0, 20000000));
	}
}

static void start_two(void)
{
	two.enough = false;
	fetch_add_seqcst(&two.passing, 2);
	go_detached(passer, (void *)0);
	go_detached(passer, (void *)1);
}

void workload_clocks(void)
{
	unsigned n = (unsigned)some(1, 4);
	bool serves = sim_random(2);

	last_long = sim_random(2);
	if (serves) {
		stream_open(&unread);
		start(unread_reader, NULL);
		for (uint64_t i = some(0, 2); i > 0; i--)
			start(arriver, (void *)(uintptr_t)n);
	}
	for (unsigned i = 0; i < n; i++)
		start(wall_waiter, NULL);
	while (load_seqcst(&way.over) != n) {
		if (serves && !load_seqcst(&two.passing))
			start_two();
		if (sim_random(2))
			nap(some(1000, 1000000));
		else
			ksleep_seen(some(1000, last_long ? 10000000 : 1000000), true);
		if (sim_random(2)) {
			store_seqcst(&last_set, sim_now());
			clock_set((int64_t)some(0, last_long ? 50000000 : 4000000) - (sim_random(4) ? 0 : 4000000));
			store_seqcst(&last_set, sim_now());
		}
	}
	while (load_seqcst(&two.passing))
		nap(100000);
	if (serves)
		stream_end(&unread);
	join_all();
}
