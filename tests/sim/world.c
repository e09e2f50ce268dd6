/*
 * world: the process of the simulation: the runtime's hooks, and threads, locks and condition variables for workloads.
 *
 * These are to the shim's what a sketch is: lot_park() and lot_wake() as shim/sync uses them.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/runtime.h"
#include "runtime/sched/gmp.h"

struct thread {
	void (*fn)(void *);
	void *arg;
	struct g *g;
	struct thread *next;
	_Atomic uint32_t state; /* 1: ended; 2: joined */
};

static unsigned live;
static struct thread *all;

/* ---- hooks ----------------------------------------------------------------------------------- */

static int newosproc(void *(*fn)(void *), void *arg, void *stack, size_t size, uintptr_t *os)
{
	static int n;
	char name[16];
	struct task *t;

	sim_point(POINT_CALL, "clone");
	if (sim_fails("clone"))
		return -EAGAIN;
	snprintf(name, sizeof(name), "M%d", ++n);
	t = task_new(fn, arg, stack, size, name);
	*os = (uintptr_t)t;
	return 0;
}

static void joinosproc(uintptr_t os)
{
	struct task *t = (struct task *)os;

	while (t->state != TASK_ENDED) {
		sim.cur->futex = t;
		task_block(0, "join of a task");
	}
	t->state = TASK_FREE;
}

static void gmain(struct g *gp);

static bool leftovers(void)
{
	return false;
}

static void dropblock(void *tls)
{
	(void)tls;
}

static void lastexit(void)
{
	sim_fail("the last G ended");
}

static bool start_sigthread(void)
{
	return true;
}

static const struct runtime_hooks world_hooks = {
	.newosproc = newosproc,
	.joinosproc = joinosproc,
	.gmain = gmain,
	.newmtls = block_new,
	.dropblock = dropblock,
	.leftovers = leftovers,
	.lastexit = lastexit,
	.start_sigthread = start_sigthread,
};

/* ---- threads --------------------------------------------------------------------------------- */

static bool ended(void *arg)
{
	struct thread *t = arg;

	store_seqcst(&t->state, 1);
	lot_wake(&t->state, 1, 0, READY_NEXT, NULL, NULL);
	return false;
}

static void gmain(struct g *gp)
{
	struct thread *t = all;

	while (t->g != gp)
		t = t->next;
	t->fn(t->arg);
	live--;
	goexit(ended, t);
}

struct thread *go(void (*fn)(void *), void *arg)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct gattr a = { .stacksize = 64 * 1024, .guardsize = 4096, .tlsarea = block_size(), .tlsalign = 64 };
	struct g *gp;
	void *fs;
	int err;

	/* For want of memory or threads: again, as a program would. */
	while (!runtime_start_sysmon() || !(gp = g_new(&a, &err)))
		gosched();
	fs = g_tls(gp);
	if (!fs)
		fs = block_at(g_tlsarea(gp));
	g_set_tls(gp, fs, g_nextid());
	t->fn = fn;
	t->arg = arg;
	t->g = gp;
	t->next = all;
	all = t;
	live++;
	g_start(gp);
	runtime_checkyield();
	return t;
}

static int has_ended(void *arg)
{
	return load_seqcst(&((struct thread *)arg)->state) == 1;
}

void join(struct thread *t)
{
	struct thread **link;

	while (load_seqcst(&t->state) != 1) {
		struct park pk = { .addr = &t->state, .refuse = has_ended, .arg = t, .reason = WaitJoin };

		lot_park(&pk);
	}
	g_await_off(t->g);
	for (link = &all; *link != t; link = &(*link)->next)
		;
	*link = t->next;
	g_free(t->g);
	free(t);
}

void interrupt(struct thread *t)
{
	if (load_seqcst(&t->state) == 0)
		g_interrupt(t->g);
}

/* ---- what they do ---------------------------------------------------------------------------- */

void compute(uint64_t ns)
{
	while (ns) {
		uint64_t piece = ns < 2000 ? ns : 2000;

		sim_charge(piece);
		sim_point(POINT_WORK, "computes");
		ns -= piece;
	}
}

void ksleep(uint64_t ns)
{
	sim_point(POINT_CALL, "blocks");
	while (task_block(sim_now() + ns + 1, "in the kernel") == -EINTR)
		;
}

void ksleep_seen(uint64_t ns, bool certain)
{
	if (certain)
		entersyscallblock();
	else
		entersyscall();
	ksleep(ns);
	exitsyscall();
}

int nap(uint64_t ns)
{
	struct park pk = { .deadline = os_nanotime() + ns, .reason = WaitSleep };

	return lot_sleep(&pk) == -EINTR ? -EINTR : 0;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static int not_contended(void *arg)
{
	return load_seqcst(&((struct mutex *)arg)->word) != 2;
}

void mutex_lock(struct mutex *m)
{
	uint32_t free = 0;

	if (cas_seqcst(&m->word, &free, 1))
		return;
	while (exchange_seqcst(&m->word, 2) != 0) {
		struct park pk = { .addr = m, .refuse = not_contended, .arg = m, .reason = WaitMutexLock };

		lot_park(&pk);
	}
}

void mutex_unlock(struct mutex *m)
{
	if (exchange_seqcst(&m->word, 0) == 2)
		lot_wake(m, 1, 0, READY_TAIL, NULL, NULL);
}

struct condwait {
	struct cond *c;
	struct mutex *m;
	uint32_t seq;
	bool unlocked;
};

static int signalled(void *arg)
{
	struct condwait *w = arg;

	return load_seqcst(&w->c->seq) != w->seq;
}

static void unlock_mutex(void *arg)
{
	struct condwait *w = arg;

	w->unlocked = true;
	mutex_unlock(w->m);
}

int cond_wait(struct cond *c, struct mutex *m, uint64_t ns)
{
	struct condwait w = { c, m, load_seqcst(&c->seq), false };
	struct park pk = { .addr = c, .refuse = signalled, .queued = unlock_mutex, .arg = &w, .reason = WaitCondWait,
			   .deadline = ns ? os_nanotime() + ns : 0 };
	int r = lot_park(&pk);

	if (w.unlocked)
		mutex_lock(m);
	return r == -ETIMEDOUT ? r : 0;
}

void cond_signal(struct cond *c, unsigned n)
{
	fetch_add_seqcst(&c->seq, 1);
	lot_wake(c, n, 0, READY_NEXT, NULL, NULL);
}

/* ---- the world ------------------------------------------------------------------------------- */

void world_run(void (*main_fn)(void))
{
	weft_options_default(&weft_opt);
	weft_opt.procs = opt.procs;
	if (!opt.measured) {
		static const uint64_t slices[] = { 10000000, 200000, 0 };

		weft_opt.slice = (typeof(weft_opt.slice))slices[sim_random(3)];
		weft_opt.readywake = sim_random(4) == 0;
		weft_opt.wakesurplus = (unsigned)sim_random(2);
		weft_opt.nap = sim_random(4) ? weft_opt.nap : 0;
		weft_opt.spin = sim_random(4) ? weft_opt.spin : 0;
		weft_opt.stealage = sim_random(3) ? weft_opt.stealage : 0;
	}
	sim.cur->sigmask = 0;
	if (!runtime_probe())
		sim_fail("runtime_probe");
	if (runtime_start(&world_hooks, arch_getfs(), 1000))
		sim_fail("runtime_start");
	if (!opt.measured)
		sim.fault = sim_random(3) ? 0 : (int)sim_random(4);
	main_fn();
	if (live)
		sim_fail("%u threads have not ended", live);
	sim.over = true;
}
