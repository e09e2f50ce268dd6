/*
 * races: workloads of which each round rests on one wake-up.  In those of workloads.c the next one would make a
 * lost one good.
 */
#include "tests/sim/sim.h"

#include <errno.h>

#include "runtime/running.h"
#include "runtime/runtime.h"
#include "tests/sim/workloads.h"

/* ---- requests and replies over descriptors ---------------------------------------------------- */

static struct {
	struct stream in[2];
	unsigned rounds;
} talks[3];

static void talker(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, t = me / 2, side = me % 2;
	int n;

	for (unsigned i = 0; i < talks[t].rounds; i++) {
		if (side == 0 || i > 0)
			stream_write(&talks[t].in[!side], 1);
		if (sim_random(8) == 1)
			compute(some(0, 3000));
		while ((n = stream_read(&talks[t].in[side], 1, 0)) != 1)
			if (n != -EAGAIN)
				sim_fail("a read said %d", n);
		progress++;
	}
	if (side == 1)
		stream_write(&talks[t].in[0], 1);
}

void workload_replies(void)
{
	unsigned n = (unsigned)some(1, 3);

	for (unsigned t = 0; t < n; t++) {
		talks[t].rounds = (unsigned)some(1, 25);
		stream_open(&talks[t].in[0]);
		stream_open(&talks[t].in[1]);
		start(talker, (void *)(uintptr_t)(2 * t));
		start(talker, (void *)(uintptr_t)(2 * t + 1));
	}
	join_all();
}

/* ---- edges that come while their only reader is about to wait ---------------------------------- */

enum { EDGES = 3 };
static struct {
	struct stream in;
	_Atomic unsigned read;
	unsigned rounds;
} edges[EDGES];

static void edge_reader(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < edges[me].rounds;) {
		int n = stream_read(&edges[me].in, 1, 0);

		if (n == 1)
			store_seqcst(&edges[me].read, ++i);
		else if (n != -EAGAIN)
			sim_fail("a read said %d", n);
		progress++;
	}
}

/* No G: an M that idles polls, and tells of the edge at its own time. */
static void edge_writer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < edges[me].rounds; i++) {
		for (uint64_t each = 1000; load_seqcst(&edges[me].read) != i; each += each / 16) {
			if (each > 4000000)
				sim_fail("a reader sleeps beside its byte");
			ksleep(each);
		}
		stream_write(&edges[me].in, 1);
	}
}

/* Keeps another M from sleeping, which then polls. */
static void edge_stirrer(void *arg)
{
	(void)arg;
	while (load_seqcst(&edges[0].read) != edges[0].rounds) {
		ksleep_seen(some(0, 20000), sim_random(2));
		nap(some(0, 10000));
	}
}

void workload_edges(void)
{
	struct native *t[EDGES];
	unsigned n = (unsigned)some(1, EDGES);

	for (unsigned i = 0; i < n; i++) {
		edges[i].rounds = (unsigned)some(1, 30);
		stream_open(&edges[i].in);
		start(edge_reader, (void *)(uintptr_t)i);
		t[i] = native_start(edge_writer, (void *)(uintptr_t)i);
	}
	for (uint64_t i = some(0, 2); i > 0; i--)
		start(edge_stirrer, NULL);
	join_all();
	for (unsigned i = 0; i < n; i++)
		native_join(t[i]);
}

/* ---- event loops that wait in the kernel with their M while others park ------------------------ */

static _Atomic unsigned loops_left;

/* A wait in the kernel while the P is idle, or what a loop does instead. */
static void loop_waits(uint64_t ns)
{
	static pollslot unwatched;

	if (!entersyscallwait(&unwatched, -1)) {
		nap(ns);
		return;
	}
	ksleep(ns);
	exitsyscall();
}

static void loop(void *arg)
{
	unsigned rounds = (unsigned)some(20, 80);

	(void)arg;
	for (unsigned i = 0; i < rounds; i++) {
		loop_waits(some(500, 8000));
		if (sim_random(8) == 0)
			compute(some(0, 4000));
		progress++;
	}
	fetch_sub_seqcst(&loops_left, 1);
}

/* Beside them: a G that sleeps seldom, so that they are alone for many waits. */
static void loop_sleeper(void *arg)
{
	(void)arg;
	while (load_seqcst(&loops_left))
		nap(some(20000, 300000));
}

void workload_loops(void)
{
	struct native *t = NULL;
	unsigned n = (unsigned)some(1, 3);

	store_seqcst(&loops_left, n);
	for (unsigned i = 0; i < n; i++)
		start(loop, NULL);
	if (sim_random(2))
		start(loop_sleeper, NULL);
	if (sim_random(2)) {
		edges[0].rounds = (unsigned)some(1, 12);
		stream_open(&edges[0].in);
		start(edge_reader, (void *)0);
		t = native_start(edge_writer, (void *)0);
	}
	join_all();
	if (t)
		native_join(t);
}

/* ---- several readers of one descriptor, each of which takes its part and goes ------------------ */

enum { PART = 10 };
static struct stream shared;

static void part_reader(void *arg)
{
	unsigned left = PART;
	int n;

	(void)arg;
	while (left) {
		n = stream_read(&shared, left, 0);
		if (n <= 0 && n != -EAGAIN)
			sim_fail("a read said %d", n);
		if (n > 0)
			left -= (unsigned)n;
	}
	progress++;
}

static void part_writer(void *arg)
{
	unsigned left = (unsigned)(uintptr_t)arg * PART;

	while (left) {
		unsigned n = sim_chance(3) ? left : (unsigned)some(1, left);

		stream_write(&shared, n);
		left -= n;
		if (sim_random(2))
			nap(some(0, 100000));
	}
}

void workload_sharers(void)
{
	uint64_t n = some(2, 5);

	stream_open(&shared);
	for (uint64_t i = n; i > 0; i--)
		start(part_reader, NULL);
	start(part_writer, (void *)(uintptr_t)n);
	join_all();
}

/* ---- timers that are deleted while they fire --------------------------------------------------- */

enum { PAIRS = 4 };
static struct {
	struct mutex m;
	struct cond c;
	uint64_t at;
	unsigned rounds;
} pairs[PAIRS];

static void timed_waiter(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < pairs[me].rounds; i++) {
		uint64_t now = sim_now();

		pairs[me].at = now + some(2000, 60000);
		mutex_lock(&pairs[me].m);
		cond_wait(&pairs[me].c, &pairs[me].m, pairs[me].at - now);
		mutex_unlock(&pairs[me].m);
		progress++;
	}
	pairs[me].at = 0;
}

static void late_signaller(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < 2 * pairs[me].rounds && (i == 0 || pairs[me].at); i++) {
		uint64_t at = pairs[me].at, now = sim_now();

		if (sim_random(2) == 0)
			compute(at > now ? at - now : some(0, 2000));
		else
			nap(at > now ? at - now : some(0, 2000));
		cond_signal(&pairs[me].c, 1);
	}
}

void workload_timers(void)
{
	for (uint64_t i = some(1, PAIRS); i > 0; i--) {
		pairs[i - 1].rounds = (unsigned)some(1, 20);
		start(timed_waiter, (void *)(uintptr_t)(i - 1));
		start(late_signaller, (void *)(uintptr_t)(i - 1));
	}
	join_all();
}

/* ---- timers that are set while other Ms go idle ------------------------------------------------- */

static unsigned alarm_rounds;
static bool alarms_soon;

/* From the kernel, so that each comes back on its own M, and all at about the same time. */
static void alarmed(void *arg)
{
	uint64_t each = 40000 + 1000 * (uint64_t)(uintptr_t)arg;

	for (unsigned i = 0; i < alarm_rounds; i++) {
		if (alarms_soon) {
			ksleep_seen(some(0, 3000), true);
			compute(some(0, 20000)); /* one sets its timer while another's M goes idle */
		} else {
			ksleep_seen(each + some(0, 500), sim_random(2));
		}
		nap(some(1000, 100000));
		progress++;
	}
}

void workload_alarms(void)
{
	alarms_soon = sim_random(4);
	alarm_rounds = (unsigned)some(1, alarms_soon ? 60 : 30);
	for (uint64_t i = some(1, 3); i > 0; i--)
		start(alarmed, (void *)i);
	if (alarms_soon || sim_random(2)) {
		stream_open(&shared);
		start(part_reader, NULL);
		nap(some(10000, 1000000));
		stream_write(&shared, PART);
	}
	join_all();
}

/* ---- broadcasts, which move the waiters to the mutex ------------------------------------------- */

static struct {
	struct mutex m;
	struct cond all, done;
	unsigned phase, phases, arrived, n;
} bar;

static void phased(void *arg)
{
	(void)arg;
	for (unsigned p = 0; p < bar.phases; p++) {
		mutex_lock(&bar.m);
		if (++bar.arrived == bar.n)
			cond_signal(&bar.done, 1);
		while (bar.phase == p)
			cond_wait(&bar.all, &bar.m, sim_chance(4) ? some(1000, 50000) : 0);
		mutex_unlock(&bar.m);
		progress++;
	}
}

void workload_broadcasts(void)
{
	bar.n = (unsigned)some(1, 8);
	bar.phases = (unsigned)some(1, 8);
	for (unsigned i = 0; i < bar.n; i++)
		start(phased, NULL);
	for (unsigned p = 0; p < bar.phases; p++) {
		bool under = sim_random(2) == 0;

		mutex_lock(&bar.m);
		while (bar.arrived != bar.n)
			cond_wait(&bar.done, &bar.m, 0);
		bar.arrived = 0;
		bar.phase = p + 1;
		if (under)
			cond_broadcast(&bar.all, &bar.m);
		mutex_unlock(&bar.m);
		if (!under)
			cond_broadcast(&bar.all, &bar.m);
	}
	join_all();
}

/* ---- interrupts of every wait ------------------------------------------------------------------ */

static struct {
	_Atomic unsigned seen, sent;
	unsigned rounds;
	struct thread *t;
	struct mutex m;
	struct cond c;
	struct stream in;
} target[3];

/* Only an interrupt ends any of these. */
static int wait_for_ever(unsigned me)
{
	int r;

	switch (sim_random(5)) {
	case 0:
		return nap_for_ever();
	case 1:
		return nap(100000000000);
	case 2:
		mutex_lock(&target[me].m);
		r = cond_wait_once(&target[me].c, &target[me].m, sim_random(2) ? 0 : 100000000000);
		mutex_unlock(&target[me].m);
		return r;
	case 3:
		return stream_read(&target[me].in, 1, 0);
	default:
		return stream_poll(&(struct stream *){ &target[me].in }, 1, 0);
	}
}

static void interrupted(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < target[me].rounds;) {
		int r = wait_for_ever(me);

		/*
		 * One may end two: that which saw it before it queued, and the next, if the look for a waiter
		 * comes so late.
		 */
		if (r == -EINTR && i >= 2 * load_seqcst(&target[me].sent))
			sim_fail("a wait ended that was not interrupted");
		if (r == -EINTR)
			store_seqcst(&target[me].seen, ++i);
		else if (r != -EAGAIN)
			sim_fail("a wait for ever said %d", r);
		progress++;
	}
}

static void interrupter(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < target[me].rounds; i++) {
		if (sim_chance(3))
			compute(some(0, 5000));
		fetch_add_seqcst(&target[me].sent, 1);
		interrupt(target[me].t);
		/* Each must end one wait before the next comes. */
		for (unsigned k = 0; load_seqcst(&target[me].seen) == i; k++) {
			if (k < 20)
				compute(200);
			else
				nap(100000);
		}
	}
}

void workload_cancels(void)
{
	unsigned n = (unsigned)some(1, 3);

	for (unsigned i = 0; i < n; i++) {
		target[i].rounds = (unsigned)some(1, 30);
		stream_open(&target[i].in);
		target[i].t = start(interrupted, (void *)(uintptr_t)i);
		start(interrupter, (void *)(uintptr_t)i);
	}
	join_all();
}

/* ---- a number of Ps that changes --------------------------------------------------------------- */

static _Atomic unsigned resizing;

static void resizer(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 20); i > 0; i--) {
		resize((unsigned)some(1, 6));
		if (sim_random(2))
			nap(some(0, sim_random(2) ? 10000 : 300000));
		else
			compute(some(0, sim_random(2) ? 2000 : 100000));
	}
	fetch_sub_seqcst(&resizing, 1);
}

/* Waits while others compute: its timer may be on a P that goes. */
static void awaiter(void *arg)
{
	(void)arg;
	uint64_t most = sim_random(2) ? 20000 : 2000000; /* short: Ms go idle all the time, with timers on their Ps */

	for (uint64_t i = most > 20000 ? some(1, 4) : some(1, 30); i > 0; i--)
		nap(some(0, most));
	fetch_sub_seqcst(&resizing, 1);
}

/* Two that wake each other long before their deadlines: the timer is deleted while it goes from a P to another. */
static struct {
	struct mutex m;
	struct cond c;
	unsigned turn;
} hurry;

static void hurrier(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	mutex_lock(&hurry.m);
	while (load_seqcst(&resizing)) {
		if (hurry.turn % 2 != me) {
			cond_wait(&hurry.c, &hurry.m, some(2000000, 9000000));
			continue;
		}
		hurry.turn++;
		mutex_unlock(&hurry.m);
		cond_signal(&hurry.c, 1);
		compute(some(0, 3000));
		mutex_lock(&hurry.m);
	}
	mutex_unlock(&hurry.m);
	cond_signal(&hurry.c, 2);
}

static void until_resized(void *arg)
{
	(void)arg;
	while (load_seqcst(&resizing)) {
		compute(some(2000, 50000));
		if (sim_chance(4))
			gosched();
	}
}

void workload_resizes(void)
{
	unsigned waiters = (unsigned)some(1, 4);

	need_slices();
	store_seqcst(&resizing, waiters + 1);
	for (unsigned i = 0; i < waiters; i++)
		start(awaiter, NULL);
	for (uint64_t i = sim_random(2) ? 0 : some(0, 5); i > 0; i--)
		start(until_resized, NULL);
	for (uintptr_t i = sim_random(2) ? 0 : 2; i > 0; i--)
		start(hurrier, (void *)(i - 1));
	start(resizer, NULL);
	join_all();
}

/* ---- yields, which pass through the runtime by the shortest way -------------------------------- */

static unsigned yields;

static void yielder(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < yields; i++) {
		gosched();
		if (sim_random(4) == 1)
			compute(some(0, 1000));
		progress++;
	}
}

void workload_yields(void)
{
	yields = (unsigned)some(1, 400);
	if (!weft_opt.chaos && sim_random(4))
		weft_opt.chaos = 1; /* Ps are taken from Ms that run */
	for (uint64_t i = some(2, 5); i > 0; i--)
		start(yielder, NULL);
	join_all();
}

/* ---- Gs that meet from Ms of their own: one waits, the other wakes it and waits itself --------------- */

static struct {
	struct mutex m;
	struct cond c[3];
	unsigned turn, n, rounds;
} meeting;

static void meets(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < meeting.rounds; i++) {
		ksleep_seen(some(0, 3000), true);
		mutex_lock(&meeting.m);
		while (meeting.turn % meeting.n != me)
			cond_wait(&meeting.c[me], &meeting.m, 0);
		meeting.turn++;
		mutex_unlock(&meeting.m);
		cond_signal(&meeting.c[(me + 1) % meeting.n], 1);
		progress++;
	}
}

void workload_meetings(void)
{
	meeting.n = (unsigned)some(2, 3);
	meeting.rounds = (unsigned)some(1, 40);
	for (unsigned i = 0; i < meeting.n; i++)
		start(meets, (void *)(uintptr_t)i);
	join_all();
}

/* ---- threads that come and go ------------------------------------------------------------------ */

static _Atomic unsigned detached_left;

static void brief(void *arg)
{
	(void)arg;
	if (sim_chance(3))
		compute(some(0, 5000));
	else if (sim_chance(3))
		nap(some(0, 50000));
	else if (sim_chance(4))
		ksleep_seen(some(0, 50000), sim_random(2));
	progress++;
}

static void brief_detached(void *arg)
{
	brief(arg);
	fetch_sub_seqcst(&detached_left, 1);
}

static void creator(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 6); i > 0; i--) {
		struct thread *kids[6];
		unsigned n = (unsigned)some(0, 6);

		for (unsigned k = 0; k < n; k++)
			kids[k] = go(brief, NULL);
		for (uint64_t k = some(0, 4); k > 0; k--) {
			fetch_add_seqcst(&detached_left, 1);
			go_detached(brief_detached, NULL);
		}
		while (n > 0)
			join(kids[--n]);
	}
}

void workload_storms(void)
{
	for (uint64_t i = some(1, 4); i > 0; i--)
		start(creator, NULL);
	join_all();
	while (load_seqcst(&detached_left))
		nap(100000);
}

/* ---- Ms that are set aside for one G ----------------------------------------------------------- */

static struct {
	struct mutex m;
	struct cond c;
	unsigned turn, n, rounds;
} ring;

static void ring_member(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	bool locked = sim_random(2);

	if (locked)
		lockosthread(LOCK_SHARED, 0);
	for (unsigned i = 0; i < ring.rounds; i++) {
		mutex_lock(&ring.m);
		while (ring.turn % ring.n != me)
			cond_wait(&ring.c, &ring.m, 0);
		ring.turn++;
		mutex_unlock(&ring.m);
		cond_signal(&ring.c, ~0u);
		switch (sim_random(6)) {
		case 1:
			ksleep_seen(some(0, 60000), sim_random(2));
			break;
		case 2:
			gosched();
			break;
		case 3:
			if (locked)
				unlockosthread(false);
			else
				lockosthread(LOCK_SHARED, 0);
			locked = !locked;
			break;
		case 4:
			nap(some(0, 60000));
			break;
		}
		progress++;
	}
	/* Some end locked: their M ends too. */
	if (locked && sim_random(2))
		unlockosthread(false);
}

void workload_aside(void)
{
	ring.n = (unsigned)some(2, 5);
	ring.rounds = (unsigned)some(1, 8);
	/* Some are made with an M of their own. */
	for (unsigned i = 0; i < ring.n; i++)
		(sim_random(4) == 1 ? start_locked : start)(ring_member, (void *)(uintptr_t)i);
	join_all();
}

/* ---- threads that are no Gs, which wake and wait ------------------------------------------------ */

static struct {
	struct mutex m;
	struct cond c, back;
	struct stream in;
	unsigned asked, answered, rounds;
} desk[3];

static void outsider(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < desk[me].rounds; i++) {
		if (sim_random(2))
			ksleep(some(0, 60000));
		if (sim_random(3) == 2) {
			stream_write(&desk[me].in, 1);
			continue;
		}
		mutex_lock(&desk[me].m);
		desk[me].asked++;
		mutex_unlock(&desk[me].m);
		cond_signal(&desk[me].c, 1);
		mutex_lock(&desk[me].m);
		while (desk[me].answered != desk[me].asked)
			cond_wait(&desk[me].back, &desk[me].m, 0);
		mutex_unlock(&desk[me].m);
	}
	mutex_lock(&desk[me].m);
	desk[me].asked = ~0u;
	mutex_unlock(&desk[me].m);
	cond_signal(&desk[me].c, 1);
	stream_end(&desk[me].in);
}

static void clerk(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	mutex_lock(&desk[me].m);
	while (desk[me].asked != ~0u) {
		if (desk[me].asked == desk[me].answered) {
			cond_wait(&desk[me].c, &desk[me].m, 0);
			continue;
		}
		desk[me].answered++;
		cond_signal(&desk[me].back, 1);
		progress++;
	}
	mutex_unlock(&desk[me].m);
}

static void desk_reader(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	int n;

	while ((n = stream_read(&desk[me].in, 3, 0)) > 0 || n == -EAGAIN)
		progress++;
}

void workload_outside(void)
{
	struct native *t[3];
	unsigned n = (unsigned)some(1, 3);

	for (unsigned i = 0; i < n; i++) {
		desk[i].rounds = (unsigned)some(1, 15);
		stream_open(&desk[i].in);
		start(clerk, (void *)(uintptr_t)i);
		start(desk_reader, (void *)(uintptr_t)i);
		t[i] = native_start(outsider, (void *)(uintptr_t)i);
	}
	join_all();
	for (unsigned i = 0; i < n; i++)
		native_join(t[i]);
}

/* ---- lulls: all that computed wait, and sysmon, which polled for them, has the timers ------------- */

static struct stream silent;
static _Atomic unsigned busy;

static void toil(uint64_t ns)
{
	for (uint64_t piece = 20000; ns > piece; ns -= piece) {
		sim_charge(piece);
		sim_point(POINT_WORK, "computes");
	}
}

static void toiler(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 4); i > 0; i--) {
		toil(some(0, 5000000));
		nap(some(1000, 12000000));
		progress++;
	}
	if (fetch_sub_seqcst(&busy, 1) == 1)
		stream_end(&silent);
}

static void silent_reader(void *arg)
{
	(void)arg;
	while (stream_read(&silent, 1, 0) != 0)
		;
}

void workload_lulls(void)
{
	unsigned n = (unsigned)some(1, 4);

	store_seqcst(&busy, n);
	stream_open(&silent);
	start(silent_reader, NULL);
	for (unsigned i = n; i > 0; i--)
		start(toiler, NULL);
	join_all();
}
