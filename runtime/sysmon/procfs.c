/*
 * procfs: a kernel thread with a table of descriptors of its own, where sysmon has files read.
 *
 * Descriptor numbers are the program's: open() promises the lowest that is free.  A file that
 * sysmon opened and closed within microseconds would take that number from a thread that opens one
 * at the same moment.  A program that closes all numbers it does not know would close sysmon's
 * file, and sysmon would then read from what the program opened next.  A thread can leave the
 * common table; sysmon cannot, for it uses the poller's descriptors.  So sysmon asks this thread,
 * which starts with the first question and sleeps between two.
 *
 * One question at a time, by sysmon alone.  Where there is no such thread (an old kernel, no
 * memory) the answer is found on the spot.
 *
 * Must never: print (its table has no fd 2), make a thread, hold a lock.
 */
#include "runtime/sched/gmp.h"

enum { NOT_YET, STARTING, READY, WITHOUT };
enum { STACK = 64 * 1024, SPIN = 2000 };

static _Atomic uint32_t state;          /* futex while STARTING */
static _Atomic uint32_t asked, answered; /* futexes: numbers of the last question and the last answer */
static void (*question)(void *arg);     /* by the asker, before asked */
static void *argument;
static char *stack;                     /* kept: a fork child starts a thread on it again */

static void *thread(void *unused)
{
	uint32_t n = 0;

	(void)unused;
	os_setname("weft-aside");
	os_cpuslice(MONITOR_SLICE);
	atomic_store(&state, os_files_leave() ? WITHOUT : READY);
	os_futex_wake((uint32_t *)&state, 1);
	while (atomic_load(&state) == READY) {
		while (atomic_load(&asked) == n)
			os_futex_wait((uint32_t *)&asked, n, 0);
		n = atomic_load(&asked);
		question(argument);
		atomic_store(&answered, n);
		os_futex_wake((uint32_t *)&answered, 1);
	}
	return NULL;
}

static void start(void)
{
	uintptr_t os;

	atomic_store(&state, STARTING);
	atomic_store(&asked, 0);
	atomic_store(&answered, 0);
	if (!stack)
		stack = os_reserve(runtime_ostack(STACK));
	if (!stack || hooks.newosproc(thread, NULL, stack, runtime_ostack(STACK), &os))
		atomic_store(&state, WITHOUT);
	while (atomic_load(&state) == STARTING)
		os_futex_wait((uint32_t *)&state, STARTING, 0);
}

static void aside(void (*fn)(void *arg), void *arg)
{
	uint32_t n;

	if (atomic_load_explicit(&state, memory_order_relaxed) == NOT_YET)
		start();
	if (atomic_load_explicit(&state, memory_order_relaxed) != READY) {
		fn(arg);
		return;
	}
	question = fn;
	argument = arg;
	n = atomic_fetch_add(&asked, 1) + 1;
	os_futex_wake((uint32_t *)&asked, 1);
	/* On another CPU it takes a few microseconds. */
	for (int i = 0; i < SPIN && atomic_load(&answered) != n; i++)
		arch_pause();
	while (atomic_load(&answered) != n)
		os_futex_wait((uint32_t *)&answered, n - 1, 0);
}

void aside_fork_child(void)
{
	atomic_store(&state, NOT_YET);
}

/* ---- questions ------------------------------------------------------------------------------- */

struct blocked {
	int tid, result;
	struct os_where where;
};

static void ask_blocked(void *arg)
{
	struct blocked *b = arg;

	b->result = os_blocked(b->tid, &b->where);
}

int aside_blocked(int tid, struct os_where *w)
{
	struct blocked b = { .tid = tid };

	aside(ask_blocked, &b);
	*w = b.where;
	return b.result;
}

bool aside_moves(int tid)
{
	uint64_t a, b;

	return !os_thread_cpu(tid, &a) && !os_thread_cpu(tid, &b) && a != b;
}

bool aside_runs(int tid)
{
	struct os_where w;

	/* One whose clock stands still may wait for its CPU, ours say. */
	return aside_moves(tid) || aside_blocked(tid, &w) == 0;
}

struct rename {
	int tid;
	const char *name;
};

static void ask_rename(void *arg)
{
	struct rename *r = arg;

	os_rename(r->tid, r->name);
}

void aside_rename(int tid, const char *name)
{
	aside(ask_rename, &(struct rename){ tid, name });
}

static void ask_ncpu(void *arg)
{
	*(unsigned *)arg = os_ncpu();
}

unsigned aside_ncpu(void)
{
	unsigned n = 0;

	aside(ask_ncpu, &n);
	return n;
}
