/*
 * rests: workloads of Ms that wait in the kernel, for an epoll of the program's or in a call that lasts, and of
 * wakers that go on.
 *
 * Must never: leave to a later wake-up what an earlier one should have done: each byte and each item is waited for.
 */
#include "tests/sim/workloads.h"

#include <errno.h>

#include "runtime/netpoll.h"
#include "runtime/preempt.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

/* ---- event loops that wait in their own epoll, or park when they are not alone ------------------- */

enum { LOOPS = 4 };
static struct {
	struct stream in;        /* the epoll: readable when it has an event */
	_Atomic unsigned read;
	unsigned rounds;
	bool locked;             /* the loop's thread is locked to its M */
} loops[LOOPS];
static unsigned nloops;

/* As shim/fd/poll.c: in the kernel if the runtime says so; else parked. */
static int loop_wait(struct stream *s, uint64_t ns)
{
	int n = sim_random(2) ? -EAGAIN : fd_read(s->fd, 1);

	if (n != -EAGAIN)
		return n;
	if (!entersyscallwait(&s->slot, s->fd))
		return stream_read(s, 1, ns ? sim_now() + ns : 0);
	fd_wait(s->fd, ns ? sim_now() + ns : 0);
	exitsyscall();
	return fd_read(s->fd, 1);
}

static void event_loop(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	if (loops[me].locked)
		lockosthread(LOCK_SHARED, 0);
	for (unsigned i = 0; i < loops[me].rounds;) {
		int n = loop_wait(&loops[me].in, sim_chance(4) ? some(1000, 200000) : 0);

		if (n == 1)
			store_seqcst(&loops[me].read, ++i);
		else if (n != -EAGAIN && n != -ETIMEDOUT && !(n == -EBADF && sim.refused))
			sim_fail("an event loop's wait said %d", n);
		if (sim_chance(8))
			compute(some(0, 30000));
		progress++;
	}
	if (loops[me].locked && sim_random(2))
		unlockosthread(false);
}

static void feed(unsigned me, void (*pause)(uint64_t))
{
	for (unsigned i = 0; i < loops[me].rounds; i++) {
		for (uint64_t each = 500; load_seqcst(&loops[me].read) != i; each += each / 8) {
			if (each > 20000000)
				sim_fail("an event loop sleeps beside its event");
			pause(each);
		}
		stream_write(&loops[me].in, 1);
	}
	while (load_seqcst(&loops[me].read) != loops[me].rounds)
		pause(20000);
	stream_end(&loops[me].in); /* for those who only look */
}

static void native_feeder(void *arg)
{
	feed((unsigned)(uintptr_t)arg, ksleep);
}

/* By turns parked and in the kernel. */
static void pause_of_g(uint64_t ns)
{
	if (sim_random(2))
		nap(ns);
	else
		ksleep_seen(ns, sim_random(2));
}

static void feeder(void *arg)
{
	feed((unsigned)(uintptr_t)arg, pause_of_g);
}

/* Another thread that asks for the same epoll. */
static void second_user(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	while (load_seqcst(&loops[me].read) != loops[me].rounds) {
		stream_poll(&(struct stream *){ &loops[me].in }, 1, sim_random(2) ? sim_now() + some(1, 20000) : 0);
		nap(some(0, 100000));
	}
}

void workload_rests(void)
{
	struct native *t[LOOPS] = { NULL };

	nloops = (unsigned)some(1, LOOPS);
	if (!weft_opt.chaos && sim_random(2))
		weft_opt.chaos = 1; /* they rest without having been alone for long */
	for (unsigned i = 0; i < nloops; i++) {
		loops[i].rounds = (unsigned)some(1, 60);
		loops[i].locked = sim_chance(4);
		stream_open(&loops[i].in);
		start(event_loop, (void *)(uintptr_t)i);
		if (sim_random(2))
			start(feeder, (void *)(uintptr_t)i);
		else
			t[i] = native_start(native_feeder, (void *)(uintptr_t)i);
		if (sim_chance(4))
			start(second_user, (void *)(uintptr_t)i);
	}
	join_all();
	for (unsigned i = 0; i < nloops; i++)
		if (t[i])
			native_join(t[i]);
}

/* ---- wakers that compute on ------------------------------------------------------------------- */

static struct {
	struct mutex m;
	struct cond c;
	unsigned items, left;
} shelf;

static void fetcher(void *arg)
{
	(void)arg;
	mutex_lock(&shelf.m);
	while (shelf.left) {
		while (!shelf.items && shelf.left)
			cond_wait(&shelf.c, &shelf.m, 0);
		if (!shelf.items)
			break;
		shelf.items--;
		if (--shelf.left == 0)
			cond_signal(&shelf.c, ~0u);
		mutex_unlock(&shelf.m);
		progress++;
		compute(some(0, 20000));
		mutex_lock(&shelf.m);
	}
	mutex_unlock(&shelf.m);
}

static void layer(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;
	uint64_t most = 1000u << sim_random(10);

	for (unsigned i = 0; i < n; i++) {
		mutex_lock(&shelf.m);
		shelf.items++;
		mutex_unlock(&shelf.m);
		cond_signal(&shelf.c, 1);
		for (uint64_t ns = some(0, most), piece = ns / 16 + 200; ns > piece; ns -= piece) {
			sim_charge(piece);
			sim_point(POINT_WORK, "computes");
			runtime_checkyield();
		}
	}
}

void workload_wakers(void)
{
	unsigned wakers = (unsigned)some(1, 3), n = (unsigned)some(1, 25);

	if (sim_random(2))
		need_slices();
	shelf.left = wakers * n;
	for (uint64_t i = some(1, 5); i > 0; i--)
		start(fetcher, NULL);
	for (unsigned i = 0; i < wakers; i++)
		start(layer, (void *)(uintptr_t)n);
	join_all();
	if (shelf.items || shelf.left)
		sim_fail("%u items are left", shelf.left);
}

/* ---- tides: many Ms, which sleep for so long that they are given up, and come anew ---------------- */

static struct {
	struct mutex m;
	struct cond c;
	unsigned phase, phases;
} tide;

static void swimmer(void *arg)
{
	(void)arg;
	for (unsigned p = 0; p < tide.phases; p++) {
		ksleep_seen(some(1000, 200000), sim_random(4));
		if (sim_random(2))
			compute(some(0, 100000));
		mutex_lock(&tide.m);
		while (tide.phase == p)
			cond_wait(&tide.c, &tide.m, 0);
		mutex_unlock(&tide.m);
		progress++;
	}
}

void workload_tides(void)
{
	tide.phases = (unsigned)some(1, 4);
	for (uint64_t i = some(1, 12); i > 0; i--)
		start(swimmer, NULL);
	for (unsigned p = 0; p < tide.phases; p++) {
		nap(sim_random(2) ? some(0, 300000) : some(0, 14000000000));
		mutex_lock(&tide.m);
		tide.phase = p + 1;
		mutex_unlock(&tide.m);
		cond_signal(&tide.c, ~0u);
	}
	join_all();
}

/* ---- calls that last while others wait for the P ------------------------------------------------- */

static _Atomic unsigned asking;

/* From the same place each time, so that it learns to give its P away; some do not wait at all. */
static void asker(void *arg)
{
	(void)arg;
	for (uint64_t i = some(2, 12); i > 0; i--) {
		entersyscall();
		sim_point(POINT_CALL, "asks");
		if (sim_chance(3))
			sim_charge(some(0, 400000)); /* computes in the kernel */
		else
			task_block(sim_now() + 1 + (sim_random(2) ? some(0, 5000) : some(100000, 4000000)), WHY_KERNEL);
		exitsyscall();
		compute(some(0, 3000));
		progress++;
	}
	fetch_sub_seqcst(&asking, 1);
}

static void worker_beside(void *arg)
{
	(void)arg;
	while (load_seqcst(&asking)) {
		for (uint64_t k = some(1, 8); k > 0; k--) {
			sim_charge(some(0, 20000));
			sim_point(POINT_WORK, "computes");
			runtime_checkyield();
		}
		if (sim_random(2))
			nap(some(0, 200000));
		else
			gosched();
	}
}

void workload_retakes(void)
{
	unsigned n = (unsigned)some(1, 6);

	need_slices();
	store_seqcst(&asking, n);
	for (unsigned i = 0; i < n; i++)
		start(asker, NULL);
	for (uint64_t i = some(0, 4); i > 0; i--)
		start(worker_beside, NULL);
	join_all();
}
