/*
 * dozes: workloads for sysmon's own promises: a P that is taken while sysmon goes to its deep sleep, and Gs
 * that compute on without a P.
 *
 * Must never: change what sysmon reads.
 */
#include "tests/sim/workloads.h"

#include "runtime/preempt.h"
#include "runtime/running.h"
#include "runtime/runtime.h"
#include "runtime/sched/gmp.h"

/* ---- woken as sysmon lies down ----------------------------------------------------------------- */

static struct {
	struct mutex m;
	struct cond c;
	unsigned posted, rounds;
	_Atomic unsigned taken;
} doze;

/* Blocks unseen, so that all CPUs are idle and its P is not. */
static void woken(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < doze.rounds; i++) {
		mutex_lock(&doze.m);
		while (doze.posted == i)
			cond_wait(&doze.c, &doze.m, 0);
		mutex_unlock(&doze.m);
		ksleep(some(0, 30000000));
		store_seqcst(&doze.taken, i + 1);
		progress++;
	}
}

/* Until sysmon's sleep is over; 0 ns: it does not sleep until then, or not at all. */
static uint64_t until_look(void)
{
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].sysmon && sim.tasks[i].state == TASK_BLOCKED && sim.tasks[i].deadline > sim_now())
			return sim.tasks[i].deadline - sim_now();
	return 0;
}

static void waker(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < doze.rounds; i++) {
		while (load_seqcst(&doze.taken) != i)
			ksleep(1000000);
		for (uint64_t looks = some(1, 16); looks > 0 && until_look(); looks--)
			ksleep(until_look() + some(0, 6000));
		mutex_lock(&doze.m);
		doze.posted++;
		mutex_unlock(&doze.m);
		cond_signal(&doze.c, 1);
	}
}

void workload_dozes(void)
{
	struct native *t;

	doze.rounds = (unsigned)some(1, 6);
	start(woken, NULL);
	t = native_start(waker, NULL);
	join_all();
	native_join(t);
}

/* ---- on without a P ------------------------------------------------------------------------------ */

static _Atomic unsigned intruders;

/* Its M stays the same for as long as it has no P. */
static uint64_t last_asked(void)
{
	const struct m *mp = load_relaxed(&weft_tls.g->m);

	return mp->proddedwhen;
}

/* In libc for longer than sysmon leaves it a P, then it computes and never asks the runtime. */
static void intruder(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 4); i > 0; i--) {
		uint64_t since = 0, asked = 0, most = some(0, LOST + 40000000);

		ksleep(some(100000, 20000000));
		for (uint64_t began = sim_now(); sim_now() < began + most && load_seqcst(&intruders) > 0;) {
			sim_charge(4000);
			sim_point(POINT_WORK, "computes in libc");
			if (load_relaxed(&weft_tls.revoke) == REVOKE_NONE || !since || asked != last_asked())
				since = sim_now(), asked = last_asked();
			else if (sim_now() - since > LOST && opt.procs <= opt.cpus && !opt.pct)
				sim_fail("a G computes without a P, and was not asked for %lu us",
					 (sim_now() - since) / 1000);
		}
		gosched();
		progress++;
	}
	fetch_sub_seqcst(&intruders, 1);
}

/* While one computes sysmon has its looks. */
static void beside(void *arg)
{
	(void)arg;
	while (load_seqcst(&intruders) > 0) {
		sim_charge(4000);
		sim_point(POINT_WORK, "computes");
		runtime_checkyield();
	}
}

void workload_intruders(void)
{
	unsigned n = (unsigned)some(1, 3);

	need_slices();
	store_seqcst(&intruders, n);
	for (unsigned i = 0; i < n; i++)
		start(intruder, NULL);
	for (uint64_t i = some(1, 2); i > 0; i--)
		start(beside, NULL);
	join_all();
}
