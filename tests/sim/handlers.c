/*
 * handlers: workloads of threads that are no Gs and wait as Gs do, while handlers of the program run there.
 *
 * Only a handler ends such a wait, or what the wait is for; and what the handler does may wait itself.
 *
 * Must never: rely on one signal, for one that comes between two waits ends neither.
 */
#include "tests/sim/workloads.h"

#include <errno.h>

#include "runtime/os/os.h"
#include "runtime/park.h"
#include "runtime/runtime.h"

enum { GUESTS = 3 };
static struct {
	struct mutex m, inner;
	struct cond c;
	struct native *t;
	_Atomic unsigned seen;  /* waits that were over */
	unsigned posted, rounds;
	bool ends;              /* a handler ends each wait; else what is posted does, whatever handlers run */
} guest[GUESTS];
static unsigned nguests;

/* Other handlers run on other threads, and the program has one lock for all of them. */
static void in_handler(void)
{
	unsigned i = (unsigned)sim_random(nguests);

	if (sim_random(2))
		return;
	mutex_lock(&guest[i].inner);
	sim_charge(some(0, 1000));
	mutex_unlock(&guest[i].inner);
}

static int wait_once(unsigned me)
{
	int r;

	if (guest[me].ends && sim_random(2))
		return nap_for_ever();
	mutex_lock(&guest[me].m);
	r = guest[me].posted > load_seqcst(&guest[me].seen) ?
	    0 : cond_wait_once(&guest[me].c, &guest[me].m, sim_random(2) ? 0 : 100000000000);
	if (!guest[me].ends)
		r = guest[me].posted > load_seqcst(&guest[me].seen) ? 1 : 0;
	mutex_unlock(&guest[me].m);
	return r;
}

static void waits(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < guest[me].rounds;) {
		int r = wait_once(me);

		if (r == (guest[me].ends ? -EINTR : 1))
			store_seqcst(&guest[me].seen, ++i);
		else if (r != 0 && r != -EAGAIN && r != -EINTR)
			sim_fail("a wait that only a handler ends said %d", r);
		progress++;
	}
}

static void poker(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < guest[me].rounds; i++) {
		if (!guest[me].ends) {
			if (sim_random(2))
				native_poke(guest[me].t);
			mutex_lock(&guest[me].m);
			guest[me].posted++;
			mutex_unlock(&guest[me].m);
			cond_signal(&guest[me].c, 1);
		}
		for (uint64_t each = 500; load_seqcst(&guest[me].seen) == i; each += each / 8) {
			if (each > 20000000)
				sim_fail("a thread that is no G sleeps although its wait is over");
			if (guest[me].ends || sim_chance(4))
				native_poke(guest[me].t);
			if (each < 3000)
				compute(each);
			else
				nap(each);
		}
	}
}

void workload_handlers(void)
{
	nguests = (unsigned)some(1, GUESTS);
	for (unsigned i = 0; i < nguests; i++) {
		guest[i].rounds = (unsigned)some(1, 15);
		guest[i].ends = sim_random(2);
		guest[i].t = native_start_handled(waits, (void *)(uintptr_t)i, in_handler);
		start(poker, (void *)(uintptr_t)i);
	}
	join_all();
	for (unsigned i = 0; i < nguests; i++)
		native_join(guest[i].t);
}
