/*
 * scarce: a workload whose kernel gives only a few kernel threads until a moment that no task hears of.
 *
 * All Ms that there are wait in the kernel for a G that has none.  When the limit is gone, a thread of the runtime
 * must have asked the kernel again.
 *
 * Must never: let a task do anything when the limit goes.
 */
#include "tests/sim/workloads.h"

#include "runtime/os/os.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

static _Atomic uint32_t gate;

static void waits_in_the_kernel(void *arg)
{
	(void)arg;
	if (sim_random(2))
		entersyscallblock();
	else
		entersyscall();
	while (!load_seqcst(&gate))
		os_futex_wait((uint32_t *)&gate, 0, 0);
	exitsyscall();
}

static void opens(void *arg)
{
	(void)arg;
	compute(some(0, 5000));
	store_seqcst(&gate, 1);
	os_futex_wake((uint32_t *)&gate, MAXTASKS);
}

static void nothing(void *arg)
{
	(void)arg;
}

void workload_scarce(void)
{
	unsigned most = (unsigned)some(1, 6);

	start(nothing, NULL); /* without sysmon there are no threads at all */
	world_limit(most + sim.ntasks, sim_now() + (sim_random(4) ? some(0, 300000) : some(0, 900000000)));
	for (unsigned i = 0; i < most + 2; i++)
		start(waits_in_the_kernel, NULL);
	if (sim_random(2))
		nap(some(0, 1000000));
	start(opens, NULL);
	join_all();
}
