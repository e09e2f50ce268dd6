/*
 * spawner: the kernel thread that makes Ms and the /proc reader, joins Ms that left, and frees thread
 * blocks.
 *
 * libc makes a kernel thread under locks of its own: the loader's, the list of stacks, malloc's;
 * joining one takes them too.  A G may hold one of these and be off its CPU, queued for a P.  An M
 * that waited for the lock would keep its P from that G, and sysmon, which alone takes Ps away,
 * would be gone for good (tests/stress/forks with one P hangs so).  The spawner has no P, takes
 * none away, and no thread waits for it: a P for which it is asked to make an M stands in
 * sched.pstart meanwhile, for any M that could run something (pstart.c).
 *
 * It is also clean: a new kernel thread inherits its maker's policy, affinity, filters and
 * namespaces, which a locked G may have changed on its M.
 *
 * Must never: run a G; hold a runtime lock while it makes or joins.
 */
#include "runtime/sched/gmp.h"

enum { SPAWNER_STACK = 128 * 1024 };

static _Atomic uint32_t wakeups; /* futex: counts calls */
static _Atomic bool spare_wanted; /* one M in reserve, without a P, is wanted */
static struct helper spawner;
static _Atomic bool spawner_quits; /* asked to end */
static _Atomic int32_t spawner_tid; /* its kernel id */

static void *spawner_main(void *unused)
{
	(void)unused;
	os_setname("weft-spawner");
	store_release(&spawner_tid, os_gettid());
	for (;;) {
		uint32_t n = load_acquire(&wakeups);
		uint64_t again = m_start_wanted(), rest;

		procfs_make_wanted();
		if (exchange_acq_rel(&spare_wanted, false))
			m_make_spare();
		/* Thousands of Ms may have left, and an M may be wanted between two of them. */
		if (m_reap())
			continue;
		if (load_acquire(&spawner_quits))
			return NULL;
		rest = scavenge_step();
		if (again && (!rest || again < rest))
			rest = again;
		os_futex_wait((uint32_t *)&wakeups, n, rest ? nanotime() + rest : 0);
	}
	return NULL;
}

bool spawner_start(void)
{
	return helper_start(&spawner, spawner_main, SPAWNER_STACK);
}

bool spawner_wake(void)
{
	if (!helper_started(&spawner))
		return false;
	fetch_add_acq_rel(&wakeups, 1);
	os_futex_wake((uint32_t *)&wakeups, 1);
	return true;
}

void spawner_want_spare(void)
{
	if (!exchange_acq_rel(&spare_wanted, true))
		spawner_wake();
}

bool spawner_runs(void)
{
	/*
	 * The spawner never asks itself.  Only a thread with neither a G nor an M can be it: all
	 * others are spared the gettid.
	 */
	return helper_started(&spawner) &&
	       (weft_tls.g || weft_tls.m || load_acquire(&spawner_tid) != os_gettid());
}

void spawner_stop(void)
{
	if (!helper_started(&spawner))
		return;
	store_release(&spawner_quits, true);
	spawner_wake();
	helper_join(&spawner);
	spawner_fork_child();
}

void spawner_fork_child(void)
{
	helper_forget(&spawner);
	store_relaxed(&spawner_quits, false);
	store_relaxed(&spare_wanted, false);
	store_relaxed(&spawner_tid, 0);
}
