/*
 * schedkernel: policy, priority, nice and affinity as the kernel has them for the calling kernel thread.
 *
 * What every M has from the start (base) is noted once; a thread's own differ from that or not.
 *
 * Must never: be asked for another kernel thread, but by schedkernel_tell().
 */
#include "shim/thread/schedown.h"

#include <string.h>

struct attrs schedkernel_base;

/*
 * Weft's own questions: libc asks none of them when a program sets something or asks by pthread_t for the
 * second time.  What the kernel does not answer stays what *a says.
 */
void schedkernel_read_policy(struct attrs *a)
{
	struct sched_param sp = {0};
	long policy = own3(SYS_sched_getscheduler, 0, 0, 0);

	if (policy >= 0)
		a->policy = (int)policy;
	if (own3(SYS_sched_getparam, 0, &sp, 0) == 0)
		a->priority = sp.sched_priority;
}

void schedkernel_read(struct attrs *a)
{
	long nice = own3(SYS_getpriority, PRIO_PROCESS, 0, 0);

	/* With the lock: others raise it. */
	own_lock(&schedown);
	if (!own_highest(&schedown, 0))
		schedkernel_read_policy(a);
	own_unlock(&schedown);
	if (nice > 0)
		a->nice = 20 - (int)nice;
	own3(SYS_sched_getaffinity, 0, sizeof(a->cpus), a->cpus);
	/* POSIX 2.8.4: these policies say which thread is next. */
	if (policy_has_order(a->policy)) {
		runtime_fromnow(FROMNOW_ORDER);
		store_relaxed(&realtime_order, true);
	}
}

long schedkernel_policy(int policy, int priority)
{
	struct sched_param sp = {.sched_priority = priority};

	return direct3(SYS_sched_setscheduler, 0, policy, &sp);
}

/*
 * The highest of what o's thread has, with its lock.  tid: its kernel thread, 0: the calling one.  Natively the
 * kernel does this by itself, so a filter may forbid it.
 */
void schedkernel_tell(const struct own *o, int tid)
{
	const struct attrs *a = own_attrs(o);
	bool order = policy_has_order(a->policy);
	struct sched_param sp = {.sched_priority = own_highest(o, order ? a->priority : 0)};
	int policy = order || !sp.sched_priority ? a->policy : SCHED_FIFO | (a->policy & SCHED_RESET_ON_FORK);

	own3(SYS_sched_setscheduler, tid, policy, &sp);
}

/* While the thread runs at another's priority, one that is lower is only noted. */
static long write_policy(const struct attrs *a)
{
	int priority;
	long r;

	own_lock(&schedown);
	priority = own_highest(&schedown, a->priority);
	if (priority == a->priority)
		r = schedkernel_policy(a->policy, priority);
	else if (policy_has_order(a->policy))
		r = schedkernel_policy(a->policy, a->priority < 1 ? a->priority : priority);
	else
		r = a->priority ? -EINVAL : 0;
	own_unlock(&schedown);
	return r;
}

/* The first error; what can be set is. */
long schedkernel_write(const struct attrs *a, unsigned which)
{
	long r = 0, e;

	if (which & CPUS && (e = direct3(SYS_sched_setaffinity, 0, sizeof(a->cpus), a->cpus)) < 0)
		r = e;
	if (which & POLICY && (e = write_policy(a)) < 0 && !r)
		r = e;
	if (which & NICE && (e = direct3(SYS_setpriority, PRIO_PROCESS, 0, a->nice)) < 0 && !r)
		r = e;
	return r;
}

/* A real-time policy that a thread has asked for is its own, though the process began with the same. */
unsigned schedkernel_differences(const struct attrs *a)
{
	const struct attrs *base = &schedkernel_base;

	bool order = a->policy != base->policy || a->priority != base->priority || policy_has_order(a->policy);

	return (order ? POLICY : 0) | (a->nice != base->nice ? NICE : 0) |
	       (memcmp(a->cpus, base->cpus, sizeof(a->cpus)) ? CPUS : 0);
}
