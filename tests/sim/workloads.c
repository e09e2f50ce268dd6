/*
 * workloads: what the threads of a simulated program do.  Each ends by itself, whatever the scheduler does in between.
 *
 * The sizes are of the seed, so that a million runs are a million programs.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <string.h>

#include "runtime/running.h"
#include "runtime/runtime.h"
#include "runtime/sched/gmp.h"
#include "tests/sim/workloads.h"

unsigned long progress;

/* Threads and their end. */
enum { MANY = 64 };
static struct thread *threads[MANY];
static unsigned nthreads;

struct thread *start(void (*fn)(void *), void *arg)
{
	return threads[nthreads++] = go(fn, arg);
}

struct thread *start_locked(void (*fn)(void *), void *arg)
{
	return threads[nthreads++] = go_locked(fn, arg);
}

void need_slices(void)
{
	if (!weft_opt.slice)
		weft_opt.slice = 1000000;
}

void forget_threads(void)
{
	nthreads = 0;
}

void join_all(void)
{
	for (unsigned i = 0; i < nthreads; i++)
		join(threads[i]);
	nthreads = 0;
}

/* ---- ping-pong ------------------------------------------------------------------------------- */

static struct {
	struct mutex m;
	struct cond c[2];
	unsigned turn, rounds;
} pp;

static void player(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < pp.rounds; i++) {
		mutex_lock(&pp.m);
		while (pp.turn % 2 != me)
			cond_wait(&pp.c[me], &pp.m, 0);
		pp.turn++;
		progress++;
		mutex_unlock(&pp.m);
		cond_signal(&pp.c[!me], 1);
	}
}

static void pingpong(void)
{
	pp.rounds = (unsigned)some(1, 30);
	start(player, (void *)0);
	start(player, (void *)1);
	join_all();
	if (pp.turn != 2 * pp.rounds)
		sim_fail("%u turns of %u", pp.turn, 2 * pp.rounds);
}

/* ---- a convoy on one mutex ------------------------------------------------------------------- */

static struct mutex convoy_lock;
static unsigned inside, passed, passes;

static void member(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < passes; i++) {
		mutex_lock(&convoy_lock);
		if (inside++)
			sim_fail("two in the mutex");
		compute(some(0, 3000));
		if (sim_random(8) == 0)
			gosched();
		inside--;
		passed++;
		progress++;
		mutex_unlock(&convoy_lock);
		compute(some(0, 3000));
	}
}

static void convoy(void)
{
	unsigned n = (unsigned)some(2, 8);

	passes = (unsigned)some(1, 12);
	for (unsigned i = 0; i < n; i++)
		start(member, NULL);
	join_all();
	if (passed != n * passes)
		sim_fail("%u passes of %u", passed, n * passes);
}

/* ---- a queue with waits that time out -------------------------------------------------------- */

static struct {
	struct mutex m;
	struct cond c;
	unsigned items, left;
} q;

static void taker(void *arg)
{
	(void)arg;
	mutex_lock(&q.m);
	while (q.left) {
		while (!q.items && q.left)
			cond_wait(&q.c, &q.m, sim_random(2) ? some(1000, 300000) : 0);
		if (q.items) {
			q.items--;
			q.left--;
			progress++;
			if (!q.left)
				cond_signal(&q.c, ~0u);
		}
		if (sim_random(4) == 0) {
			mutex_unlock(&q.m);
			compute(some(0, 20000));
			mutex_lock(&q.m);
		}
	}
	mutex_unlock(&q.m);
}

static void giver(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < n; i++) {
		mutex_lock(&q.m);
		q.items++;
		mutex_unlock(&q.m);
		cond_signal(&q.c, 1);
		if (sim_random(3) == 0)
			nap(some(0, 200000));
	}
}

static void timeouts(void)
{
	unsigned n = (unsigned)some(1, 20);

	q.left = n;
	for (uint64_t i = some(1, 4); i > 0; i--)
		start(taker, NULL);
	start(giver, (void *)(uintptr_t)n);
	join_all();
}

/* ---- fork and join --------------------------------------------------------------------------- */

static void branch(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;
	struct thread *kids[3];
	unsigned n = depth ? (unsigned)some(1, 3) : 0;

	for (unsigned i = 0; i < n; i++)
		kids[i] = go(branch, (void *)(depth - 1));
	compute(some(0, 5000));
	progress++;
	for (unsigned i = 0; i < n; i++)
		join(kids[i]);
}

static void forkjoin(void)
{
	for (uint64_t i = some(1, 3); i > 0; i--)
		branch((void *)some(1, 3));
}

/* ---- sleepers -------------------------------------------------------------------------------- */

static void sleeper(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 8); i > 0; i--) {
		uint64_t ns = sim_random(4) ? some(0, 400000) : some(0, 1500000000), before = sim_now();
		int r = nap(ns);

		if (r == 0 && sim_now() < before + ns)
			sim_fail("woke %lu ns early", before + ns - sim_now());
		/* Whatever else there is to do takes no such time. */
		if (r == 0 && sim_now() > before + ns + LOST)
			sim_fail("woke %lu us late", (sim_now() - before - ns) / 1000);
		progress++;
		if (sim_random(4) == 0)
			compute(some(0, 2000000));
	}
}

static void sleepers(void)
{
	for (uint64_t i = some(1, 10); i > 0; i--)
		start(sleeper, NULL);
	join_all();
}

/* ---- blocking in the kernel ------------------------------------------------------------------ */

static void blocker(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 6); i > 0; i--) {
		uint64_t ns = sim_random(2) ? some(0, 100000) : some(0, 30000000);

		switch (sim_random(4)) {
		case 0:
			ksleep_seen(ns, false);
			break;
		case 1:
			ksleep_seen(ns, true);
			break;
		case 2:
			ksleep(ns); /* unseen */
			break;
		default:
			compute(some(0, 50000));
		}
		progress++;
	}
}

static void blockers(void)
{
	for (uint64_t i = some(1, 8); i > 0; i--)
		start(blocker, NULL);
	join_all();
}

/* ---- a call after each slice ------------------------------------------------------------------- */

/* As long as a slice, so that the request to give way and the call come at the same time. */
static void caller(void *arg)
{
	(void)arg;
	for (uint64_t i = some(3, 20); i > 0; i--) {
		compute(some(0, 2 * (uint64_t)weft_opt.slice));
		ksleep_seen(some(0, 300000), sim_random(4) == 0);
		progress++;
	}
}

static void callers(void)
{
	need_slices();
	for (uint64_t i = some(2, 12); i > 0; i--)
		start(caller, NULL);
	join_all();
}

/* ---- calls that compute ----------------------------------------------------------------------- */

/* Call after call, short or longer than a slice, until all sleepers are done. */
static void drawer(void *arg)
{
	uint64_t longest = sim_random(4) ? 600000 : 20000000;

	while (load_acquire((_Atomic uint32_t *)arg)) {
		entersyscall();
		compute(some(10000, longest));
		exitsyscall();
		progress++;
	}
}

/* Where there is a CPU for each P: otherwise calls without a P have them, too. */
static void draws_sleeper(void *arg)
{
	for (uint64_t i = some(1, 8); i > 0; i--) {
		uint64_t ns = some(0, 400000), before = sim_now();

		if (nap(ns) == 0 && opt.procs <= opt.cpus && !opt.pct && sim_now() > before + ns + LOST)
			sim_fail("woke %lu us late", (sim_now() - before - ns) / 1000);
		progress++;
	}
	fetch_sub_acq_rel((_Atomic uint32_t *)arg, 1);
}

static void drawers(void)
{
	static _Atomic uint32_t asleep;
	uint32_t n = (uint32_t)some(1, 6);

	need_slices();
	store_relaxed(&asleep, n);
	for (uint64_t i = some(1, 3); i > 0; i--)
		start(drawer, (void *)&asleep);
	while (n--)
		start(draws_sleeper, (void *)&asleep);
	join_all();
}

/* ---- blocking where the shim does not see it ------------------------------------------------- */

static struct mutex unseen_lock;

static void unseen_blocker(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 8); i > 0; i--) {
		ksleep(some(50000, 3000000));
		/* Straight into the runtime. */
		mutex_lock(&unseen_lock);
		compute(some(0, 2000));
		mutex_unlock(&unseen_lock);
		gosched();
		progress++;
	}
}

static void unseen(void)
{
	for (uint64_t i = some(2, 8); i > 0; i--)
		start(unseen_blocker, NULL);
	for (uint64_t i = some(0, 2); i > 0; i--)
		start(sleeper, NULL);
	join_all();
}

/* ---- pinned, again and again, while Ps are taken from Ms that run --------------------------------- */

static void pinner(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 1500); i > 0; i--) {
		struct p *pp;

		pin();
		pp = getp();
		sim_charge(some(0, 5000));
		sim_point(POINT_ATOMIC, "is pinned");
		if (getp() != pp || !pp || pp->m != getm())
			sim_fail("a P was taken from a G that is pinned");
		unpin();
		if (sim_chance(16))
			compute(some(0, 2000));
		if (sim_chance(16))
			gosched();
		progress++;
	}
}

static void pins(void)
{
	weft_opt.chaos = 1;
	for (uint64_t i = some(1, 4); i > 0; i--)
		start(pinner, NULL);
	join_all();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

enum { STREAMS = 3 };
static struct stream streams[STREAMS];

static void reader(void *arg)
{
	unsigned s = (unsigned)(uintptr_t)arg;
	int n;

	do {
		n = stream_read(&streams[s], (unsigned)some(1, 60), sim_random(4) ? 0 : sim_now() + some(0, 500000));
		progress++;
	} while (n > 0 || n == -EAGAIN || n == -ETIMEDOUT);
}

/* Waits for any of them. */
static void poller(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;
	struct stream *s[STREAMS];

	for (unsigned i = 0; i < n; i++)
		s[i] = &streams[i];
	while (n) {
		int r = stream_poll(s, n, sim_chance(3) ? sim_now() + some(0, 300000) : 0);

		if (r >= 0 && stream_read(s[r], (unsigned)some(1, 60), 0) == 0)
			s[r] = s[--n];
		progress++;
	}
}

static void writer(void *arg)
{
	unsigned s = (unsigned)(uintptr_t)arg;

	for (uint64_t i = some(1, 10); i > 0; i--) {
		stream_write(&streams[s], (unsigned)some(1, 100));
		if (sim_random(3) == 1)
			nap(some(0, 100000));
		else if (sim_random(3) == 1)
			ksleep_seen(some(0, 100000), false);
	}
	stream_end(&streams[s]);
}

static void descriptors(void)
{
	unsigned n = (unsigned)some(1, STREAMS);
	bool polled = sim_chance(4);

	for (unsigned s = 0; s < n; s++)
		stream_open(&streams[s]);
	for (unsigned s = 0; s < n; s++) {
		for (uint64_t i = polled ? 0 : some(1, 3); i > 0; i--)
			start(reader, (void *)(uintptr_t)s);
		start(writer, (void *)(uintptr_t)s);
	}
	if (polled)
		start(poller, (void *)(uintptr_t)n);
	join_all();
	for (unsigned s = 0; s < n; s++)
		if (streams[s].sent != streams[s].got)
			sim_fail("stream %u: %u bytes of %u", s, streams[s].got, streams[s].sent);
}

/* ---- a descriptor that is closed under its readers ------------------------------------------- */

static void closer(void *arg)
{
	unsigned s = (unsigned)(uintptr_t)arg;
	int file = fd_file(streams[s].fd);

	nap(some(0, 200000));
	if (sim_random(4) == 1)
		fd_shut(file);
	stream_close(&streams[s]);
	/* What the peer does after that, those who were reading still see. */
	nap(some(0, 200000));
	fd_shut(file);
}

static void closes(void)
{
	stream_open(&streams[0]);
	for (uint64_t i = some(1, 3); i > 0; i--)
		start(reader, (void *)0);
	stream_write(&streams[0], 5);
	start(closer, (void *)0);
	join_all();
}

/* ---- those that compute ---------------------------------------------------------------------- */

static _Atomic bool flag;

static void spinner(void *arg)
{
	(void)arg;
	while (!load_seqcst(&flag))
		compute(2000);
	progress++;
}

static void setter(void *arg)
{
	(void)arg;
	if (sim_random(2))
		nap(some(0, 300000));
	store_seqcst(&flag, true);
}

static void spinners(void)
{
	need_slices();
	for (uint64_t i = some(1, 4); i > 0; i--)
		start(spinner, NULL);
	start(setter, NULL);
	join_all();
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static _Atomic unsigned naps_over;

static void napper(void *arg)
{
	(void)arg;
	/* Only an interrupt ends it. */
	while (nap(some(0, 3) ? 1000 : 400000000) != -EINTR)
		;
	fetch_add_seqcst(&naps_over, 1);
}

static void interrupts(void)
{
	struct thread *t[4];
	unsigned n = (unsigned)some(1, 4);

	for (unsigned i = 0; i < n; i++)
		t[i] = go(napper, NULL);
	for (unsigned i = 0; i < n; i++) {
		if (sim_random(2))
			nap(some(0, 50000));
		interrupt(t[i]);
	}
	for (unsigned i = 0; i < n; i++)
		join(t[i]);
	progress += naps_over;
}

/* ---- all of these ---------------------------------------------------------------------------- */

static void mixed(void)
{
	pp.rounds = (unsigned)some(1, 10);
	start(player, (void *)0);
	start(player, (void *)1);
	passes = (unsigned)some(1, 5);
	for (uint64_t i = some(0, 3); i > 0; i--)
		start(member, NULL);
	for (uint64_t i = some(0, 3); i > 0; i--)
		start(sleeper, NULL);
	for (uint64_t i = some(0, 3); i > 0; i--)
		start(blocker, NULL);
	if (sim_random(2)) {
		stream_open(&streams[0]);
		start(reader, (void *)0);
		start(writer, (void *)0);
	}
	if (sim_random(2))
		branch((void *)2);
	join_all();
}

const struct workload workloads[] = {
	{ "pingpong", pingpong },
	{ "convoy", convoy },
	{ "timeouts", timeouts },
	{ "forkjoin", forkjoin },
	{ "sleepers", sleepers },
	{ "blockers", blockers },
	{ "callers", callers },
	{ "drawers", drawers },
	{ "unseen", unseen },
	{ "descriptors", descriptors },
	{ "closes", closes },
	{ "spinners", spinners },
	{ "interrupts", interrupts },
	{ "mixed", mixed },
	{ "edges", workload_edges },
	{ "replies", workload_replies },
	{ "sharers", workload_sharers },
	{ "timers", workload_timers },
	{ "alarms", workload_alarms },
	{ "broadcasts", workload_broadcasts },
	{ "cancels", workload_cancels },
	{ "resizes", workload_resizes },
	{ "yields", workload_yields },
	{ "storms", workload_storms },
	{ "aside", workload_aside },
	{ "outside", workload_outside },
	{ "lulls", workload_lulls },
	{ "loops", workload_loops },
	{ "owners", workload_owners },
	{ "homes", workload_homes },
	{ "fromnow", workload_fromnow },
	{ "guests", workload_guests },
	{ "counted", workload_counted },
	{ "single", workload_single },
	{ "crowds", workload_crowds },
	{ "forks", workload_forks },
	{ "clocks", workload_clocks },
	{ "numbers", workload_numbers },
	{ "relives", workload_relives },
	{ "rests", workload_rests },
	{ "wakers", workload_wakers },
	{ "tides", workload_tides },
	{ "retakes", workload_retakes },
	{ "pins", pins },
	{ "meetings", workload_meetings },
	{ "posts", workload_posts },
	{ "hogs", workload_hogs },
	{ "scarce", workload_scarce },
	{ "handlers", workload_handlers },
	{ "turns", workload_turns },
	{ "dozes", workload_dozes },
	{ "intruders", workload_intruders },
	{ NULL, NULL },
};
