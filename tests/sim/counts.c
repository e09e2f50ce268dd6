/*
 * counts: workloads of CPU time that others ask for, and of main, which becomes the only thread that the kernel knows.
 *
 * Must never: ask for the time of a thread that may have been joined.
 */
#include "tests/sim/workloads.h"

#include "runtime/process.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

/* ---- CPU time of threads that switch, asked for by each other ------------------------------------- */

enum { COUNTED = 5 };
static struct {
	struct thread *t[COUNTED];
	unsigned n;
	struct mutex m;
	_Atomic unsigned left;
	unsigned inside;
} counted;

/* The shim's lock for its own data: nothing parks in it. */
static struct shimlock notes = SHIMLOCK(Actions);

static void note(void)
{
	shimlock(&notes);
	if (counted.inside++)
		sim_fail("two in the shim's lock");
	sim_charge(some(0, 500));
	sim_point(POINT_WORK, "notes");
	counted.inside--;
	shimunlock(&notes);
}

static void uses(void)
{
	switch (sim_random(6)) {
	case 1:
		nap(some(0, 30000));
		break;
	case 2:
		ksleep_seen(some(0, 30000), sim_random(2));
		break;
	case 3:
		gosched();
		break;
	case 4:
		mutex_lock(&counted.m);
		compute(some(0, 2000));
		mutex_unlock(&counted.m);
		break;
	default:
		compute(some(0, 20000));
	}
}

/* What a thread has used never becomes less. */
static void look(struct thread *t, uint64_t *last)
{
	uint64_t now = cputime(t);

	if (now < *last)
		sim_fail("a CPU time became less by %lu ns", *last - now);
	*last = now;
}

static void asks(void *arg)
{
	uint64_t last = 0;
	bool locked = sim_random(4) == 1;

	(void)arg;
	if (locked)
		lockosthread(LOCK_SHARED, 0);
	for (uint64_t i = some(1, 60); i > 0; i--) {
		uint64_t own, piece = some(0, 1000);

		uses();
		if (sim_chance(3))
			note();
		look(NULL, &last);
		own = last;
		sim_charge(piece);
		look(NULL, &last);
		if (last < own + piece)
			sim_fail("%lu ns were used, and %lu counted", piece, last - own);
		progress++;
	}
	if (locked && sim_random(2))
		unlockosthread(false);
	fetch_sub_seqcst(&counted.left, 1);
}

/* No G: it looks while they switch. */
static void watches(void *arg)
{
	uint64_t last[COUNTED] = { 0 };

	(void)arg;
	while (load_seqcst(&counted.left)) {
		for (unsigned i = 0; i < counted.n; i++)
			look(counted.t[i], &last[i]);
		if (sim_chance(16))
			ksleep(some(0, 10000));
		sim_yield();
		sim_point(POINT_WORK, "watches");
	}
}

void workload_counted(void)
{
	struct native *watcher;

	counted.n = (unsigned)some(1, COUNTED);
	store_seqcst(&counted.left, counted.n);
	for (unsigned i = 0; i < counted.n; i++)
		counted.t[i] = start(asks, NULL);
	watcher = native_start(watches, NULL);
	while (load_seqcst(&counted.left))
		nap(50000);
	native_join(watcher);
	join_all();
}

/* ---- main alone ---------------------------------------------------------------------------------- */

static void visitor(void *arg)
{
	(void)arg;
	for (uint64_t i = some(0, 4); i > 0; i--)
		uses();
	progress++;
}

/*
 * Threads come, wait here and there, and go; each time all that is left of them must go, too, and then they
 * come again.
 */
void workload_single(void)
{
	for (uint64_t rounds = some(1, 6); rounds > 0; rounds--) {
		for (uint64_t i = some(0, 5); i > 0; i--)
			start(visitor, NULL);
		uses();
		join_all();
		if (sim_random(2))
			uses();
		/*
		 * It waits for the others for so long that a second time is not needed, but for a kernel that
		 * refuses threads.
		 */
		if (!become_single() && !sim.refused)
			sim_fail("main is the only thread, and others stay");
	}
}
