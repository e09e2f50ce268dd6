/*
 * guests: a workload of threads of which each keeps the M that it is on (FROMNOW_LOCKED).
 *
 * A G is locked as it leaves its M for the first time, and is woken for the first time at about the same
 * moment.  So each thread here waits once and ends, and its waker does nothing but wake.
 *
 * Must never: let a thread wait twice: the second wait tries nothing that other workloads do not.
 */
#include "tests/sim/workloads.h"

#include "runtime/park.h"
#include "runtime/process.h"
#include "runtime/runtime.h"

enum { HOSTS = 4 };
static struct house {
	struct mutex m;
	_Atomic unsigned queued; /* guests that were, in all */
	unsigned each;           /* guests of a host, one after another */
	_Atomic unsigned left;
} house;

/* As a condvar's waiter: it is queued, on its M still, and others may have to be woken for the mutex. */
static void leave_mutex(void *arg)
{
	struct house *h = arg;

	fetch_add_seqcst(&h->queued, 1);
	mutex_unlock(&h->m);
}

static void guest(void *arg)
{
	struct park pk = { .addr = &house.queued, .queued = leave_mutex, .arg = &house, .reason = WaitCondWait };

	(void)arg;
	mutex_lock(&house.m);
	lot_park(&pk);
	fetch_sub_seqcst(&house.left, 1);
	progress++;
}

static void host(void *arg)
{
	for (unsigned i = 0; i < house.each; i++)
		join(go(guest, arg));
}

/* No G: the woken one goes to the global queue, where any M finds it. */
static void bell(void *arg)
{
	unsigned seen = 0;

	(void)arg;
	while (load_seqcst(&house.left)) {
		unsigned queued = load_seqcst(&house.queued);

		if (queued != seen) {
			lot_wake(&house.queued, queued - seen, 0, READY_NEXT, NULL, NULL);
			seen = queued;
		} else if (sim_chance(16)) {
			ksleep(some(0, 5000));
		}
		sim_yield();
		sim_point(POINT_WORK, "rings");
	}
}

void workload_guests(void)
{
	unsigned hosts = (unsigned)some(1, HOSTS);
	struct native *t;

	house.each = (unsigned)some(1, 60);
	store_seqcst(&house.left, hosts * house.each);
	for (unsigned i = 0; i < hosts; i++)
		start(host, NULL);
	/*
	 * Not before the first thread: with chaos, and a kernel that refuses sysmon and an M, main would wait
	 * for either for good.
	 */
	runtime_fromnow(FROMNOW_LOCKED);
	t = native_start(bell, NULL);
	join_all();
	native_join(t);
}
