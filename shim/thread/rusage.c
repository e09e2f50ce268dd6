/*
 * rusage: what a thread has used, of getrusage(2).
 *
 * The kernel counts for kernel threads.  A G's CPU time, and the kernel's part of it, are counted at
 * its switches (runtime/sched/cputime.c), from the first question on.  What else is counted for a thread is
 * not known of a G and is 0, but for the memory, which is the process's.
 */
#include "runtime/process.h"
#include "shim/thread/tid.h"
#include "shim/syscall/syscall.h"

static struct timeval tv_of(uint64_t ns)
{
	return (struct timeval){ .tv_sec = (time_t)(ns / 1000000000),
				 .tv_usec = (suseconds_t)(ns % 1000000000 / 1000) };
}

/* The two readings are not of one moment, and neither part may go back. */
static uint64_t no_less(_Atomic uint64_t *said, uint64_t now)
{
	uint64_t was = load_relaxed(said);

	while (was < now && !cas_weak_relaxed(said, &was, now))
		;
	return was > now ? was : now;
}

void thread_usage(struct thread *th, int ostid, uint64_t used, uint64_t *user, uint64_t *system)
{
	struct gsystime sys = { ostid, used, 0 };
	uint64_t all = g_cputime(th->g, &sys);

	if (sys.ns > all)
		sys.ns = all;
	*system = no_less(&th->said[1], sys.ns);
	*user = no_less(&th->said[0], all - sys.ns);
}

/* What was told was the parent's. */
void rusage_fork_child(void)
{
	store_relaxed(&self_thread.said[0], 0);
	store_relaxed(&self_thread.said[1], 0);
}

long reads_usage(const struct call *x)
{
	struct rusage *ru = (struct rusage *)x->b;
	uint64_t user, system;
	long r;

	if ((int)x->a != RUSAGE_THREAD || !ru)
		return call_plain(x);
	r = direct3(SYS_getrusage, RUSAGE_THREAD, ru, 0);
	if (r)
		return r;
	thread_usage(&self_thread, 0, 0, &user, &system);
	*ru = (struct rusage){ .ru_utime = tv_of(user),
			       .ru_stime = tv_of(system),
			       .ru_maxrss = ru->ru_maxrss };
	return 0;
}
