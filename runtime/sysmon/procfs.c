/*
 * procfs: a kernel thread with a table of descriptors of its own, where sysmon has files read.
 *
 * Descriptor numbers are the program's: open() promises the lowest that is free.  A file that
 * sysmon opened and closed within microseconds would take that number from a thread that opens one
 * at the same moment.  A program that closes all numbers it does not know would close sysmon's
 * file, and sysmon would then read from what the program opened next.  A thread can leave the
 * common table; sysmon cannot, for it uses the poller's descriptors.  So sysmon asks this thread,
 * which the spawner makes after the first question, and which sleeps between two.  Until it is there
 * the answer is that nothing is known: the spawner may wait for a lock of the program's, and sysmon
 * must not.
 *
 * One question at a time, by sysmon alone.  Where there can be no such thread (an old kernel, no
 * memory) the answer is found on the spot.
 *
 * Must never: print (its table has no fd 2), make a thread, hold a lock.
 */
#include "runtime/sched/gmp.h"

#include <errno.h>

/*
 * NOT_YET to WANTED by sysmon; WANTED to STARTING by the spawner; to READY or WITHOUT by the new thread,
 * or by the spawner that could not make it; ENDING and NOT_YET by procfs_stop().
 */
enum { PROCFS_NOT_YET, PROCFS_WANTED, PROCFS_STARTING, PROCFS_READY, PROCFS_WITHOUT, PROCFS_ENDING };
enum { PROCFS_STACK = 64 * 1024 };

static _Atomic uint32_t procfs_state;   /* futex while PROCFS_STARTING, for procfs_stop() */
static _Atomic uint32_t asked, answered; /* futexes: numbers of the last question and the last answer */
static void (*question)(void *arg);     /* by the asker, before asked */
static void *argument;
static struct helper procfs;

static void *procfs_main(void *unused)
{
	uint32_t n = 0;

	(void)unused;
	os_setname("weft-procfs");
	os_cpuslice(SYSMON_CPU_SLICE);
	store_release(&procfs_state, os_files_leave() ? PROCFS_WITHOUT : PROCFS_READY);
	os_futex_wake((uint32_t *)&procfs_state, 1);
	while (load_acquire(&procfs_state) == PROCFS_READY) {
		while (load_acquire(&asked) == n)
			os_futex_wait((uint32_t *)&asked, n, 0);
		n = load_acquire(&asked);
		if (load_acquire(&procfs_state) == PROCFS_ENDING)
			break;
		question(argument);
		store_release(&answered, n);
		os_futex_wake((uint32_t *)&answered, 1);
	}
	return NULL;
}

void runtime_file_keep(int fd)
{
	os_file_keep(fd);
	/* It may be looking at what is kept. */
	while (load_acquire(&procfs_state) == PROCFS_STARTING)
		os_futex_wait((uint32_t *)&procfs_state, PROCFS_STARTING, 0);
}

void procfs_make_wanted(void)
{
	if (likely(load_acquire(&procfs_state) != PROCFS_WANTED))
		return;
	store_release(&procfs_state, PROCFS_STARTING);
	store_release(&asked, 0);
	store_release(&answered, 0);
	if (!helper_start(&procfs, procfs_main, PROCFS_STACK))
		store_release(&procfs_state, PROCFS_WITHOUT);
}

bool procfs_answers(void)
{
	uint32_t state = load_relaxed(&procfs_state);

	if (unlikely(state == PROCFS_NOT_YET)) {
		store_release(&procfs_state, PROCFS_WANTED);
		if (!spawner_wake())
			store_release(&procfs_state, PROCFS_NOT_YET);
	}
	return likely(state == PROCFS_READY) || state == PROCFS_WITHOUT;
}

/* False: there is no answer yet. */
static bool procfs_call(void (*fn)(void *arg), void *arg)
{
	uint32_t n;

	if (!procfs_answers())
		return false;
	if (load_relaxed(&procfs_state) == PROCFS_WITHOUT) {
		fn(arg);
		return true;
	}
	question = fn;
	argument = arg;
	n = fetch_add_acq_rel(&asked, 1) + 1;
	os_futex_wake((uint32_t *)&asked, 1);
	/* On another CPU it takes a few microseconds. */
	for (int i = 0; i < MOMENT_PAUSES && load_acquire(&answered) != n; i++)
		arch_pause();
	while (load_acquire(&answered) != n)
		os_futex_wait((uint32_t *)&answered, n - 1, 0);
	return true;
}

void procfs_stop(void)
{
	while (load_acquire(&procfs_state) == PROCFS_STARTING)
		os_futex_wait((uint32_t *)&procfs_state, PROCFS_STARTING, 0);
	if (load_acquire(&procfs_state) == PROCFS_WANTED)
		procfs_fork_child();
	/* One that could not leave the common table has ended, but was not joined: its stack stays taken. */
	if (load_acquire(&procfs_state) != PROCFS_READY)
		return;
	store_release(&procfs_state, PROCFS_ENDING);
	fetch_add_acq_rel(&asked, 1);
	os_futex_wake((uint32_t *)&asked, 1);
	helper_join(&procfs);
	procfs_fork_child();
}

void procfs_fork_child(void)
{
	helper_forget(&procfs);
	store_relaxed(&procfs_state, PROCFS_NOT_YET);
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

	if (!procfs_call(ask_blocked, &b))
		b.result = -EAGAIN;
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
