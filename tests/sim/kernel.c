/*
 * kernel: tasks, CPUs and time of the simulation, and the one place where a choice is made.
 *
 * A task runs on a virtual CPU until it blocks, or until the kernel takes the CPU away.  There is one clock, which each step
 * moves: whichever task on a CPU goes on, no task ever sees a time before another's.  (Rejected: a clock for each CPU, and
 * any within a window may go on.  A thread then woke before the time at which its waker saw it due.)  With `measured` each
 * CPU has a clock, and the task whose clock is least goes on: times are those of a real machine, and little is chosen.
 * When every CPU is idle, time jumps to the first deadline.
 *
 * Random: at a point the task goes on, or any other that may is chosen; how often differs from seed to seed.
 * PCT (Burckhardt and others, ASPLOS 2010): each task has a random priority, the highest that may goes on, and at a few
 * random steps it falls below all others.  A fault of depth d among n tasks in k steps is found with a probability of at
 * least 1 / (n k^(d-1)).
 *
 * A wake-up takes a random time, now and then a long one.  A signal comes at the next point of its task.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/g.h"
#include "runtime/preempt.h"
#include "runtime/runtime.h"
#include "tests/sim/cost.h"
#include "tests/sim/fair.h"

enum {
	COST_ATOMIC = 8, COST_LOCKED = 25, COST_CALL = 250, /* ns */
	SLICE = 3000000,      /* ns for which a task keeps its CPU while others wait for one */
	LATENCY = 4000,       /* ns from a wake-up until the task runs, at least */
	LATE = 3000000,       /* the same, at most */
	PCT_CHANGES = 6, PCT_STEPS = 60000,
	PCT_ROW = 3000,       /* points of one task in a row */
};

struct sim sim;
static struct task *oncpu[MAXCPUS];
static uint64_t cpuclock[MAXCPUS];    /* when it became idle */
static unsigned nrunning, nready;
static uint64_t nextdue, limit;
static uint64_t stay;                 /* points until the next choice */
static unsigned restless;             /* points between two choices, mean; of this seed */
static uint64_t changes[PCT_CHANGES];
static bool choosing;
static uint64_t lowest = 1 << 20;

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t next_random(void)
{
	uint64_t z = sim.rng += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t sim_random(uint64_t below)
{
	return below ? next_random() % below : 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

uint64_t sim_now(void)
{
	return sim.cur->clock;
}

static char last_lines[32][160];
static unsigned nlines;

void sim_trace(const char *fmt, ...)
{
	char *line = last_lines[nlines++ % 32];
	struct g *gp = weft_tls.g ? weft_tls.g : NULL;
	va_list ap;
	int n;

	n = snprintf(line, 160, "%12.3f us  %-10s cpu%-3d %s%-5lu ", (double)sim.cur->clock / 1000, sim.cur->name,
		     sim.cur->cpu, gp ? "g" : " -", gp ? (unsigned long)g_id(gp) : 0);
	va_start(ap, fmt);
	vsnprintf(line + n, (size_t)(160 - n), fmt, ap);
	va_end(ap);
	if (opt.trace)
		puts(line);
}

static const char *state_name(enum taskstate s)
{
	static const char *const names[] = { "free", "ready", "running", "blocked", "ended" };

	return names[s];
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	if (!opt.trace)
		for (unsigned i = nlines > 32 ? nlines - 32 : 0; i < nlines; i++)
			printf("  %s\n", last_lines[i % 32]);
	for (unsigned i = 0; i < sim.ntasks; i++) {
		struct task *t = &sim.tasks[i];

		if (t->state != TASK_FREE && t->state != TASK_ENDED)
			printf("  task %d %s: %s, cpu %d, at %.3f us, until %.3f us, futex %p, epoll %d\n", t->tid, t->name,
			       state_name(t->state), t->cpu, (double)t->clock / 1000, (double)t->deadline / 1000, t->futex,
			       t->epoll - 1);
	}
	printf("FAULT seed=%lu workload=%s procs=%u cpus=%u %s%s%s step=%lu: ", opt.seed, opt.workload, opt.procs, opt.cpus,
	       opt.fine ? "fine" : "coarse", opt.pct ? " pct" : "", opt.tso ? " tso" : "", sim.steps);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

/* ---- thread blocks --------------------------------------------------------------------------- */

enum { TCB = 2304 }; /* more than glibc's struct pthread */
static uintptr_t tls_lowest;
static char *first;        /* the first task's block, for good */

static int lowest_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)info->dlpi_tls_data;

	(void)size;
	(void)arg;
	if (at && at < tls_lowest)
		tls_lowest = at;
	return 0;
}

static size_t below(void)
{
	uintptr_t fs = (uintptr_t)first;

	if (!tls_lowest) {
		tls_lowest = fs;
		dl_iterate_phdr(lowest_of, NULL);
	}
	return (fs - tls_lowest + 63) & ~63UL;
}

size_t block_size(void)
{
	return below() + TCB;
}

void *block_at(void *area)
{
	char *fs = (char *)area + below();

	memcpy(area, first - below(), below() + TCB);
	memset(fs + ((char *)&weft_tls - (char *)arch_getfs()), 0, sizeof(weft_tls));
	*(void **)fs = fs;
	*(void **)(fs + 0x10) = fs;
	return fs;
}

void *block_new(void)
{
	return block_at(aligned_alloc(64, (block_size() + 63) & ~63UL));
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static void put_on(struct task *t, int cpu, uint64_t at)
{
	oncpu[cpu] = t;
	nrunning++;
	t->cpu = t->lastcpu = cpu;
	t->state = TASK_RUNNING;
	t->slice = 0;
	if (t->clock < at)
		t->clock = at;
	if (t->clock < cpuclock[cpu])
		t->clock = cpuclock[cpu];
}

static void take_off(struct task *t, enum taskstate now)
{
	sim_drain(t); /* a context switch of the kernel is a fence */
	cpuclock[t->cpu] = t->clock + (opt.measured ? cost_switch() : 0);
	oncpu[t->cpu] = NULL;
	nrunning--;
	t->cpu = -1;
	t->state = now;
	if (now == TASK_READY)
		nready++;
}

/* The first of those that wait for a CPU; NULL: none does. */
static struct task *first_ready(void)
{
	struct task *first = NULL;

	for (unsigned i = 0; nready && i < sim.ntasks; i++)
		if (sim.tasks[i].state == TASK_READY && (!first || sim.tasks[i].vdeadline < first->vdeadline))
			first = &sim.tasks[i];
	return first;
}

static struct task *pick_ready(void)
{
	uint64_t n = opt.measured ? 0 : sim_random(nready);

	if (opt.measured)
		return first_ready();
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].state == TASK_READY && n-- == 0)
			return &sim.tasks[i];
	return NULL;
}

static void fill_cpus(void)
{
	for (unsigned c = 0; c < opt.cpus && nready; c++) {
		if (!oncpu[c]) {
			struct task *t = pick_ready();

			nready--;
			put_on(t, (int)c, 0);
		}
	}
}

static uint64_t latency(void)
{
	return LATENCY + (sim_random(64) ? sim_random(30000) : sim_random(LATE));
}

/*
 * Measured: an idle CPU, the last one first, after the time that waking it takes; or the CPU of the task that is to give
 * way, when it comes to its next point.
 */
static void place(struct task *t, uint64_t at, bool timer)
{
	struct task *last = NULL;
	int cpu = -1;

	if (t->clock < at)
		t->clock = at;
	fair_awake(t, oncpu, opt.cpus);
	for (unsigned c = 0; c < opt.cpus; c++) {
		if (!oncpu[c] && (cpu < 0 || (int)c == t->lastcpu))
			cpu = (int)c;
		if (oncpu[c] && (!last || oncpu[c]->vdeadline > last->vdeadline))
			last = oncpu[c];
	}
	if (cpu >= 0) {
		put_on(t, cpu, at + cost_latency(at > cpuclock[cpu] ? at - cpuclock[cpu] : 0, timer));
		return;
	}
	t->state = TASK_READY;
	nready++;
	if (t->vdeadline < last->vdeadline)
		last->giveway = true;
}

void task_wake(struct task *t, int why)
{
	if (t->state != TASK_BLOCKED)
		return;
	t->woken = why;
	t->futex = NULL;
	t->epoll = 0;
	t->deadline = 0;
	t->wakes++;
	limit = 0; /* choose anew */
	if (opt.measured) {
		sim_charge(cost_wake());
		place(t, sim.cur->clock, false);
		return;
	}
	if (t->clock < sim.cur->clock)
		t->clock = sim.cur->clock;
	t->clock += latency();
	t->state = TASK_READY;
	nready++;
}

static void find_due(void)
{
	nextdue = UINT64_MAX;
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].state == TASK_BLOCKED && sim.tasks[i].deadline && sim.tasks[i].deadline < nextdue)
			nextdue = sim.tasks[i].deadline;
}

static void wake_due(uint64_t now)
{
	struct task *cur = sim.cur;

	for (unsigned i = 0; i < sim.ntasks; i++) {
		struct task *t = &sim.tasks[i];

		if (t->state == TASK_BLOCKED && t->deadline && t->deadline <= now) {
			uint64_t at = t->deadline;

			if (opt.measured) {
				t->woken = -ETIMEDOUT;
				t->futex = NULL;
				t->epoll = 0;
				t->deadline = 0;
				t->wakes++;
				place(t, at, true);
				continue;
			}
			task_wake(t, -ETIMEDOUT);
			t->clock = (t->clock > cur->clock ? t->clock - cur->clock : 0) + at;
		}
	}
	find_due();
}

static uint64_t least_clock(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned c = 0; c < opt.cpus; c++)
		if (oncpu[c] && oncpu[c]->clock < least)
			least = oncpu[c]->clock;
	return least;
}

/* The clock at which another than t has its turn. */
static uint64_t second_clock(const struct task *t)
{
	uint64_t least = UINT64_MAX;

	for (unsigned c = 0; c < opt.cpus; c++)
		if (oncpu[c] && oncpu[c] != t && oncpu[c]->clock < least)
			least = oncpu[c]->clock;
	return least + 1;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static struct task *choose(uint64_t least)
{
	struct task *best = NULL;
	unsigned may = 0;

	for (unsigned c = 0; c < opt.cpus; c++) {
		struct task *t = oncpu[c];

		if (!t || t->clock > least)
			continue;
		may++;
		if (opt.pct ? !best || t->priority > best->priority : sim_random(may) == 0)
			best = t;
	}
	return best;
}

static void switched(void *arg)
{
	(void)arg;
}

static void go_on_with(struct task *next)
{
	struct task *was = sim.cur;

	if (next == was)
		return;
	was->fs = arch_getfs();
	sim.cur = next;
	arch_switch(&was->sp, next->sp, next->fs, switched, NULL);
}

/* Someone must be on a CPU: time goes on until that is so. */
static void schedule_cpus(void)
{
	for (;;) {
		uint64_t least;

		fill_cpus();
		least = least_clock();
		if (!opt.measured && nrunning && least < sim.lastnow)
			least = sim.lastnow;
		if (nextdue <= least && nextdue != UINT64_MAX) {
			uint64_t due = nextdue;

			if (!nrunning)
				sim.cur->clock = sim.cur->clock > due ? sim.cur->clock : due;
			wake_due(due);
			continue;
		}
		if (nrunning)
			return;
		sim_fail("nothing can run any more");
	}
}

static void reschedule(void)
{
	struct task *next;
	uint64_t least;

	choosing = true;
	schedule_cpus();
	least = least_clock();
	if (!opt.measured && least < sim.lastnow)
		least = sim.lastnow;
	next = choose(least);
	if (!opt.measured)
		next->clock = least;
	limit = opt.measured ? second_clock(next) : UINT64_MAX;
	stay = sim_random(2 * restless) + 1;
	if (nextdue < limit)
		limit = nextdue;
	choosing = false;
	if (next->clock > sim.lastnow)
		sim.lastnow = next->clock;
	go_on_with(next);
}

static void deliver(struct task *t);

void sim_charge(uint64_t ns)
{
	sim.cur->clock += ns;
	sim.cur->used += ns;
	sim.cur->slice += ns;
	sim.cur->vtime += ns;
	if (sim.cur->clock > sim.lastnow)
		sim.lastnow = sim.cur->clock;
}

/* A task that never blocks must not keep all others from running: it falls below them, too. */
static void pct_step(void)
{
	static unsigned row;
	static struct task *last;

	row = last == sim.cur ? row + 1 : 0;
	last = sim.cur;
	if (row > PCT_ROW) {
		row = 0;
		sim.cur->priority = --lowest;
		limit = 0;
	}
	for (int i = 0; i < PCT_CHANGES; i++)
		if (changes[i] == sim.steps) {
			sim.cur->priority = --lowest;
			limit = 0;
		}
}

/* Measured: at the end of its slice, or when one that woke goes first. */
static bool may_lose_cpu(struct task *t)
{
	if (!t->giveway && t->vtime < t->vdeadline)
		return false;
	t->giveway = false;
	return fair_over(t, first_ready());
}

void sim_point(enum point kind, const char *what)
{
	struct task *t = sim.cur;

	if (choosing || !t)
		return;
	sim.steps++;
	if (opt.measured)
		sim_charge(cost_point(kind, what));
	else
		sim_charge(kind == POINT_ATOMIC ? COST_ATOMIC : kind == POINT_LOCKED ? COST_LOCKED : COST_CALL);
	if (sim.steps > opt.maxsteps && !sim.over)
		sim_fail("%lu steps, and no end", sim.steps);
	if (t->clock > opt.maxtime && !sim.over)
		sim_fail("%lu ms, and no end", t->clock / 1000000);
	if (kind == POINT_CALL)
		sim_drain(t); /* the kernel's own locks */
	if (kind != POINT_ATOMIC)
		sim_trace("%s", what);
	if (opt.pct)
		pct_step();
	/* The kernel takes the CPU away: at the end of a slice, and at bad moments. */
	if (nready && (opt.measured ? may_lose_cpu(t) : t->slice > SLICE || sim_random(opt.fine ? 8192 : 1024) == 0)) {
		take_off(t, TASK_READY);
		limit = 0;
	}
	if (t->clock >= limit || (!opt.measured && !opt.pct && --stay == 0))
		reschedule();
	if (t->pending & ~t->sigmask && !t->inhandler)
		deliver(t);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void task_main(void *arg)
{
	struct task *t = arg;

	t->fn(t->arg);
	task_end();
}

struct task *task_new(void *(*fn)(void *), void *arg, void *stack, size_t size, const char *name)
{
	struct task *t = NULL;

	for (unsigned i = 0; i < MAXTASKS && !t; i++)
		if (sim.tasks[i].state == TASK_FREE)
			t = &sim.tasks[i];
	if (!t)
		sim_fail("too many tasks");
	*t = (struct task){ .fn = fn, .arg = arg, .cpu = -1, .tid = (int)(t - sim.tasks) + 1000, .sigmask = ~0ULL };
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->fs = block_new();
	t->sp = arch_newctx((char *)stack + size, task_main, t);
	t->lastcpu = -1;
	if ((unsigned)(t - sim.tasks) >= sim.ntasks)
		sim.ntasks = (unsigned)(t - sim.tasks) + 1;
	limit = 0;
	if (opt.measured) {
		place(t, sim.cur->clock, false);
		return t;
	}
	t->clock = sim.cur->clock + latency();
	t->priority = (1 << 21) + sim_random(1 << 20);
	t->state = TASK_READY;
	nready++;
	return t;
}

struct task *task_by_tid(int tid)
{
	struct task *t = tid >= 1000 && tid < 1000 + MAXTASKS ? &sim.tasks[tid - 1000] : NULL;

	return t && t->state != TASK_FREE && t->state != TASK_ENDED ? t : NULL;
}

int task_block(uint64_t deadline, const char *what)
{
	struct task *t = sim.cur;

	sim_trace("sleeps: %s", what);
	/* A signal that is there ends the sleep at once. */
	if (t->pending & ~t->sigmask && !t->inhandler) {
		t->futex = NULL;
		t->epoll = 0;
		deliver(t);
		return -EINTR;
	}
	if (opt.measured && deadline) {
		sim_charge(cost_sleep());
		deadline += t->slack ? t->slack : cost_slack();
	}
	t->deadline = deadline;
	take_off(t, TASK_BLOCKED);
	if (deadline && deadline < nextdue)
		nextdue = deadline;
	limit = 0;
	reschedule();
	if (t->woken == -EINTR)
		deliver(t);
	return t->woken;
}

void task_end(void)
{
	struct task *t = sim.cur;

	sim_trace("ends");
	take_off(t, TASK_ENDED);
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].futex == t)
			task_wake(&sim.tasks[i], 0);
	reschedule();
	__builtin_unreachable();
}

void task_signal(struct task *t, int sig)
{
	t->pending |= 1ULL << (sig - 1);
	if (t->state == TASK_BLOCKED && t->pending & ~t->sigmask)
		task_wake(t, -EINTR);
}

static bool never(void)
{
	return false;
}

static bool always(uintptr_t pc, bool forced)
{
	(void)pc;
	(void)forced;
	return true;
}

static void nothing(void)
{
}

/* What the shim's handler of signal 32 does: shim/signal/sig32.c. */
static void deliver(struct task *t)
{
	struct sig32 s = { .pc = 1, .sp = 1, .busy = never, .safe = always, .has_p = nothing };
	enum sig32_do what;

	if (!(t->pending & ~t->sigmask))
		return;
	t->pending &= t->sigmask;
	t->inhandler = true;
	s.mask = t->sigmask;
	sim_trace("handler of signal 32");
	if (opt.measured)
		sim_charge(cost_point(POINT_CALL, "handler of signal 32"));
	what = runtime_on_sig32(&s, SIG32_ARRIVED);
	sim.cur->inhandler = false;
	if (what == SIG32_MOVE) {
		s.aside = true;
		runtime_on_sig32(&s, SIG32_ASIDE);
	}
}

void sim_init(void)
{
	sim.rng = opt.seed * 0x9e3779b97f4a7c15 + 12345;
	for (int i = 0; i < 4; i++)
		next_random();
	restless = opt.measured ? 1 << 20 : 1u << (1 + sim_random(9));
	for (int i = 0; i < PCT_CHANGES; i++)
		changes[i] = sim_random(PCT_STEPS);
	first = arch_getfs();
	sim.ntasks = 1;
	sim.cur = &sim.tasks[0];
	*sim.cur = (struct task){ .tid = 1000, .cpu = -1, .clock = 1000000000, .fs = arch_getfs(), .name = "M0" };
	sim.cur->priority = (1 << 21) + sim_random(1 << 20);
	nextdue = UINT64_MAX;
	put_on(sim.cur, 0, sim.cur->clock);
}
