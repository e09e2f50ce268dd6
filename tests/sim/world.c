/*
 * world: the process of the simulation: the runtime's hooks, and threads, locks and condition variables for workloads.
 *
 * These are to the shim's what a sketch is: lot_park() and lot_wake() as shim/sync uses them.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/park.h"
#include "runtime/running.h"
#include "runtime/runtime.h"
#include "runtime/sched/gmp.h"

struct thread {
	void (*fn)(void *);
	void *arg;
	struct g *g;
	struct thread *next;
	bool detached;
	_Atomic uint32_t state; /* 1: ended; 2: joined */
};

static unsigned live;
static struct thread *all;

/* ---- hooks ----------------------------------------------------------------------------------- */

static unsigned limit_tasks;   /* so many tasks there may be; 0: any number */
static uint64_t limit_until;   /* ns */

void world_limit(unsigned tasks, uint64_t until)
{
	limit_tasks = tasks;
	limit_until = until;
}

static bool no_more_tasks(void)
{
	unsigned n = 0;

	if (!limit_tasks || sim_now() >= limit_until)
		return false;
	for (unsigned i = 0; i < sim.ntasks; i++)
		n += sim.tasks[i].state != TASK_FREE;
	if (n < limit_tasks)
		return false;
	sim.refused = true;
	return true;
}

static int newosproc(void *(*fn)(void *), void *arg, void *stack, size_t size, uintptr_t *os)
{
	static int n;
	char name[24];
	struct task *t;

	sim_point(POINT_CALL, "clone");
	if (fromnow_holds(FROMNOW_NOMORE)) /* as the shim's */
		return -EAGAIN;
	if (no_more_tasks() || sim_fails("clone"))
		return -EAGAIN;
	snprintf(name, sizeof(name), "thread%d", ++n);
	t = task_new(fn, arg, stack, size, name);
	*os = (uintptr_t)t;
	return 0;
}

static void joinosproc(uintptr_t os)
{
	struct task *t = (struct task *)os;

	while (t->state != TASK_ENDED) {
		sim.cur->futex = t;
		task_block(0, WHY_JOIN);
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

static bool knows_libc(void **tls, uint32_t *tid)
{
	*tls = arch_getfs();
	*tid = 1000;
	return true;
}

static const struct runtime_hooks world_hooks = {
	.knows_libc = knows_libc,
	.newosproc = newosproc,
	.joinosproc = joinosproc,
	.gmain = gmain,
	.newmtls = block_new,
	.dropblock = dropblock,
	.leftovers = leftovers,
	.lastexit = lastexit,
	.start_sigthread = start_sigthread,
};

/* ---- parks ----------------------------------------------------------------------------------- */

/*
 * Where the waiter and its timer were: nothing may be written there once the wait is over.  The frame is that
 * of lot_park(), for both are called by the same function.
 */
static __attribute__((noinline)) void frame_is_left_alone(void)
{
	enum { PATTERN = 90 };
	volatile unsigned char frame[640];

	for (unsigned i = 0; i < sizeof(frame); i++)
		frame[i] = PATTERN;
	for (int i = 0; i < 3; i++)
		sim_point(POINT_WORK, "the frame is another's");
	for (unsigned i = 0; i < sizeof(frame); i++)
		if (frame[i] != PATTERN)
			sim_fail("a wait that is over was written to");
}

static int park(struct park *pk)
{
	int r = lot_park(pk);

	if (pk->deadline && sim_random(2) == 0)
		frame_is_left_alone();
	return r;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void drop(struct thread *t)
{
	struct thread **link;

	for (link = &all; *link != t; link = &(*link)->next)
		;
	*link = t->next;
}

static bool ended(void *arg)
{
	struct thread *t = arg;

	if (t->detached) {
		drop(t);
		return true;
	}
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

/* What a thread of the program's has by what it did, or what others did to it. */
static void check_new(const struct g *gp)
{
	if (load_relaxed(&gp->priority) || load_relaxed(&gp->interrupted) || load_relaxed(&gp->parkaddr) ||
	    gp->parked ||
	    gp->lockedm || gp->lockdepth || gp->home || gp->rests || gp->shim.ownp || load_relaxed(&gp->shim.holds) ||
	    gp->shim.sysdepth || gp->cputime)
		sim_fail("a new thread has what belongs to a former one");
}

static struct thread *start_thread(void (*fn)(void *), void *arg, bool detached, bool locked)
{
	struct thread *t = arena_alloc(sizeof(*t), 64);
	struct gattr a = { .stacksize = 64 * 1024, .guardsize = 4096, .tlsarea = block_size(), .tlsalign = 64 };
	struct g *gp;
	void *fs;
	int err;

	/* For want of memory or threads: again, as a program would. */
	while (!(gp = g_new(&a, &err)))
		gosched();
	check_new(gp);
	fs = g_tls(gp);
	if (!fs)
		fs = block_at(g_memory(gp).area);
	g_shim(gp)->fs = fs;
	g_shim(gp)->tid = g_nextid();
	t->fn = fn;
	t->arg = arg;
	t->g = gp;
	t->detached = detached;
	t->next = all;
	all = t;
	live++;
	while (g_start(gp, locked)) /* no kernel thread: again, too */
		gosched();
	runtime_checkyield();
	return t;
}

struct thread *go(void (*fn)(void *), void *arg)
{
	return start_thread(fn, arg, false, false);
}

struct thread *go_detached(void (*fn)(void *), void *arg)
{
	return start_thread(fn, arg, true, false);
}

struct thread *go_locked(void (*fn)(void *), void *arg)
{
	return start_thread(fn, arg, false, true);
}

static int has_ended(void *arg)
{
	return load_seqcst(&((struct thread *)arg)->state) == 1;
}

void join(struct thread *t)
{
	struct g *gp = t->g;

	while (load_seqcst(&t->state) != 1) {
		struct park pk = { .addr = &t->state, .refuse = has_ended, .arg = t, .reason = WaitJoin };

		park(&pk);
	}
	g_free(gp);
	drop(t);
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
		runtime_checkyield();
		ns -= piece;
	}
}

void ksleep(uint64_t ns)
{
	uint64_t until;

	sim_point(POINT_CALL, "blocks");
	until = sim_now() + ns;
	/* A signal of the scheduler's does not make it longer. */
	while (task_block((sim_now() < until ? until : sim_now()) + 1, WHY_KERNEL) == -EINTR)
		;
}

void ksleep_seen(uint64_t ns, bool certain)
{
	if (certain)
		entersyscallblock();
	else
		entersyscall();
	/* Each of these could be a call of the program's that no SA_RESTART saves. */
	sim_point(POINT_CALL, "blocks");
	if (task_block(sim_now() + ns + 1, WHY_KERNEL) == -EINTR)
		sim_fail("a signal of the scheduler's has ended a system call that it was told of");
	exitsyscall();
}

int nap(uint64_t ns)
{
	struct park pk = { .deadline = os_nanotime() + ns, .reason = WaitSleep };

	return lot_sleep(&pk) == -EINTR ? -EINTR : 0;
}

int nap_for_ever(void)
{
	struct park pk = { .reason = WaitSleep };

	return lot_sleep(&pk);
}

void resize(unsigned procs)
{
	sim_point(POINT_CALL, "resize");
	procresize(procs, 0);
}

void prefer(struct thread *t, int priority)
{
	g_set_priority(t->g, priority);
}

uint64_t cputime(struct thread *t)
{
	return g_cputime(t ? t->g : getg(), NULL);
}

static void nothing_of_ours(void)
{
}

bool become_single(void)
{
	if (!runtime_single(nothing_of_ours))
		return false;
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (&sim.tasks[i] != sim.cur && sim.tasks[i].state != TASK_FREE && sim.tasks[i].state != TASK_ENDED)
			sim_fail("main is the only thread, and %s lives", sim.tasks[i].name);
	return true;
}

void world_fork(void)
{
	sim_point(POINT_CALL, "fork");
	sim_drain_all();
	task_alone();
	all = NULL;
	live = 0;
	runtime_fork_child();
}

/* ---- threads that are no Gs ------------------------------------------------------------------- */

struct native {
	void (*fn)(void *);
	void *arg;
	struct task *task;
	_Atomic bool over;
};

static void *native_main(void *arg)
{
	struct native *t = arg;

	sim.cur->sigmask = ~0ULL;
	t->fn(t->arg);
	store_seqcst(&t->over, true);
	return NULL;
}

struct native *native_start(void (*fn)(void *), void *arg)
{
	static int n;
	struct native *t = arena_alloc(sizeof(*t), 64);
	enum { STACK = 1 << 18 };
	char name[24];

	*t = (struct native){ .fn = fn, .arg = arg };
	snprintf(name, sizeof(name), "native%d", ++n);
	t->task = task_new(native_main, t, arena_alloc(STACK, 4096), STACK, name);
	return t;
}

struct native *native_start_handled(void (*fn)(void *), void *arg, void (*handler)(void))
{
	struct native *t = native_start(fn, arg);

	t->task->handler = handler;
	return t;
}

void native_poke(struct native *t)
{
	if (!load_seqcst(&t->over))
		task_poke(t->task);
}

void native_join(struct native *t)
{
	while (!load_seqcst(&t->over))
		nap(50000);
}

/* ---- locks ----------------------------------------------------------------------------------- */

enum { HANDED = 1 }; /* a woken waiter holds it */

static int not_contended(void *arg)
{
	return load_seqcst(&((struct mutex *)arg)->word) != 2;
}

/* Others may wait: the word says so until they do not. */
static void mutex_lock_behind(struct mutex *m, uint8_t gives)
{
	while (exchange_seqcst(&m->word, 2) != 0) {
		struct park pk = { .addr = m, .refuse = not_contended, .arg = m,
				   .reason = WaitMutexLock, .gives = gives };

		if (park(&pk) == HANDED)
			return;
	}
}

void mutex_lock(struct mutex *m)
{
	uint32_t free = 0;

	if (!cas_seqcst(&m->word, &free, 1))
		mutex_lock_behind(m, 0);
}

/* The first waiter gets it, or all that want it try for it: shim/sync/mutex_word.c. */
static int hand_over(void *arg, unsigned woken, bool more)
{
	struct mutex *m = arg;
	uint32_t free = 0;

	(void)more;
	return woken && lot_fair(m) && cas_seqcst(&m->word, &free, 2) ? HANDED : 0;
}

void mutex_unlock(struct mutex *m)
{
	if (exchange_seqcst(&m->word, 0) == 2)
		lot_wake(m, 1, 0, READY_LOCK, hand_over, m);
}

void pi_lock(struct mutex *m)
{
	uint32_t free = 0;

	runtime_hold();
	if (!cas_seqcst(&m->word, &free, 1))
		mutex_lock_behind(m, 1);
}

void pi_unlock(struct mutex *m, bool stay)
{
	mutex_unlock(m);
	runtime_release(stay);
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

int cond_wait_once(struct cond *c, struct mutex *m, uint64_t ns)
{
	struct condwait w = { c, m, load_seqcst(&c->seq), false };
	struct park pk = { .addr = c, .refuse = signalled, .queued = unlock_mutex, .arg = &w, .reason = WaitCondWait,
			   .deadline = ns ? os_nanotime() + ns : 0 };
	int r = park(&pk);

	/* Woken from the mutex's queue, perhaps, where others stand. */
	if (w.unlocked && r != HANDED)
		mutex_lock_behind(m, 0);
	return r == HANDED ? 0 : r;
}

int cond_wait(struct cond *c, struct mutex *m, uint64_t ns)
{
	int r = cond_wait_once(c, m, ns);

	return r == -ETIMEDOUT ? r : 0;
}

void cond_signal(struct cond *c, unsigned n)
{
	fetch_add_seqcst(&c->seq, 1);
	lot_wake(c, n, 0, READY_NEXT, NULL, NULL);
}

struct move {
	struct mutex *m;
	bool kick; /* the mutex is free: no unlock will wake those that were moved */
};

static void mark_contended(void *arg, unsigned n)
{
	struct move *mv = arg;
	uint32_t v = load_seqcst(&mv->m->word);

	while (n && v == 1 && !cas_seqcst(&mv->m->word, &v, 2))
		;
	mv->kick = n && v == 0;
}

void cond_broadcast(struct cond *c, struct mutex *m)
{
	struct move mv = { m, false };
	unsigned moved;

	fetch_add_seqcst(&c->seq, 1);
	lot_requeue(c, m, 0, ~0u, NULL, mark_contended, &mv, &moved);
	if (mv.kick)
		lot_wake(m, 1, 0, READY_LOCK, NULL, NULL);
}

/* ---- the world ------------------------------------------------------------------------------- */

void world_run(void (*main_fn)(void))
{
	weft_options_default(&weft_opt);
	weft_opt.procs = opt.procs;
	if (!opt.measured) {
		static const uint64_t slices[] = { 10000000, 200000, 0 };

		weft_opt.slice = (typeof(weft_opt.slice))slices[sim_random(3)];
		weft_opt.readywake = sim_chance(4);
		weft_opt.wakesurplus = (unsigned)sim_random(2);
		weft_opt.nap = sim_chance(3) ? 0 : weft_opt.nap;
		weft_opt.spin = sim_chance(4) ? 0 : weft_opt.spin;
		weft_opt.stealage = sim_chance(3) ? 0 : weft_opt.stealage;
		weft_opt.chaos = sim_chance(6) ? 1 + (typeof(weft_opt.chaos))sim_random(1000) : 0;
	}
	sim.cur->sigmask = 0;
	if (runtime_start(&world_hooks))
		sim_fail("runtime_start");
	if (!opt.measured)
		sim.fault = sim_chance(3) ? (int)sim_random(4) : 0;
	sim.judged = !opt.measured;
	main_fn();
	if (live)
		sim_fail("%u threads have not ended", live);
	/* Nothing waits any more, so no file is kept. */
	if (fd_left(netpoll_owns))
		sim_fail("a file that no thread waits for is kept open");
	sim.over = true;
}
