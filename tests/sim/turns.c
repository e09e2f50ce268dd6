/*
 * turns: a workload in which the scheduler's queues are refilled again and again, and what stands in another
 * has its turn.
 *
 * One P, for with more an idle one would take what waits.  Gs pass a baton, so that the P's own queue is never
 * empty; a G that yields stands in the global queue; threads that are no Gs wake others, which stand in the
 * queue of those that were woken without a P.  None of them computes for as long as a slice, so no preemption
 * helps.
 *
 * Must never: ask for a time alone: so many others have had their turn, for so long.
 */
#include "tests/sim/workloads.h"

#include "runtime/park.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

enum { MANY_TURNS = 300, RUNNERS = 4, CALLED = 8 };
enum { SLICE = 200000 }; /* ns */

static struct {
	_Atomic uint32_t baton[RUNNERS]; /* 1: this one has it; its address in the lot */
	_Atomic unsigned local, global, woken; /* turns so far */
	_Atomic unsigned left;           /* of the others, who have not ended */
	unsigned runners, yields, calls, called;
	struct {
		struct mutex m;
		struct cond c;
		unsigned posted;
		_Atomic unsigned taken;
	} box[CALLED];
} turn;

/* How far a queue was when another moved last. */
struct stand {
	unsigned last, others;
	uint64_t when;
};

/* No rule gives the others so many turns: GLOBAL_WAIT_SLICES and WAKEUP_ROW (policy.h), some times. */
static void check_turn(struct stand *s, unsigned now, unsigned others, const char *what)
{
	uint64_t most = 8 * (uint64_t)weft_opt.slice + 20 * (uint64_t)weft_opt.wakeslice;

	if (now != s->last || !s->when)
		*s = (struct stand){ now, others, sim_now() };
	if (others - s->others > MANY_TURNS && sim_now() - s->when > most && !sim.refused)
		sim_fail("%s had no turn while others had %u", what, others - s->others);
}

static int has_baton(void *arg)
{
	return load_seqcst((_Atomic uint32_t *)arg) == 1 || !load_seqcst(&turn.left);
}

static void pass(unsigned to)
{
	store_seqcst(&turn.baton[to], 1);
	lot_wake(&turn.baton[to], 1, 0, READY_TAIL, NULL, NULL);
}

static void runner(void *arg)
{
	static struct stand global;
	unsigned me = (unsigned)(uintptr_t)arg;

	while (load_seqcst(&turn.left)) {
		struct park pk = { .addr = &turn.baton[me], .refuse = has_baton, .arg = &turn.baton[me],
				   .reason = WaitSemaphore };

		while (!has_baton(&turn.baton[me]))
			lot_park(&pk);
		store_seqcst(&turn.baton[me], 0);
		fetch_add_seqcst(&turn.local, 1);
		if (turn.yields && load_seqcst(&turn.global) < turn.yields)
			check_turn(&global, load_seqcst(&turn.global), load_seqcst(&turn.local),
				   "a G in the global queue");
		sim_charge(some(0, 1500));
		pass((me + 1) % turn.runners);
		progress++;
	}
	for (unsigned i = 0; i < turn.runners; i++)
		pass(i);
}

static void yielder(void *arg)
{
	(void)arg;
	while (fetch_add_seqcst(&turn.global, 1) + 1 < turn.yields)
		gosched();
	fetch_sub_seqcst(&turn.left, 1);
}

static void called(void *arg)
{
	static struct stand local;
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < turn.calls; i++) {
		mutex_lock(&turn.box[me].m);
		while (turn.box[me].posted == i)
			cond_wait(&turn.box[me].c, &turn.box[me].m, 0);
		mutex_unlock(&turn.box[me].m);
		sim_charge(some(2000, 8000));
		/* Posted anew from here on, while others run. */
		store_seqcst(&turn.box[me].taken, i + 1);
		fetch_add_seqcst(&turn.woken, 1);
		check_turn(&local, load_seqcst(&turn.local), load_seqcst(&turn.woken), "a G in the P's own queue");
	}
	fetch_sub_seqcst(&turn.left, 1);
}

/* As soon as it is taken the next is there. */
static void caller(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < turn.calls; i++) {
		for (unsigned looks = 0; load_seqcst(&turn.box[me].taken) != i; looks++) {
			if (looks > 60)
				ksleep(3000);
			sim_charge(500);
			sim_yield();
			sim_point(POINT_WORK, "looks");
		}
		mutex_lock(&turn.box[me].m);
		turn.box[me].posted++;
		mutex_unlock(&turn.box[me].m);
		cond_signal(&turn.box[me].c, 1);
	}
}

void workload_turns(void)
{
	struct native *t[CALLED];
	bool calls = sim_chance(2);

	resize(1);
	weft_opt.slice = SLICE;
	turn.runners = (unsigned)some(2, RUNNERS);
	turn.yields = calls ? 0 : (unsigned)some(1, 6);
	turn.called = !calls ? 0 : sim_random(2) ? CALLED : (unsigned)some(1, CALLED);
	turn.calls = sim_random(2) ? 100 : (unsigned)some(1, 100);
	store_seqcst(&turn.left, turn.called + !calls);
	for (unsigned i = 0; i < turn.runners; i++)
		start(runner, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < turn.called; i++) {
		start(called, (void *)(uintptr_t)i);
		t[i] = native_start(caller, (void *)(uintptr_t)i);
	}
	if (!calls)
		start(yielder, NULL);
	pass(0);
	join_all();
	for (unsigned i = 0; i < turn.called; i++)
		native_join(t[i]);
}
