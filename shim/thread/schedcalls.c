/*
 * schedcalls: the functions that ask for and set policy, priority, nice and affinity, by pthread_t and by id.
 *
 * Must never: ask the kernel for a thread's own where schedothers.c knows it.
 */
#include "shim/thread/schedown.h"

#include <string.h>

#include "shim/syscall/usermem.h"

/* ---- calls by pthread_t ---------------------------------------------------------------------- */

/* The thread that a pthread function names; *err when that thread has ended. */
static struct thread *live(pthread_t t, int *err)
{
	struct thread *th = weft_on ? thread_of(t) : NULL;

	if (!th || !th->g)
		return NULL;
	*err = load_seqcst(&th->state) & TH_EXITED ? ESRCH : 0;
	return th;
}

EXPORT int pthread_getschedparam(pthread_t t, int *policy, struct sched_param *sp)
{
	struct attrs a;
	int err = 0;
	struct thread *th = live(t, &err);

	if (!th)
		return real.pthread_getschedparam(t, policy, sp);
	if (err)
		return err;
	schedattrs_get(th, &a);
	*policy = a.policy;
	sp->sched_priority = a.priority;
	return 0;
}

EXPORT int pthread_setschedparam(pthread_t t, int policy, const struct sched_param *sp)
{
	struct attrs a = {.policy = policy};
	int err = 0;
	struct thread *th = live(t, &err);

	if (!th)
		return real.pthread_setschedparam(t, policy, sp);
	if (err)
		return err;
	a.priority = sp->sched_priority;
	return (int)-schedattrs_set(th, &a, POLICY);
}

EXPORT int pthread_setschedprio(pthread_t t, int priority)
{
	struct attrs a;
	int err = 0;
	struct thread *th = live(t, &err);

	if (!th)
		return real.pthread_setschedprio(t, priority);
	if (err)
		return err;
	schedattrs_get(th, &a);
	a.priority = priority;
	return (int)-schedattrs_set(th, &a, POLICY);
}

enum { MOST_CPUS = 8192 }; /* that a kernel may be built for */

/* -errno; libc and the kernel read as many bytes as they need. */
static long set_cpus(struct thread *th, size_t n, const void *set)
{
	unsigned char now[MOST_CPUS / 8];
	struct attrs a = {0};
	long size;

	n = n < sizeof(a.cpus) ? n : sizeof(a.cpus);
	if (n && !user_read(a.cpus, set, n)) {
		size = direct3(SYS_sched_getaffinity, 0, sizeof(now), now); /* what the kernel reads */
		if (size <= 0 || (size_t)size >= n || !user_read(a.cpus, set, (size_t)size))
			return -EFAULT;
	}
	return schedattrs_set(th, &a, CPUS);
}

/* Bytes that the kernel would fill, or -errno. */
static long get_cpus(struct thread *th, size_t n, void *set)
{
	unsigned char bytes[MOST_CPUS / 8];
	struct attrs a;
	long size;

	if (th == &self_thread) {
		schedparam_apply();
		return direct3(SYS_sched_getaffinity, 0, n, set);
	}
	/* How many bytes there are, and whether n is enough of them, is the kernel's to say. */
	size = direct3(SYS_sched_getaffinity, 0, n < sizeof(bytes) ? n : sizeof(bytes), bytes);
	if (size < 0)
		return size;
	schedattrs_get(th, &a);
	/* Of CPUs beyond those that we keep for a thread it has what its process has. */
	memcpy(bytes, a.cpus, (size_t)size < sizeof(a.cpus) ? (size_t)size : sizeof(a.cpus));
	return user_write(set, bytes, (size_t)size) ? size : -EFAULT;
}

static long get_cpus_padded(struct thread *th, size_t n, void *set)
{
	long r = get_cpus(th, n, set);

	if (r < 0)
		return r;
	if ((size_t)r < n)
		memset((char *)set + r, 0, n - (size_t)r);
	return 0;
}

EXPORT int pthread_setaffinity_np(pthread_t t, size_t n, const cpu_set_t *set)
{
	int err = 0;
	struct thread *th = live(t, &err);

	if (!th)
		return real.pthread_setaffinity_np(t, n, set);
	return err ? err : (int)-set_cpus(th, n, set);
}

EXPORT int pthread_getaffinity_np(pthread_t t, size_t n, cpu_set_t *set)
{
	int err = 0;
	struct thread *th = live(t, &err);

	if (!th)
		return real.pthread_getaffinity_np(t, n, set);
	return err ? err : (int)-get_cpus_padded(th, n, set);
}

/* ---- calls by id ----------------------------------------------------------------------------- */

/* 0 is the caller. */
static struct thread *named(long id)
{
	if (id == 0)
		return on_g() ? &self_thread : NULL;
	return thread_by_id(id);
}

static long set_policy(struct thread *th, int policy, const struct sched_param *sp)
{
	struct attrs a = {.policy = policy};

	if (!sp || policy < 0)
		return -EINVAL;
	if (!user_read(&a.priority, &sp->sched_priority, sizeof(sp->sched_priority)))
		return -EFAULT;
	return schedattrs_set(th, &a, POLICY);
}

static long set_param(struct thread *th, const struct sched_param *sp)
{
	struct attrs a;

	if (!sp)
		return -EINVAL;
	schedattrs_get(th, &a);
	if (!user_read(&a.priority, &sp->sched_priority, sizeof(sp->sched_priority)))
		return -EFAULT;
	return schedattrs_set(th, &a, POLICY);
}

static long get_param(struct thread *th, struct sched_param *sp)
{
	struct attrs a;
	long r;

	if (!sp)
		return -EINVAL;
	schedparam_apply();
	r = direct3(SYS_sched_getparam, 0, sp, 0); /* of another: can it be written? */
	if (r || (th == &self_thread && !schedparam_is_raised()))
		return r;
	schedattrs_get(th, &a);
	sp->sched_priority = a.priority;
	return 0;
}

static long set_nice(struct thread *th, int n)
{
	struct attrs a = {.nice = nice_within(n)};

	return schedattrs_set(th, &a, NICE);
}

/* As getpriority: 20 - nice, or -errno.  Of oneself that is the kernel's answer, whatever it is. */
static long get_nice(struct thread *th)
{
	struct attrs a;

	if (th == &self_thread) {
		schedparam_apply();
		return direct3(SYS_getpriority, PRIO_PROCESS, 0, 0);
	}
	schedattrs_get(th, &a);
	return 20 - a.nice;
}

static long get_policy(struct thread *th)
{
	struct attrs a;

	if (th == &self_thread && !schedparam_is_raised()) {
		schedparam_apply();
		return direct3(SYS_sched_getscheduler, 0, 0, 0);
	}
	schedattrs_get(th, &a);
	return a.policy;
}

/* A slice is a matter of the policy: the caller's kernel thread answers for all that share its. */
static long rr_interval(struct thread *th, struct timespec *ts)
{
	if (th != &self_thread && (get_policy(th) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO)
		return user_write(ts, &(struct timespec){0}, sizeof(*ts)) ? 0 : -EFAULT;
	return direct3(SYS_sched_rr_get_interval, 0, ts, 0);
}

/*
 * Of a group or a user: the kernel changes all kernel threads of these processes.  Is this process one of them?  True
 * also where the kernel refused some.
 */
static bool reniced(long which, long id)
{
	if (which == PRIO_PGRP)
		return id == 0 || id == getpgrp();
	return which == PRIO_USER && (id == 0 || id == (long)getuid());
}

static bool set_many(long which, long id, int n, long *r)
{
	if (!reniced(which, id))
		return false;
	schedparam_apply();
	*r = direct3(SYS_setpriority, which, id, n);
	schedothers_reniced(nice_within(n));
	return true;
}

bool schedparam_call(long nr, long a, long b, long c, long d, long *r)
{
	bool prio = nr == SYS_getpriority || nr == SYS_setpriority;
	struct thread *th;

	if (!weft_on)
		return false;
	if (prio && (int)a != PRIO_PROCESS)
		return nr == SYS_setpriority && on_g() && set_many((int)a, (int)b, (int)c, r);
	th = named((int)(prio ? b : a));
	if (!th)
		return false;
	switch (nr) {
	case SYS_sched_setaffinity:
		*r = set_cpus(th, (size_t)b, (const void *)c);
		return true;
	case SYS_sched_getaffinity:
		*r = get_cpus(th, (size_t)b, (void *)c);
		return true;
	case SYS_sched_setscheduler:
		*r = set_policy(th, (int)b, (const struct sched_param *)c);
		return true;
	case SYS_sched_getscheduler:
		*r = get_policy(th);
		return true;
	case SYS_sched_setparam:
		*r = set_param(th, (const struct sched_param *)b);
		return true;
	case SYS_sched_getparam:
		*r = get_param(th, (struct sched_param *)b);
		return true;
	case SYS_sched_rr_get_interval:
		*r = rr_interval(th, (struct timespec *)b);
		return true;
	case SYS_sched_setattr:
	case SYS_sched_getattr:
		*r = schedparam_by_attr(th, nr, b, c, d);
		return true;
	case SYS_setpriority:
		*r = set_nice(th, (int)c);
		return true;
	case SYS_getpriority:
		*r = get_nice(th);
		return true;
	}
	return false;
}

/* The function of that name, by the call of that number. */
#define BY_ID(ret, name, params, a, b, c, args)                                                    \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		long r;                                                                            \
                                                                                                   \
		if (!schedparam_call(SYS_##name, (long)(a), (long)(b), (long)(c), 0, &r))          \
			return real.name args;                                                     \
		return (ret)syscall_ret(r);                                                        \
	}

BY_ID(int, sched_setaffinity, (pid_t id, size_t n, const cpu_set_t *set), id, n, set, (id, n, set))
BY_ID(int, sched_setscheduler, (pid_t id, int policy, const struct sched_param *sp), id, policy, sp,
      (id, policy, sp))
BY_ID(int, sched_getscheduler, (pid_t id), id, 0, 0, (id))
BY_ID(int, sched_setparam, (pid_t id, const struct sched_param *sp), id, sp, 0, (id, sp))
BY_ID(int, sched_getparam, (pid_t id, struct sched_param *sp), id, sp, 0, (id, sp))
BY_ID(int, sched_rr_get_interval, (pid_t id, struct timespec *ts), id, ts, 0, (id, ts))
ALIAS(__sched_setscheduler, sched_setscheduler);
ALIAS(__sched_getscheduler, sched_getscheduler);
ALIAS(__sched_getparam, sched_getparam);
BY_ID(int, setpriority, (__priority_which_t which, id_t who, int n), which, who, n, (which, who, n))

/* As syscall(): before glibc 2.41 there is nothing else to pass these to. */
EXPORT int sched_setattr(pid_t id, struct sched_attr *attr, unsigned int flags)
{
	long r;

	if (!schedparam_call(SYS_sched_setattr, id, (long)attr, (long)flags, 0, &r))
		return (int)real.syscall(SYS_sched_setattr, id, attr, flags);
	return (int)syscall_ret(r);
}

EXPORT int sched_getattr(pid_t id, struct sched_attr *attr, unsigned int size, unsigned int flags)
{
	long r;

	if (!schedparam_call(SYS_sched_getattr, id, (long)attr, (long)size, (long)flags, &r))
		return (int)real.syscall(SYS_sched_getattr, id, attr, size, flags);
	return (int)syscall_ret(r);
}

EXPORT int sched_getaffinity(pid_t id, size_t n, cpu_set_t *set)
{
	struct thread *th = weft_on ? named(id) : NULL;

	if (!th)
		return real.sched_getaffinity(id, n, set);
	return (int)syscall_ret(get_cpus_padded(th, n, set));
}

EXPORT int getpriority(__priority_which_t which, id_t who)
{
	long r;

	if (!schedparam_call(SYS_getpriority, (long)which, (long)who, 0, 0, &r))
		return real.getpriority(which, who);
	return 20 - (int)r;
}

EXPORT int nice(int more)
{
	long r, now;

	if (!on_g())
		return real.nice(more);
	now = get_nice(&self_thread);
	if (now < 0)
		return (int)syscall_ret(now);
	if (more > 40 || more < -40)
		more = more > 0 ? 40 : -40;
	r = set_nice(&self_thread, 20 - (int)now + more);
	if (r)
		return (int)syscall_ret(r == -EACCES ? -EPERM : r);
	now = get_nice(&self_thread);
	return now < 0 ? (int)syscall_ret(now) : 20 - (int)now;
}
