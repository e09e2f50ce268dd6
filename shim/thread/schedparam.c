/*
 * schedparam: policy, priority, nice and affinity of a thread.
 *
 * They are properties of a kernel thread.  A G that has none of its own runs on any M, and all Ms
 * have what the process had when weft started (base).  A G that asks for something else is locked to
 * an M and the kernel is asked there, so its answer, permission and all, is the native one; back at
 * base it is let go.
 *
 * Another thread's attributes are kept in its block and become real when it next runs (pending): a
 * thread that does not run needs no priority.  Whether the kernel would agree is found out by
 * asking for it for the caller's own kernel thread and taking it back at once.
 *
 * A thread that holds a ceiling mutex, or a lock for which others wait that inherits their priority, runs at
 * the highest of these and its own (tell_kernel()).  A program that asks is told its own.
 *
 * Must never: touch a thread's own but under its lock; others ask for it at any moment.
 */
#include "runtime/process.h"
#include "shim/thread/schedparam.h"

#include <linux/capability.h>
#include <string.h>

#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

enum { MAXCPUS = 1024, NICE_MIN = -20, NICE_MAX = 19 };

struct attrs {
	int policy, priority, nice;
	uint64_t cpus[MAXCPUS / 64];
};

enum { POLICY = 1, NICE = 2, CPUS = 4, ALL_ATTRS = 7 };

/* Zero at the start of a life: all as base. */
struct own {
	unsigned set;     /* which of attrs are not base's */
	unsigned pending; /* which are not the kernel's yet */
	bool m_locked;    /* (o) */
	int ceiling;      /* the highest of the ceiling mutexes that it holds; 0: none */
	int inherited;    /* of those that wait for what it holds; 0: none.  Others write it, too */
	struct attrs attrs;
};

static __thread struct own own;
static struct attrs base;

static struct own *own_of(struct thread *th)
{
	return (struct own *)((char *)&own + ((char *)th - (char *)&self_thread));
}

/*
 * By thread modulo: own itself is wiped between two lives, perhaps while another thread asks by id.
 */
enum { OWN_LOCKS = 64 };
static struct shimlock own_locks[OWN_LOCKS] = { [0 ... OWN_LOCKS - 1] = SHIMLOCK(Attrs) };

static struct shimlock *lock_of(const struct own *o)
{
	return &own_locks[(uintptr_t)o / 4096 % OWN_LOCKS];
}

static void own_lock(struct own *o)
{
	shimlock(lock_of(o));
}

static void own_unlock(struct own *o)
{
	shimunlock(lock_of(o));
}

/* ---- the kernel's, of the calling kernel thread ---------------------------------------------- */

static bool has_order(int policy)
{
	policy &= ~SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* With its lock. */
static const struct attrs *attrs_of(const struct own *o)
{
	return o->set | o->pending ? &o->attrs : &base;
}

static int highest(const struct own *o, int priority)
{
	int more = o->ceiling > o->inherited ? o->ceiling : o->inherited;

	return more > priority ? more : priority;
}

/*
 * Weft's own questions: libc asks none of them when a program sets something or asks by pthread_t for the
 * second time.  What the kernel does not answer stays what *a says.
 */
static void read_policy(struct attrs *a)
{
	struct sched_param sp = {0};
	long policy = own3(SYS_sched_getscheduler, 0, 0, 0);

	if (policy >= 0)
		a->policy = (int)policy;
	if (own3(SYS_sched_getparam, 0, &sp, 0) == 0)
		a->priority = sp.sched_priority;
}

static void kernel_read(struct attrs *a)
{
	long nice = own3(SYS_getpriority, PRIO_PROCESS, 0, 0);

	/* With the lock: others raise it. */
	own_lock(&own);
	if (!highest(&own, 0))
		read_policy(a);
	own_unlock(&own);
	if (nice > 0)
		a->nice = 20 - (int)nice;
	own3(SYS_sched_getaffinity, 0, sizeof(a->cpus), a->cpus);
	/* POSIX 2.8.4: these policies say which thread is next. */
	if (has_order(a->policy)) {
		runtime_promised();
		store_relaxed(&realtime_order, true);
	}
}

static long kernel_policy(int policy, int priority)
{
	struct sched_param sp = {.sched_priority = priority};

	return direct3(SYS_sched_setscheduler, 0, policy, &sp);
}

/*
 * The highest of what o's thread has, with its lock.  tid: its kernel thread, 0: the calling one.  Natively the
 * kernel does this by itself, so a filter may forbid it.
 */
static void tell_kernel(const struct own *o, int tid)
{
	const struct attrs *a = attrs_of(o);
	bool order = has_order(a->policy);
	struct sched_param sp = {.sched_priority = highest(o, order ? a->priority : 0)};
	int policy = order || !sp.sched_priority ? a->policy : SCHED_FIFO | (a->policy & SCHED_RESET_ON_FORK);

	own3(SYS_sched_setscheduler, tid, policy, &sp);
}

/* While the thread runs at another's priority, one that is lower is only noted. */
static long write_policy(const struct attrs *a)
{
	int priority;
	long r;

	own_lock(&own);
	priority = highest(&own, a->priority);
	if (priority == a->priority)
		r = kernel_policy(a->policy, priority);
	else if (has_order(a->policy))
		r = kernel_policy(a->policy, a->priority < 1 ? a->priority : priority);
	else
		r = a->priority ? -EINVAL : 0;
	own_unlock(&own);
	return r;
}

/* The first error; what can be set is. */
static long kernel_write(const struct attrs *a, unsigned which)
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
static unsigned differences(const struct attrs *a)
{
	return (a->policy != base.policy || a->priority != base.priority || has_order(a->policy) ? POLICY : 0) |
	       (a->nice != base.nice ? NICE : 0) |
	       (memcmp(a->cpus, base.cpus, sizeof(a->cpus)) ? CPUS : 0);
}

/* ---- one's own ------------------------------------------------------------------------------- */

static void lock_m(struct own *o)
{
	if (o->m_locked)
		return;
	lockosthread_own();
	o->m_locked = true;
	self_thread.leaves_more = true;
}

static void put(struct attrs *to, const struct attrs *from, unsigned which)
{
	if (which & POLICY) {
		to->policy = from->policy;
		to->priority = from->priority;
	}
	if (which & NICE)
		to->nice = from->nice;
	if (which & CPUS)
		memcpy(to->cpus, from->cpus, sizeof(to->cpus));
}

/* Others may note something for the thread meanwhile. */
static struct attrs known(struct own *o)
{
	struct attrs a;

	own_lock(o);
	a = o->set ? o->attrs : base;
	own_unlock(o);
	return a;
}

/* Among those that wait, with o's lock. */
static int take_place(const struct own *o, struct g *gp)
{
	return g_set_priority(gp, highest(o, o->set & POLICY && has_order(o->attrs.policy) ? o->attrs.priority : 0));
}

/*
 * Takes over what the kernel has now; a G that is as all are is locked to its M no more.  changed: what the
 * kernel has just taken of a, should it not say so.
 */
static void sync_attrs(struct own *o, const struct attrs *a, unsigned changed)
{
	struct attrs now = known(o);

	put(&now, a, changed);
	kernel_read(&now);
	own_lock(o);
	o->attrs = now;
	o->set = differences(&now);
	take_place(o, getg());
	own_unlock(o);
	if (o->m_locked)
		runtime_realtime(o->set & POLICY && has_order(now.policy));
	if (!o->set && o->m_locked) {
		o->m_locked = false;
		unlockosthread();
	}
}

static long set_own(const struct attrs *a, unsigned which)
{
	struct own *o = &own;
	long r;

	schedparam_apply();
	if (differences(a) & which)
		lock_m(o);
	r = kernel_write(a, which);
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
	sync_attrs(o, &a, kernel_write(&a, which) ? 0 : which);
}

void schedparam_apply(void)
{
	if (unlikely(load_relaxed(&self_thread.schedparam_pending)))
		apply(&own);
}

void schedparam_apply_here(void)
{
	struct own *o = &own;

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
	const struct attrs *a = attrs_of(o);

	*policy = a->policy;
	return has_order(a->policy) ? a->priority : 0;
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
			tell_kernel(o, th == &self_thread ? 0 : tid);
	}
	own_unlock(o);
}

int schedparam_own(int *policy)
{
	int priority;

	schedparam_apply();
	own_lock(&own);
	priority = own_priority(&own, policy);
	own_unlock(&own);
	return priority;
}

long schedparam_ceiling(int ceiling)
{
	struct own *o = &own;
	int policy, priority;
	long r;

	own_lock(o);
	priority = own_priority(o, &policy);
	if (priority < ceiling)
		priority = ceiling;
	/* Without an order of priorities the kernel refuses. */
	r = kernel_policy(policy, priority > o->inherited ? priority : o->inherited);
	if (!r)
		o->ceiling = ceiling;
	take_place(o, getg());
	own_unlock(o);
	return r;
}

void schedparam_leave(void)
{
	/* Any other M ends with the G that was locked to it. */
	if (own.m_locked && own.set && direct3(SYS_gettid, 0, 0, 0) == direct3(SYS_getpid, 0, 0, 0))
		kernel_write(&base, own.set);
}

/* The child's only thread is on a copy of its kernel thread. */
void schedparam_fork_child(void)
{
	for (int i = 0; i < OWN_LOCKS; i++)
		shimlock_fork_child(&own_locks[i]);
	if (own.inherited) {
		own.inherited = 0; /* the waiters are the parent's */
		tell_kernel(&own, 0);
	}
	if (!own.set)
		kernel_read(&base);
}

void schedparam_init(void)
{
	kernel_read(&base);
}

/* ---- another's ------------------------------------------------------------------------------- */

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

/* Would the kernel agree?  a's affinity becomes what the kernel makes of it. */
static long try_out(struct attrs *a, unsigned which, int nice_now)
{
	struct attrs was = known(&own);
	long r = 0;

	kernel_read(&was);
	if (which & POLICY) {
		int policy = a->policy & ~SCHED_RESET_ON_FORK;

		if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE) {
			/* Always granted; trying SCHED_IDLE could be for good. */
			r = a->priority ? -EINVAL : 0;
		} else {
			r = kernel_policy(a->policy, a->priority);
			own_lock(&own);
			if (!r && highest(&own, 0))
				tell_kernel(&own, 0);
			else if (!r)
				kernel_policy(was.policy, was.priority);
			own_unlock(&own);
		}
	}
	if (!r && which & NICE && a->nice < nice_now && !may_nice(a->nice))
		r = -EACCES;
	if (!r && which & CPUS) {
		r = kernel_write(a, CPUS);
		if (!r) {
			own3(SYS_sched_getaffinity, 0, sizeof(a->cpus), a->cpus);
			kernel_write(&was, CPUS);
		}
	}
	return r;
}

/* What th has, or will have at its next look. */
static void get_attrs(struct thread *th, struct attrs *a)
{
	struct own *o = own_of(th);

	if (th == &self_thread) {
		schedparam_apply();
		*a = known(o);
		kernel_read(a);
		return;
	}
	own_lock(o);
	*a = o->set | o->pending ? o->attrs : base;
	own_unlock(o);
}

static void note(struct thread *th, const struct attrs *a, unsigned which)
{
	struct own *o = own_of(th);

	if (which & POLICY && has_order(a->policy))
		store_relaxed(&realtime_order, true);
	own_lock(o);
	if (!(o->set | o->pending))
		o->attrs = base;
	put(&o->attrs, a, which);
	o->set = differences(&o->attrs);
	o->pending |= which;
	store_release(&th->schedparam_pending, true);
	own_unlock(o);
}

static long set_attrs(struct thread *th, struct attrs *a, unsigned which)
{
	struct attrs now;
	long r;

	if (th == &self_thread)
		return set_own(a, which);
	get_attrs(th, &now);
	r = try_out(a, which, now.nice);
	if (r)
		return r;
	note(th, a, which);
	store_seqcst(&th->look, true);
	sigroute_kick(th->g);
	return 0;
}

/* ---- creation -------------------------------------------------------------------------------- */

static int inherit(struct thread *th, const pthread_attr_t *attr)
{
	struct sched_param sp = {0};
	int how = PTHREAD_INHERIT_SCHED;
	unsigned which = 0;
	struct attrs a = base, want;
	long r = 0;

	if (on_g()) {
		if (unlikely(own.set)) {
			a = own.attrs;
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
		put(&a, &want, which);
	}
	which = differences(&a);
	if (on_g() && self_thread.passes_os)
		which |= own.set; /* its kernel thread begins with the creator's */
	if (unlikely(which))
		note(th, &a, which);
	return 0;
}

int schedparam_inherit(struct thread *th, const pthread_attr_t *attr)
{
	if (on_g())
		schedparam_apply();
	/* The base's own attributes are what every kernel thread has. */
	if (likely(!attr && !(on_g() && own.set)))
		return 0;
	return inherit(th, attr);
}

void schedparam_describe(struct thread *th, pthread_attr_t *attr)
{
	struct attrs a;
	struct sched_param sp;

	get_attrs(th, &a);
	pthread_attr_setschedpolicy(attr, a.policy & ~SCHED_RESET_ON_FORK);
	/* libc asks the kernel, by calls that a filter may forbid, whether the policy has the priority. */
	if (pthread_attr_getschedparam(attr, &sp) || sp.sched_priority == a.priority)
		return;
	sp.sched_priority = a.priority;
	pthread_attr_setschedparam(attr, &sp);
}

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
	get_attrs(th, &a);
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
	return (int)-set_attrs(th, &a, POLICY);
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
	get_attrs(th, &a);
	a.priority = priority;
	return (int)-set_attrs(th, &a, POLICY);
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
	return set_attrs(th, &a, CPUS);
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
	get_attrs(th, &a);
	/* Of CPUs beyond those that we keep for a thread it has what its process has. */
	memcpy(bytes, a.cpus, (size_t)size < sizeof(a.cpus) ? (size_t)size : sizeof(a.cpus));
	memcpy(set, bytes, (size_t)size);
	return size;
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
	return set_attrs(th, &a, POLICY);
}

static long set_param(struct thread *th, const struct sched_param *sp)
{
	struct attrs a;

	if (!sp)
		return -EINVAL;
	get_attrs(th, &a);
	if (!user_read(&a.priority, &sp->sched_priority, sizeof(sp->sched_priority)))
		return -EFAULT;
	return set_attrs(th, &a, POLICY);
}

/* Whether the kernel's word on the calling thread's policy is its own. */
static bool is_raised(void)
{
	bool yes;

	own_lock(&own);
	yes = highest(&own, 0);
	own_unlock(&own);
	return yes;
}

static long get_param(struct thread *th, struct sched_param *sp)
{
	struct attrs a;
	long r;

	if (!sp)
		return -EINVAL;
	schedparam_apply();
	r = direct3(SYS_sched_getparam, 0, sp, 0); /* of another: can it be written? */
	if (r || (th == &self_thread && !is_raised()))
		return r;
	get_attrs(th, &a);
	sp->sched_priority = a.priority;
	return 0;
}

static long set_nice(struct thread *th, int n)
{
	struct attrs a = {.nice = n < NICE_MIN ? NICE_MIN : n > NICE_MAX ? NICE_MAX : n};

	return set_attrs(th, &a, NICE);
}

/* As getpriority: 20 - nice, or -errno.  Of oneself that is the kernel's answer, whatever it is. */
static long get_nice(struct thread *th)
{
	struct attrs a;

	if (th == &self_thread) {
		schedparam_apply();
		return direct3(SYS_getpriority, PRIO_PROCESS, 0, 0);
	}
	get_attrs(th, &a);
	return 20 - a.nice;
}

static long get_policy(struct thread *th)
{
	struct attrs a;

	if (th == &self_thread && !is_raised()) {
		schedparam_apply();
		return direct3(SYS_sched_getscheduler, 0, 0, 0);
	}
	get_attrs(th, &a);
	return a.policy;
}

/* A slice is a matter of the policy: the caller's kernel thread answers for all that share its. */
static long rr_interval(struct thread *th, struct timespec *ts)
{
	if (th != &self_thread && (get_policy(th) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO) {
		*ts = (struct timespec){0};
		return 0;
	}
	return direct3(SYS_sched_rr_get_interval, 0, ts, 0);
}

/*
 * sched_setattr and sched_getattr speak of more than is kept here: the kernel's, for the caller
 * only.
 */
static long by_attr(struct thread *th, long nr, long b, long c, long d)
{
	struct attrs a = base;
	long r;

	if (th != &self_thread)
		return -EPERM;
	schedparam_apply();
	if (nr == SYS_sched_getattr)
		return direct4(nr, 0, b, c, d);
	lock_m(&own);
	r = direct4(nr, 0, b, c, d);
	read_policy(&a);
	sync_attrs(&own, &a, r ? 0 : POLICY);
	own_lock(&own);
	if (highest(&own, 0))
		tell_kernel(&own, 0);
	own_unlock(&own);
	return r;
}

bool schedparam_call(long nr, long a, long b, long c, long d, long *r)
{
	bool prio = nr == SYS_getpriority || nr == SYS_setpriority;
	struct thread *th;

	if (!weft_on || (prio && a != PRIO_PROCESS))
		return false;
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
		*r = by_attr(th, nr, b, c, d);
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
EXPORT int sched_setattr(pid_t id, void *attr, unsigned int flags)
{
	long r;

	if (!schedparam_call(SYS_sched_setattr, id, (long)attr, (long)flags, 0, &r))
		return (int)real.syscall(SYS_sched_setattr, id, attr, flags);
	return (int)syscall_ret(r);
}

EXPORT int sched_getattr(pid_t id, void *attr, unsigned int size, unsigned int flags)
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
