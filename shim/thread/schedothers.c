/*
 * schedothers: policy, priority, nice and affinity of any thread: asked for, set, and given to a new one.
 *
 * What is set for another thread is noted in its block, and becomes real when that thread next looks
 * (schedparam_apply()).  Whether the kernel would agree is found out by asking for it for the caller's own
 * kernel thread and taking it back at once.
 *
 * Must never: change the kernel's word on another kernel thread.
 */
#include "shim/thread/schedown.h"
#include "shim/syscall/usermem.h"

#include <linux/capability.h>
#include <string.h>

#include "shim/signal/sigroute.h"

/* May the caller lower a nice value to n? (setpriority(2)) */
static bool may_nice(int n)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	struct rlimit lim = {0};

	own4(SYS_prlimit64, 0, RLIMIT_NICE, NULL, &lim);
	if ((rlim_t)(20 - n) <= lim.rlim_cur)
		return true;
	own3(SYS_capget, &head, data, 0);
	return data[CAP_SYS_NICE / 32].effective >> CAP_SYS_NICE % 32 & 1;
}

static int nice_after(int was, int n)
{
	return n < was && !may_nice(n) ? was : n;
}

/* Would the kernel agree?  a's affinity becomes what the kernel makes of it. */
static long try_out(struct attrs *a, unsigned which, int nice_now)
{
	struct attrs was = schedparam_known(&schedown);
	long r = 0;

	schedkernel_read(&was);
	if (which & POLICY) {
		int policy = a->policy & ~SCHED_RESET_ON_FORK;

		if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE) {
			/* Always granted; trying SCHED_IDLE could be for good. */
			r = a->priority ? -EINVAL : 0;
		} else {
			r = schedkernel_policy(a->policy, a->priority);
			own_lock(&schedown);
			if (!r && own_highest(&schedown, 0))
				schedkernel_tell(&schedown, 0);
			else if (!r)
				schedkernel_policy(was.policy, was.priority);
			own_unlock(&schedown);
		}
	}
	if (!r && which & NICE && a->nice < nice_now && !may_nice(a->nice))
		r = -EACCES;
	if (!r && which & CPUS) {
		r = schedkernel_write(a, CPUS);
		if (!r) {
			own3(SYS_sched_getaffinity, 0, sizeof(a->cpus), a->cpus);
			schedkernel_write(&was, CPUS);
		}
	}
	return r;
}

/* What th has, or will have at its next look. */
void schedattrs_get(struct thread *th, struct attrs *a)
{
	struct own *o = own_of(th);

	if (th == &self_thread) {
		schedparam_apply();
		*a = schedparam_known(o);
		schedkernel_read(a);
		return;
	}
	/*
	 * What differs from the base was noted first.  Most threads have nothing of their own: a caller that asks for
	 * one of them again and again would keep others from its lock.
	 */
	if (!load_relaxed(&o->set)) {
		*a = schedkernel_base;
		return;
	}
	own_lock(o);
	*a = o->set | o->pending ? o->attrs : schedkernel_base;
	own_unlock(o);
}

static void note(struct thread *th, const struct attrs *a, unsigned which)
{
	struct own *o = own_of(th);

	if (which & POLICY && policy_has_order(a->policy))
		store_relaxed(&realtime_order, true);
	own_lock(o);
	if (!(o->set | o->pending))
		o->attrs = schedkernel_base;
	attrs_put(&o->attrs, a, which);
	store_relaxed(&o->set, schedkernel_differences(&o->attrs));
	o->pending |= which;
	store_release(&th->schedparam_pending, true);
	own_unlock(o);
}

long schedattrs_set(struct thread *th, struct attrs *a, unsigned which)
{
	struct attrs now;
	long r;

	if (th == &self_thread)
		return schedparam_set_own(a, which);
	schedattrs_get(th, &now);
	r = try_out(a, which, now.nice);
	if (r)
		return r;
	note(th, a, which);
	store_seqcst(&th->look, true);
	sigroute_kick(th->g);
	return 0;
}

/*
 * The kernel has set n for all kernel threads of this process: where it was not refused, for a value may be made lower
 * by few.  What threads have not made real yet is n's now, too.
 */
void schedothers_reniced(int n)
{
	struct g *gp;
	uint32_t i = 0;

	schedkernel_base.nice = nice_after(schedkernel_base.nice, n);
	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;
		struct own *o = th && th->g == gp ? own_of(th) : NULL;

		if (!o)
			continue;
		own_lock(o);
		if (o->set | o->pending)
			o->attrs.nice = nice_after(o->attrs.nice, n);
		if (o->set)
			store_relaxed(&o->set, schedkernel_differences(&o->attrs));
		own_unlock(o);
	}
}

/* ---- creation -------------------------------------------------------------------------------- */

static int inherit(struct thread *th, const pthread_attr_t *attr)
{
	struct sched_param sp = {0};
	int how = PTHREAD_INHERIT_SCHED;
	unsigned which = 0;
	struct attrs a = schedkernel_base, want;
	long r = 0;

	if (on_g()) {
		if (unlikely(schedown.set)) {
			a = schedown.attrs;
			if (a.policy & SCHED_RESET_ON_FORK) {
				a.policy = SCHED_OTHER;
				a.priority = 0;
				a.nice = a.nice < 0 ? 0 : a.nice;
			}
		}
	}
	want = a;
	if (attr) {
		pthread_attr_getinheritsched(attr, &how);
		if (how == PTHREAD_EXPLICIT_SCHED) {
			pthread_attr_getschedpolicy(attr, &want.policy);
			pthread_attr_getschedparam(attr, &sp);
			want.priority = sp.sched_priority;
			/*
			 * A policy with priorities never has 0 set: libc takes the creator's then.
			 */
			if (!want.priority && sched_get_priority_min(want.policy) > 0)
				want.priority = a.priority;
			which |= POLICY;
		}
		/* All ones: not set. */
		memset(want.cpus, 0, sizeof(want.cpus));
		if (pthread_attr_getaffinity_np(attr, sizeof(want.cpus), (cpu_set_t *)want.cpus) == 0 &&
		    want.cpus[0] + 1)
			which |= CPUS;
		r = which ? try_out(&want, which, a.nice) : 0;
		if (r)
			return (int)-r;
		attrs_put(&a, &want, which);
	}
	which = schedkernel_differences(&a);
	if (on_g() && self_thread.passes_os)
		which |= schedown.set; /* its kernel thread begins with the creator's */
	if (unlikely(which))
		note(th, &a, which);
	return 0;
}

int schedparam_inherit(struct thread *th, const pthread_attr_t *attr)
{
	if (on_g())
		schedparam_apply();
	/* The base's own attributes are what every kernel thread has. */
	if (likely(!attr && !(on_g() && schedown.set)))
		return 0;
	return inherit(th, attr);
}

void schedparam_describe(struct thread *th, pthread_attr_t *attr)
{
	struct attrs a;
	struct sched_param sp;

	schedattrs_get(th, &a);
	pthread_attr_setschedpolicy(attr, a.policy & ~SCHED_RESET_ON_FORK);
	/* libc asks the kernel, by calls that a filter may forbid, whether the policy has the priority. */
	if (pthread_attr_getschedparam(attr, &sp) || sp.sched_priority == a.priority)
		return;
	sp.sched_priority = a.priority;
	pthread_attr_setschedparam(attr, &sp);
}

/* ---- sched_getattr(2), sched_setattr(2) ------------------------------------------------------- */

struct schedattr { /* the first form of the kernel's struct sched_attr */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t deadline[3];
};
enum { ATTR_RESET = 1, ATTR_KEEP_POLICY = 8, ATTR_KEEP_PARAMS = 16 };

/* The kernel judges the arguments, and fills in what it has of the caller; then the other's are put there. */
long schedothers_get_attr(struct thread *th, void *attr, long size, long flags)
{
	struct schedattr to;
	struct attrs a;
	long r = direct4(SYS_sched_getattr, 0, attr, size, flags);

	if (r)
		return r;
	if (!user_read(&to, attr, sizeof(to)))
		return -EFAULT;
	schedattrs_get(th, &a);
	to.policy = (uint32_t)(a.policy & ~SCHED_RESET_ON_FORK);
	to.flags = a.policy & SCHED_RESET_ON_FORK ? ATTR_RESET : 0;
	to.priority = (uint32_t)a.priority;
	to.nice = policy_has_order(a.policy) ? 0 : a.nice;
	return user_write(attr, &to, sizeof(to)) ? 0 : -EFAULT;
}

/* A size that is none of the kernel's it would judge by what lies behind: here the first form is read alone. */
long schedothers_set_attr(struct thread *th, const void *attr, long flags)
{
	struct schedattr from;
	struct attrs a;
	unsigned which = POLICY;

	if (!attr || flags)
		return -EINVAL;
	if (!user_read(&from.size, attr, sizeof(from.size)))
		return -EFAULT;
	if (from.size && from.size < sizeof(from))
		return -E2BIG;
	if (!user_read(&from, attr, sizeof(from)))
		return -EFAULT;
	if (from.flags & ~(uint64_t)(ATTR_RESET | ATTR_KEEP_POLICY | ATTR_KEEP_PARAMS))
		return -EPERM;
	schedattrs_get(th, &a);
	if (!(from.flags & ATTR_KEEP_POLICY)) {
		if (from.policy > INT32_MAX)
			return -EINVAL;
		a.policy = (int)from.policy | (from.flags & ATTR_RESET ? SCHED_RESET_ON_FORK : 0);
	}
	if (!(from.flags & ATTR_KEEP_PARAMS)) {
		a.priority = (int)from.priority;
		a.nice = nice_within(from.nice);
		which |= policy_has_order(a.policy) ? 0 : NICE;
	}
	return schedattrs_set(th, &a, which);
}
