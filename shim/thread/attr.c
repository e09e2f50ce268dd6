/*
 * attr: thread attributes: read through libc's accessors, answered from the G.
 */
#include "shim/thread/attr.h"
#include "shim/thread/schedparam.h"

static struct gattr dflt;      /* what a NULL attribute means; written before threads and by setattr_default */
static uint64_t dflt_mask;
static bool dflt_has_mask, dflt_detached;
static int dflt_inheritsched;
bool attr_dflt_plain;

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
	sigset_t set;

	if (!attr) {
		*mask = dflt_mask;
		return dflt_has_mask;
	}
	if (pthread_attr_getsigmask_np(attr, &set))
		return false;
	*mask = *(const uint64_t *)(const void *)&set;
	return true;
}

bool attr_detached(const pthread_attr_t *attr)
{
	int state = PTHREAD_CREATE_JOINABLE;

	if (!attr)
		return dflt_detached;
	pthread_attr_getdetachstate(attr, &state);
	return state == PTHREAD_CREATE_DETACHED;
}

int attr_inheritsched(const pthread_attr_t *attr)
{
	int how = PTHREAD_INHERIT_SCHED;

	if (!attr)
		return dflt_inheritsched;
	pthread_attr_getinheritsched(attr, &how);
	return how;
}

void thread_default_attr(void)
{
	pthread_attr_t attr;

	if (pthread_getattr_default_np(&attr) == 0) {
		parse(&attr, &dflt);
		dflt_has_mask = attr_sigmask(&attr, &dflt_mask);
		dflt_detached = attr_detached(&attr);
		dflt_inheritsched = attr_inheritsched(&attr);
		pthread_attr_destroy(&attr);
	} else {
		dflt = (struct gattr){ .guardsize = 4096,
				       .tlsarea = tcb_area_size(),
				       .tlsalign = tcb_area_align() };
	}
	attr_dflt_plain = !dflt_has_mask && !dflt_detached && dflt_inheritsched == PTHREAD_INHERIT_SCHED;
	if (weft_opt.stacksize)
		dflt.stacksize = weft_opt.stacksize;
	if (weft_on)
		g_shape(&dflt); /* once, not with each thread; one that cannot be, g_new() refuses */
}

const struct gattr *attr_parse(const pthread_attr_t *attr, struct gattr *own)
{
	if (!attr)
		return &dflt;
	parse(attr, own);
	return own;
}

EXPORT int pthread_setattr_default_np(const pthread_attr_t *attr)
{
	int err = real.pthread_setattr_default_np(attr);

	if (!err && weft_on)
		thread_default_attr();
	return err;
}

EXPORT int pthread_getattr_np(pthread_t t, pthread_attr_t *attr)
{
	struct thread *th = thread_of(t);
	size_t size, guard;
	cpu_set_t cpus;
	void *base;

	/* Main's stack is the process's: libc reads it from /proc. */
	if (!weft_on || !th->g || th->g == g_main())
		return real.pthread_getattr_np(t, attr);
	g_stackbounds(th->g, &base, &size, &guard);
	pthread_attr_init(attr);
	pthread_attr_setstack(attr, (char *)base + guard, size - guard);
	pthread_attr_setguardsize(attr, guard);
	schedparam_describe(th, attr);
	pthread_attr_setinheritsched(attr, th->inheritsched);
	if (pthread_getaffinity_np(t, sizeof(cpus), &cpus) == 0)
		pthread_attr_setaffinity_np(attr, sizeof(cpus), &cpus);
	pthread_attr_setdetachstate(attr, load_seqcst(&th->state) & TH_DETACHED ? PTHREAD_CREATE_DETACHED
								  : PTHREAD_CREATE_JOINABLE);
	return 0;
}
