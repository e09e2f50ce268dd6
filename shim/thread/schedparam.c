/*
 * schedparam: policy, priority, nice and affinity of a thread.
 *
 * They are properties of a kernel thread.  A G that has none of its own runs on any M, and all Ms
 * have what the process had when weft started (base).  A G that asks for something else is locked to
 * an M and the kernel is asked there (schedkernel.c), so its answer, permission and all, is the native
 * one; back at base it is let go.
 *
 * Another thread's attributes are kept in its block and become real when it next runs (pending): a
 * thread that does not run needs no priority.  schedothers.c notes them there; the calls that ask and
 * set are in schedcalls.c.
 *
 * A thread that holds a ceiling mutex, or a lock for which others wait that inherits their priority, runs at
 * the highest of these and its own (tell_kernel()).  A program that asks is told its own.
 *
 * Must never: touch a thread's own but under its lock; others ask for it at any moment.
 */
#include "shim/thread/schedown.h"

#include "shim/signal/sigroute.h"

__thread struct own schedown __attribute__((tls_model("initial-exec")));

/*
 * By thread modulo: own itself is wiped between two lives, perhaps while another thread asks by id.
 */
enum { OWN_LOCKS = 64 };
static struct shimlock own_locks[OWN_LOCKS] = { [0 ... OWN_LOCKS - 1] = SHIMLOCK(Attrs) };

static struct shimlock *lock_of(const struct own *o)
{
	return &own_locks[(uintptr_t)o / 4096 % OWN_LOCKS];
}

void own_lock(struct own *o)
{
	shimlock(lock_of(o));
}

void own_unlock(struct own *o)
{
	shimunlock(lock_of(o));
}

/* ---- one's own ------------------------------------------------------------------------------- */

static void lock_m(struct own *o)
{
	if (o->m_locked)
		return;
	lockosthread(LOCK_OWN, 0);
	o->m_locked = true;
	self_thread.leaves_more = true;
}

/* Others may note something for the thread meanwhile. */
struct attrs schedparam_known(struct own *o)
{
	struct attrs a;

	own_lock(o);
	a = o->set ? o->attrs : schedkernel_base;
	own_unlock(o);
	return a;
}

/* Among those that wait, with o's lock. */
static int take_place(const struct own *o, struct g *gp)
{
	bool order = o->set & POLICY && policy_has_order(o->attrs.policy);

	return g_set_priority(gp, own_highest(o, order ? o->attrs.priority : 0));
}

/*
 * Takes over what the kernel has now; a G that is as all are is locked to its M no more.  changed: what the
 * kernel has just taken of a, should it not say so.
 */
static void sync_attrs(struct own *o, const struct attrs *a, unsigned changed)
{
	struct attrs now = schedparam_known(o);

	attrs_put(&now, a, changed);
	schedkernel_read(&now);
	own_lock(o);
	o->attrs = now;
	store_relaxed(&o->set, schedkernel_differences(&now));
	take_place(o, getg());
	own_unlock(o);
	if (o->m_locked)
		runtime_realtime(o->set & POLICY && policy_has_order(now.policy));
	if (!o->set && o->m_locked) {
		o->m_locked = false;
		unlockosthread(false);
	}
}

long schedparam_set_own(const struct attrs *a, unsigned which)
{
	struct own *o = &schedown;
	long r;

	schedparam_apply();
	if (schedkernel_differences(a) & which)
		lock_m(o);
	r = schedkernel_write(a, which);
	sync_attrs(o, a, r ? 0 : which);
	return r;
}

static void apply(struct own *o)
{
	struct attrs a;
	unsigned which, set;

	own_lock(o);
	which = o->pending;
	set = o->set;
	a = o->attrs;
	o->pending = 0;
	store_release(&self_thread.schedparam_pending, false);
	own_unlock(o);
	if (!which)
		return;
	if (set)
		lock_m(o);
	sync_attrs(o, &a, schedkernel_write(&a, which) ? 0 : which);
}

void schedparam_apply(void)
{
	if (unlikely(load_relaxed(&self_thread.schedparam_pending)))
		apply(&schedown);
}

void schedparam_apply_here(void)
{
	struct own *o = &schedown;

	if (likely(!load_relaxed(&self_thread.schedparam_pending)))
		return;
	/* On the kernel thread that must be left first: later. */
	if (!o->m_locked && self_thread.g != g_main() &&
	    direct3(SYS_gettid, 0, 0, 0) == direct3(SYS_getpid, 0, 0, 0))
		return;
	apply(o);
}

/* ---- raised for others ----------------------------------------------------------------------- */

/* The policy and priority that th has without the others; the priority counts where there is an order. */
static int own_priority(const struct own *o, int *policy)
{
	const struct attrs *a = own_attrs(o);

	*policy = a->policy;
	return policy_has_order(a->policy) ? a->priority : 0;
}

int schedparam_priority(struct thread *th)
{
	struct own *o = own_of(th);
	int policy, priority;

	own_lock(o);
	priority = own_priority(o, &policy);
	if (priority < o->ceiling)
		priority = o->ceiling;
	own_unlock(o);
	return priority;
}

void schedparam_inherits(struct thread *th, int priority)
{
	struct own *o = own_of(th);
	int tid;

	own_lock(o);
	if (o->inherited != priority) {
		o->inherited = priority;
		tid = take_place(o, th->g);
		if (tid || th == &self_thread)
			schedkernel_tell(o, th == &self_thread ? 0 : tid);
	}
	own_unlock(o);
}

int schedparam_own(int *policy)
{
	int priority;

	schedparam_apply();
	own_lock(&schedown);
	priority = own_priority(&schedown, policy);
	own_unlock(&schedown);
	return priority;
}

long schedparam_ceiling(int ceiling)
{
	struct own *o = &schedown;
	int policy, priority;
	long r;

	own_lock(o);
	priority = own_priority(o, &policy);
	if (priority < ceiling)
		priority = ceiling;
	/* Without an order of priorities the kernel refuses. */
	r = schedkernel_policy(policy, priority > o->inherited ? priority : o->inherited);
	if (!r)
		o->ceiling = ceiling;
	take_place(o, getg());
	own_unlock(o);
	return r;
}

void schedparam_leave(void)
{
	/* Any other M ends with the G that was locked to it. */
	if (schedown.m_locked && schedown.set && direct3(SYS_gettid, 0, 0, 0) == direct3(SYS_getpid, 0, 0, 0))
		schedkernel_write(&schedkernel_base, schedown.set);
}

/* The child's only thread is on a copy of its kernel thread. */
void schedparam_fork_child(void)
{
	for (int i = 0; i < OWN_LOCKS; i++)
		shimlock_fork_child(&own_locks[i]);
	if (schedown.inherited) {
		schedown.inherited = 0; /* the waiters are the parent's */
		schedkernel_tell(&schedown, 0);
	}
	if (!schedown.set)
		schedkernel_read(&schedkernel_base);
}

/*
 * The spawner makes the Ms, so what it inherited all Ms would have: in a child of a thread with a real-time
 * policy, say.  Not the nice value: there is no attribute for that.
 */
void schedparam_of_native(pthread_attr_t *attr)
{
	const struct attrs *base = &schedkernel_base;
	struct sched_param sp = {.sched_priority = base->priority};

	if (!on_g() || likely(!schedown.set))
		return;
	if (schedown.set & POLICY) {
		pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(attr, base->policy & ~SCHED_RESET_ON_FORK);
		pthread_attr_setschedparam(attr, &sp);
	}
	if (schedown.set & CPUS)
		pthread_attr_setaffinity_np(attr, sizeof(base->cpus), (const cpu_set_t *)base->cpus);
}

void schedparam_init(void)
{
	schedkernel_read(&schedkernel_base);
}

/* Whether the kernel's word on the calling thread's policy is its schedown. */
bool schedparam_is_raised(void)
{
	bool yes;

	own_lock(&schedown);
	yes = own_highest(&schedown, 0);
	own_unlock(&schedown);
	return yes;
}

/*
 * sched_setattr and sched_getattr speak of more than is kept here: the kernel's, for the caller; for others
 * schedothers.c.
 */
long schedparam_by_attr(struct thread *th, long nr, long b, long c, long d)
{
	struct attrs a = schedkernel_base;
	long r;

	schedparam_apply();
	if (th != &self_thread)
		return nr == SYS_sched_getattr ? schedothers_get_attr(th, (void *)b, c, d) :
						 schedothers_set_attr(th, (const void *)b, c);
	if (nr == SYS_sched_getattr)
		return direct4(nr, 0, b, c, d);
	lock_m(&schedown);
	r = direct4(nr, 0, b, c, d);
	schedkernel_read_policy(&a);
	sync_attrs(&schedown, &a, r ? 0 : POLICY);
	own_lock(&schedown);
	if (own_highest(&schedown, 0))
		schedkernel_tell(&schedown, 0);
	own_unlock(&schedown);
	return r;
}
