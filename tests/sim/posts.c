/*
 * posts: workloads with kernel threads that are no Gs: they wake Gs at moments of their own, or take CPUs from
 * all others.
 *
 * Must never: let such a thread wait for a G as a G waits: what it is answered, it sees in a word.
 */
#include "tests/sim/workloads.h"

#include "runtime/preempt.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

/* ---- Gs that are woken from outside, each moment again ------------------------------------------ */

enum { BOXES = 3 };
static struct {
	struct mutex m;
	struct cond c;
	unsigned posted;
	_Atomic unsigned taken;
	unsigned rounds;
} boxes[BOXES];

static void receiver(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < boxes[me].rounds; i++) {
		mutex_lock(&boxes[me].m);
		while (boxes[me].posted == i)
			cond_wait(&boxes[me].c, &boxes[me].m, 0);
		mutex_unlock(&boxes[me].m);
		store_seqcst(&boxes[me].taken, i + 1);
		progress++;
	}
}

/* Computes, as little as the Ms look for work before they sleep, or some times that. */
static void toil(uint64_t most)
{
	enum { PIECE = 300 };

	for (uint64_t ns = some(0, most); ns > PIECE; ns -= PIECE) {
		sim_charge(PIECE);
		sim_yield();
		sim_point(POINT_WORK, "computes");
	}
}

static void poster(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t most = 500u << sim_random(8);

	for (unsigned i = 0; i < boxes[me].rounds; i++) {
		for (uint64_t each = 1000; load_seqcst(&boxes[me].taken) != i; each += each / 16) {
			if (each > 8000000)
				sim_fail("a G sleeps beside what was posted to it");
			if (each < 3000)
				toil(each);
			else
				ksleep(each);
		}
		toil(most);
		mutex_lock(&boxes[me].m);
		boxes[me].posted++;
		mutex_unlock(&boxes[me].m);
		cond_signal(&boxes[me].c, 1);
	}
}

void workload_posts(void)
{
	struct native *t[BOXES];
	unsigned n = (unsigned)some(1, BOXES);

	for (unsigned i = 0; i < n; i++) {
		boxes[i].rounds = (unsigned)some(1, 40);
		start(receiver, (void *)(uintptr_t)i);
		t[i] = native_start(poster, (void *)(uintptr_t)i);
	}
	join_all();
	for (unsigned i = 0; i < n; i++)
		native_join(t[i]);
}

/* ---- a machine that others use, too: an M may be without a CPU for long --------------------------- */

static _Atomic unsigned beside;

/* As another process: whole slices of the kernel's. */
static void hog(void *arg)
{
	(void)arg;
	while (load_seqcst(&beside)) {
		sim_charge(some(10000, 200000));
		sim_point(POINT_WORK, "computes");
		if (sim_chance(32))
			ksleep(some(0, 2000000));
	}
}

/* A call as soon as its slice is over: what asks it to give way is on its way, or may be sent again. */
static void late_caller(void *arg)
{
	(void)arg;
	for (uint64_t i = some(2, 20); i > 0; i--) {
		uint64_t ns = some(0, 2 * (uint64_t)weft_opt.slice);

		for (uint64_t piece = ns / 8 + 1; ns > piece; ns -= piece) {
			sim_charge(piece);
			sim_point(POINT_WORK, "computes");
			runtime_checkyield();
		}
		for (uint64_t k = some(1, 4); k > 0; k--)
			ksleep_seen(some(0, 2000), false);
		progress++;
	}
	fetch_sub_seqcst(&beside, 1);
}

void workload_hogs(void)
{
	enum { HOGS = 8 };
	struct native *t[HOGS];
	unsigned n = (unsigned)some(2, 6), hogs = (unsigned)some(1, HOGS);

	need_slices();
	store_seqcst(&beside, n);
	for (unsigned i = 0; i < hogs; i++)
		t[i] = native_start(hog, NULL);
	for (unsigned i = 0; i < n; i++)
		start(late_caller, NULL);
	join_all();
	while (hogs > 0)
		native_join(t[--hogs]);
}
