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

enum { PROCFS_NOT_YET, PROCFS_STARTING, PROCFS_READY, PROCFS_WITHOUT, PROCFS_ENDING };
enum { PROCFS_STACK = 64 * 1024 };

static _Atomic uint32_t procfs_state;   /* futex while PROCFS_STARTING */
static _Atomic uint32_t asked, answered; /* futexes: numbers of the last question and the last answer */
static void (*question)(void *arg);     /* by the asker, before asked */
static void *argument;
static char *stack;                     /* kept: the next thread runs on it, in a fork child too */
static uintptr_t procfs_os;             /* for joining it */

static void *procfs_main(void *unused)
{
	uint32_t n = 0;

	(void)unused;
	os_setname("weft-procfs");
	os_cpuslice(SYSMON_CPU_SLICE);
	store_seqcst(&procfs_state, os_files_leave() ? PROCFS_WITHOUT : PROCFS_READY);
	os_futex_wake((uint32_t *)&procfs_state, 1);
	while (load_seqcst(&procfs_state) == PROCFS_READY) {
		while (load_seqcst(&asked) == n)
			os_futex_wait((uint32_t *)&asked, n, 0);
		n = load_seqcst(&asked);
		if (load_seqcst(&procfs_state) == PROCFS_ENDING)
			break;
		question(argument);
		store_seqcst(&answered, n);
		os_futex_wake((uint32_t *)&answered, 1);
	}
	return NULL;
}

static void procfs_start(void)
{
	store_seqcst(&procfs_state, PROCFS_STARTING);
	store_seqcst(&asked, 0);
	store_seqcst(&answered, 0);
	if (!stack)
		stack = os_reserve(runtime_ostack(PROCFS_STACK));
	if (!stack || hooks.newosproc(procfs_main, NULL, stack, runtime_ostack(PROCFS_STACK), &procfs_os))
		store_seqcst(&procfs_state, PROCFS_WITHOUT);
	while (load_seqcst(&procfs_state) == PROCFS_STARTING)
		os_futex_wait((uint32_t *)&procfs_state, PROCFS_STARTING, 0);
}

static void procfs_call(void (*fn)(void *arg), void *arg)
{
	uint32_t n;

	if (load_relaxed(&procfs_state) == PROCFS_NOT_YET)
		procfs_start();
	if (load_relaxed(&procfs_state) != PROCFS_READY) {
		fn(arg);
		return;
	}
	question = fn;
	argument = arg;
	n = fetch_add_seqcst(&asked, 1) + 1;
	os_futex_wake((uint32_t *)&asked, 1);
	/* On another CPU it takes a few microseconds. */
	for (int i = 0; i < PROCFS_SPINS && load_seqcst(&answered) != n; i++)
		arch_pause();
	while (load_seqcst(&answered) != n)
		os_futex_wait((uint32_t *)&answered, n - 1, 0);
}

void procfs_stop(void)
{
	/* One that could not leave the common table has ended, but was not joined: its stack stays taken. */
	if (load_seqcst(&procfs_state) != PROCFS_READY)
		return;
	store_seqcst(&procfs_state, PROCFS_ENDING);
	fetch_add_seqcst(&asked, 1);
	os_futex_wake((uint32_t *)&asked, 1);
	hooks.joinosproc(procfs_os);
	procfs_fork_child();
}

void procfs_fork_child(void)
{
	store_seqcst(&procfs_state, PROCFS_NOT_YET);
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

int procfs_blocked(int tid, struct os_where *w)
{
	struct blocked b = { .tid = tid };

	procfs_call(ask_blocked, &b);
	*w = b.where;
	return b.result;
}

bool procfs_oncpu(int tid)
{
	uint64_t a, b;

	return !os_thread_cpu(tid, &a) && !os_thread_cpu(tid, &b) && a != b;
}

bool procfs_runnable(int tid)
{
	struct os_where w;

	/* One whose clock stands still may wait for its CPU, ours say. */
	return procfs_oncpu(tid) || procfs_blocked(tid, &w) == 0;
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

void procfs_rename(int tid, const char *name)
{
	procfs_call(ask_rename, &(struct rename){ tid, name });
}

static void ask_ncpu(void *arg)
{
	*(unsigned *)arg = os_ncpu();
}

unsigned procfs_ncpu(void)
{
	unsigned n = 0;

	procfs_call(ask_ncpu, &n);
	return n;
}
