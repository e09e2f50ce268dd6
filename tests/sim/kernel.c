/*
 * kernel: tasks, CPUs and time of the simulation, and the one place where a choice is made.
 *
 * A task runs on a virtual CPU until it blocks, or until the kernel takes the CPU away.  There is one clock,
 * which each step moves: whichever task on a CPU goes on, no task ever sees a time before another's.
 * (Rejected: a clock for each CPU, and any within a window may go on.  A thread then woke before the time at
 * which its waker saw it due.)  With `measured` each CPU has a clock, and the task whose clock is least goes
 * on: times are those of a real machine, and little is chosen.  When every CPU is idle, time jumps to the first
 * deadline.
 *
 * Random: at a point the task goes on, or any other that may is chosen; how often differs from seed to seed.
 * PCT (Burckhardt and others, ASPLOS 2010): each task has a random priority, the highest that may goes on, and at a few
 * random steps it falls below all others.  A fault of depth d among n tasks in k steps is found with a
 * probability of at least 1 / (n k^(d-1)).
 *
 * A wake-up takes a random time, now and then a long one.  A signal comes at the next point of its task.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/g.h"
#include "runtime/park.h"
#include "runtime/preempt.h"
#include "runtime/runtime.h"
#include "tests/sim/cost.h"
#include "tests/sim/fair.h"

enum {
	COST_ATOMIC = 8, COST_LOCKED = 25, COST_CALL = 250, /* ns */
	TURN = 1000000,       /* ns after which those on other CPUs go on, too */
	SLICE = 3000000,      /* ns for which a task keeps its CPU while others wait for one */
	LATENCY = 500,        /* ns from a wake-up until the task runs, at least */
	SOON = 3000, LATER = 30000, LATE = 3000000, /* the same, at most: half of them, most of them, any */
	AUDIT = 1000000,      /* ns between two looks at what is late */
	PCT_CHANGES = 6, PCT_STEPS = 60000,
	PCT_ROW = 3000,       /* points of one task, after which it falls, too */
};

struct sim sim;
static struct task *oncpu[MAXCPUS];
static uint64_t cpuclock[MAXCPUS];    /* when it became idle */
static unsigned nrunning, nready;
static uint64_t nextdue, nextaudit, limit;
static uint64_t stay;                 /* points until the next choice */
static uint64_t evict;                /* points until the kernel takes the CPU away */
static unsigned restless;             /* points between two choices, mean; of this seed */
static bool yields;                   /* the task that runs has had its turn */
static uint64_t changes[PCT_CHANGES];
static uint64_t lowest = 1 << 20;

uint64_t sim_now(void)
{
	return sim.cur->clock;
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

static void ready(struct task *t)
{
	static uint64_t order;

	t->state = TASK_READY;
	t->order = ++order;
	nready++;
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
		ready(t);
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

/* The one that waits longest, or any. */
static struct task *pick_ready(void)
{
	uint64_t n = opt.measured ? 0 : sim_random(nready);
	struct task *longest = NULL;

	if (opt.measured)
		return first_ready();
	for (unsigned i = 0; i < sim.ntasks; i++) {
		struct task *t = &sim.tasks[i];

		if (t->state != TASK_READY)
			continue;
		if (n && --n == 0)
			return t;
		if (!longest || t->order < longest->order)
			longest = t;
	}
	return longest;
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
	return LATENCY + sim_random(sim_chance(64) ? LATE : sim_random(2) ? LATER : SOON);
}

/*
 * Measured: an idle CPU, the last one first, after the time that waking it takes; or the CPU of the task that
 * is to give way, when it comes to its next point.
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
	ready(t);
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
	ready(t);
}

static void find_due(void)
{
	nextdue = UINT64_MAX;
	for (unsigned i = 0; i < sim.ntasks; i++) {
		struct task *t = &sim.tasks[i];

		if (t->state == TASK_BLOCKED && t->deadline && t->deadline < nextdue)
			nextdue = t->deadline;
		if (t->alarm && t->alarm < nextdue)
			nextdue = t->alarm;
	}
}

void task_alarm(struct task *t, uint64_t when)
{
	t->alarm = when;
	if (when && when < nextdue)
		nextdue = when;
	limit = 0; /* choose anew */
}

static void wake_due(uint64_t now)
{
	struct task *cur = sim.cur;

	for (unsigned i = 0; i < sim.ntasks; i++) {
		struct task *t = &sim.tasks[i];

		if (t->alarm && t->alarm <= now) {
			t->alarm = 0;
			sim_trace("alarm of %s", (uintptr_t)t->name, 0);
			task_signal(t, t->alarmsig);
		}
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
	struct task *may[MAXCPUS], *best = NULL;
	unsigned n = 0, from = sim.cur->cpu < 0 ? 0 : (unsigned)sim.cur->cpu + yields;

	yields = false;
	for (unsigned i = 0; i < opt.cpus; i++) {
		struct task *t = oncpu[(from + i) % opt.cpus];

		if (!t || t->clock > least)
			continue;
		if (!best || t->priority > best->priority)
			best = t;
		may[n++] = t;
	}
	return opt.pct ? best : may[sim_random(n)];
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
				audit_quiet();
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

	sim.choosing = true;
	schedule_cpus();
	least = least_clock();
	if (!opt.measured && least < sim.lastnow)
		least = sim.lastnow;
	next = choose(least);
	if (!opt.measured)
		next->clock = least;
	limit = opt.measured ? second_clock(next) : UINT64_MAX;
	stay = opt.measured || opt.pct ? UINT64_MAX : sim_gap(restless);
	if (!opt.measured && next->clock + TURN < limit)
		limit = next->clock + TURN;
	if (nextdue < limit)
		limit = nextdue;
	sim.choosing = false;
	if (next->clock > sim.lastnow)
		sim.lastnow = next->clock;
	go_on_with(next);
}

static void deliver(struct task *t);
static void handle_poke(struct task *t);

void sim_charge(uint64_t ns)
{
	sim.cur->clock += ns;
	sim.cur->used += ns;
	sim.cur->slice += ns;
	sim.cur->vtime += ns;
	if (sim.cur->clock > sim.lastnow)
		sim.lastnow = sim.cur->clock;
}

static void audit(void)
{
	sim.choosing = true;
	nextaudit = sim.cur->clock + AUDIT;
	audit_running(sim.cur->clock);
	sim.choosing = false;
}

/* A task that never blocks must not keep all others from running: it falls below them, too. */
static void pct_step(void)
{
	if (++sim.cur->row > PCT_ROW) {
		sim.cur->row = 0;
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

/* The same by chance. */
static bool loses_cpu(struct task *t)
{
	if (t->slice <= SLICE && --evict)
		return false;
	evict = sim_gap(opt.fine ? 8192 : 1024);
	return true;
}

void sim_yield(void)
{
	yields = true;
	limit = 0;
}

void sim_access(enum point kind, const char *what, const void *pc, const volatile void *at)
{
	struct task *t = sim.cur;

	if (sim.choosing || !t)
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
	if (t->clock >= nextaudit)
		audit();
	if (kind == POINT_CALL)
		sim_drain(t); /* the kernel's own locks */
	if (kind != POINT_ATOMIC || opt.trace > 1)
		sim_trace_access(what, pc, (const void *)at);
	if (opt.pct)
		pct_step();
	/* The kernel takes the CPU away: at the end of a slice, and at bad moments. */
	if (nready && (opt.measured ? may_lose_cpu(t) : loses_cpu(t))) {
		take_off(t, TASK_READY);
		limit = 0;
	}
	if (--stay == 0)
		sim_yield();
	if (t->clock >= limit) {
		yields = true;
		reschedule();
	}
	if (t->pending & ~t->sigmask && !t->inhandler)
		deliver(t);
	if (t->poked)
		handle_poke(t);
}

void sim_point(enum point kind, const char *what)
{
	sim_access(kind, what, NULL, NULL);
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
	t->sp = arch_newctx((char *)stack + size, task_main, t, arch_fpmodes());
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
	ready(t);
	return t;
}

struct task *task_by_tid(int tid)
{
	struct task *t = tid >= 1000 && tid < 1000 + MAXTASKS ? &sim.tasks[tid - 1000] : NULL;

	return t && t->state != TASK_FREE && t->state != TASK_ENDED ? t : NULL;
}

int task_block(uint64_t deadline, const char *why)
{
	struct task *t = sim.cur;

	sim_trace("sleeps: %s", (uintptr_t)why, 0);
	t->why = why;
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
	t->waits++;
	take_off(t, TASK_BLOCKED);
	if (deadline && deadline < nextdue)
		nextdue = deadline;
	limit = 0;
	reschedule();
	if (t->woken == -EINTR) {
		deliver(t);
		handle_poke(t);
	}
	return t->woken;
}

void task_end(void)
{
	struct task *t = sim.cur;

	sim_trace("ends", 0, 0);
	take_off(t, TASK_ENDED);
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].futex == t)
			task_wake(&sim.tasks[i], 0);
	reschedule();
	__builtin_unreachable();
}

void task_signal(struct task *t, int sig)
{
	if (t->pending >> (sig - 1) & 1)
		t->queued++;
	t->pending |= 1ULL << (sig - 1);
	if (t->state == TASK_BLOCKED && t->pending & ~t->sigmask)
		task_wake(t, -EINTR);
}

void task_poke(struct task *t)
{
	sim_point(POINT_CALL, "tgkill");
	t->poked = true;
	if (t->state == TASK_BLOCKED && t->futex)
		task_wake(t, -EINTR);
}

/* All others are gone, and what their CPUs did. */
void task_alone(void)
{
	for (unsigned i = 0; i < sim.ntasks; i++) {
		struct task *t = &sim.tasks[i];

		if (t == sim.cur || t->state == TASK_FREE)
			continue;
		if (t->state == TASK_RUNNING)
			take_off(t, TASK_ENDED);
		else if (t->state == TASK_READY)
			nready--;
		t->state = TASK_FREE;
		t->alarm = 0;
	}
	sim.cur->pending = 0;
	sim.cur->alarm = 0; /* the kernel copies no timers */
	sim.cur->queued = 0;
	sim.cur->children = 0;
	find_due();
	limit = 0;
}

static bool inlibc;

/* What was interrupted may hold a lock of libc's: it gives way later. */
static bool busy(void)
{
	return inlibc;
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

static bool none(void)
{
	return false;
}

/* What the shim's handler of signal 32 does: shim/signal/sig32.c. */
static void deliver(struct task *t)
{
	struct sig32 s = { .pc = 1, .sp = 1, .busy = busy, .safe = always, .sent = none,
			   .has_p = nothing, .wants_side = none };
	enum sig32_do what;

	if (!(t->pending & ~t->sigmask))
		return;
	if (t->queued)
		t->queued--; /* the next comes when this one was handled */
	else
		t->pending &= t->sigmask;
	t->inhandler = true;
	inlibc = !opt.measured && sim_chance(4);
	s.mask = t->sigmask;
	sim_trace("handler of signal 32", 0, 0);
	if (opt.measured)
		sim_charge(cost_point(POINT_CALL, "handler of signal 32"));
	what = runtime_on_sig32(&s, SIG32_ARRIVED);
	sim.cur->inhandler = false;
	if (what == SIG32_MOVE) {
		s.aside = true;
		runtime_on_sig32(&s, SIG32_ASIDE);
		sidestack_give(s.side);
	}
}

/* As shim/signal/eintr.c on a thread that is no G: its wait is over, then the handler runs.  Not inside the runtime. */
static void handle_poke(struct task *t)
{
	if (!t->poked || t->inhandler || weft_tls.locks)
		return;
	t->poked = false;
	t->inhandler = true;
	sim_trace("handler of the program", 0, 0);
	g_interrupt(NULL);
	t->handler();
	t->inhandler = false;
}

void sim_init(void)
{
	sim_chance_init(opt.seed);
	restless = opt.measured ? 1 << 20 : 1u << (9 - sim_random(9));
	evict = sim_gap(opt.fine ? 8192 : 1024);
	for (int i = 0; i < PCT_CHANGES; i++)
		changes[i] = sim_random(PCT_STEPS);
	block_init();
	points_init();
	sim.tasks = arena_alloc(MAXTASKS * sizeof(*sim.tasks), 64);
	sim.ntasks = 1;
	sim.cur = &sim.tasks[0];
	*sim.cur = (struct task){ .tid = 1000, .cpu = -1, .clock = SIM_BEGIN, .fs = arch_getfs(), .name = "m0" };
	sim.cur->priority = (1 << 21) + sim_random(1 << 20);
	nextdue = UINT64_MAX;
	put_on(sim.cur, 0, sim.cur->clock);
}
