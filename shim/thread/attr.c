/*
 * attr: thread attributes: read through libc's accessors, answered from the G.
 *
 * Must never: read libc's default attributes for each thread; they are read once, and when they change.
 */
#include "shim/thread/attr.h"
#include "shim/thread/schedparam.h"

/* What a NULL attribute means. */
struct defaults {
	struct gattr g;
	uint64_t mask;
	bool has_mask, detached;
	int inheritsched;
};

/*
 * The first are written before the first thread and never again, so a creation reads them where they
 * are.  pthread_setattr_default_np() writes the one of the other two that is not current, under the lock,
 * and a creation copies what is current under the lock: it must not see half of a change.  Two copies,
 * for the child of a fork that comes in between.
 */
static struct defaults dflts[3];
static _Atomic unsigned current;   /* index of dflts (written under the lock) */
/* Of those that change them.  acq_rel with itself: a later one asks libc after what an earlier one told it. */
static _Atomic uint64_t turns;
static uint64_t turn;              /* (L lock) of the current ones */
static struct shimlock lock = SHIMLOCK(Dfltattr);
_Atomic bool attr_dflt_plain;

void attr_fork_child(void)
{
	shimlock_fork_child(&lock);
}

/* The current ones: the first where they are, others in *copy. */
static const struct defaults *defaults(struct defaults *copy)
{
	/* Pairs with publish(). */
	if (likely(!load_acquire(&current)))
		return &dflts[0];
	shimlock(&lock);
	*copy = dflts[load_relaxed(&current)];
	shimunlock(&lock);
	return copy;
}

static void parse(const pthread_attr_t *attr, struct gattr *a)
{
	void *stack = NULL;
	size_t size = 0, guard = 0;

	*a = (struct gattr){ .tlsarea = tcb_area_size(), .tlsalign = tcb_area_align() };
	pthread_attr_getguardsize(attr, &guard);
	pthread_attr_getstacksize(attr, &size);
	if (attr_has_stack(attr) && pthread_attr_getstack(attr, &stack, &size) == 0) {
		a->stack = stack;
		guard = 0;
	}
	a->stacksize = size;
	a->guardsize = guard;
}

/* An attribute without setstack reports address -size: top NULL. */
bool attr_has_stack(const pthread_attr_t *attr)
{
	void *stack = NULL;
	size_t size = 0;

	if (pthread_attr_getstack(attr, &stack, &size))
		return false;
	return (uintptr_t)stack + size != 0;
}

bool attr_sigmask(const pthread_attr_t *attr, uint64_t *mask)
{
	struct defaults copy;
	sigset_t set;

	if (!attr) {
		const struct defaults *d = defaults(&copy);

		*mask = d->mask;
		return d->has_mask;
	}
	if (pthread_attr_getsigmask_np(attr, &set))
		return false;
	*mask = *(const uint64_t *)(const void *)&set;
	return true;
}

bool attr_detached(const pthread_attr_t *attr)
{
	int state = PTHREAD_CREATE_JOINABLE;
	struct defaults copy;

	if (!attr)
		return defaults(&copy)->detached;
	pthread_attr_getdetachstate(attr, &state);
	return state == PTHREAD_CREATE_DETACHED;
}

int attr_inheritsched(const pthread_attr_t *attr)
{
	int how = PTHREAD_INHERIT_SCHED;
	struct defaults copy;

	if (!attr)
		return defaults(&copy)->inheritsched;
	pthread_attr_getinheritsched(attr, &how);
	return how;
}

/* libc's own. */
static void ask(struct defaults *d)
{
	pthread_attr_t attr;

	*d = (struct defaults){ 0 };
	if (pthread_getattr_default_np(&attr) == 0) {
		parse(&attr, &d->g);
		d->has_mask = attr_sigmask(&attr, &d->mask);
		d->detached = attr_detached(&attr);
		d->inheritsched = attr_inheritsched(&attr);
		pthread_attr_destroy(&attr);
	} else {
		d->g = (struct gattr){ .guardsize = 4096,
				       .tlsarea = tcb_area_size(),
				       .tlsalign = tcb_area_align() };
	}
	if (weft_opt.stacksize)
		d->g.stacksize = weft_opt.stacksize;
	if (weft_on)
		g_shape(&d->g); /* once, not with each thread; one that cannot be, g_new() refuses */
}

static bool plain(const struct defaults *d)
{
	return !d->has_mask && !d->detached && d->inheritsched == PTHREAD_INHERIT_SCHED;
}

void thread_default_attr(void)
{
	ask(&dflts[0]);
	store_relaxed(&attr_dflt_plain, plain(&dflts[0]));
}

/* libc was asked after the turn was taken, so of two the later turn's answer is the newer. */
static void publish(const struct defaults *d, uint64_t its)
{
	unsigned other;

	shimlock(&lock);
	if (its > turn) {
		turn = its;
		other = load_relaxed(&current) == 1 ? 2 : 1;
		dflts[other] = *d;
		store_relaxed(&attr_dflt_plain, plain(d));
		store_release(&current, other);
	}
	shimunlock(&lock);
}

const struct gattr *attr_parse(const pthread_attr_t *attr, struct gattr *own)
{
	struct defaults copy;
	const struct defaults *d;

	if (attr) {
		parse(attr, own);
		return own;
	}
	d = defaults(&copy);
	if (likely(d != &copy))
		return &d->g;
	*own = d->g;
	return own;
}

EXPORT int pthread_setattr_default_np(const pthread_attr_t *attr)
{
	int err = real.pthread_setattr_default_np(attr);

	if (!err && weft_on) {
		uint64_t its = fetch_add_acq_rel(&turns, 1) + 1;
		struct defaults d;

		ask(&d);
		publish(&d, its);
	}
	return err;
}

EXPORT int pthread_getattr_np(pthread_t t, pthread_attr_t *attr)
{
	struct thread *th = thread_of(t);
	struct gmemory mem;
	cpu_set_t cpus;

	/* Main's stack is the process's: libc reads it from /proc. */
	if (!weft_on || !th->g || th->g == g_main())
		return real.pthread_getattr_np(t, attr);
	mem = g_memory_told(th->g);
	pthread_attr_init(attr);
	pthread_attr_setstack(attr, (char *)mem.stack + mem.guard, mem.size - mem.guard);
	pthread_attr_setguardsize(attr, mem.guard);
	schedparam_describe(th, attr);
	pthread_attr_setinheritsched(attr, th->inheritsched);
	if (pthread_getaffinity_np(t, sizeof(cpus), &cpus) == 0)
		pthread_attr_setaffinity_np(attr, sizeof(cpus), &cpus);
	pthread_attr_setdetachstate(attr, load_seqcst(&th->state) & TH_DETACHED ? PTHREAD_CREATE_DETACHED
								  : PTHREAD_CREATE_JOINABLE);
	return 0;
}
