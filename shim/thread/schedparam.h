/* schedparam: see schedparam.c. */
#ifndef WEFT_SHIM_SCHEDPARAM_H
#define WEFT_SHIM_SCHEDPARAM_H

#include "shim/thread/tid.h"

/* What the kernel gives every M from the start. */
void schedparam_init(void) hidden;
/* A new thread's attributes, from its creator and attr; 0 or the error of pthread_create. */
int schedparam_inherit(struct thread *th, const pthread_attr_t *attr) hidden;
/* What getattr_np reports. */
void schedparam_describe(struct thread *th, pthread_attr_t *attr) hidden;
/* On the calling G: what others set for it, or it was born with, becomes its kernel thread's. */
void schedparam_apply(void) hidden;
/*
 * The same from a signal handler, which may not go to another M; what it leaves, the next look
 * does.
 */
void schedparam_apply_here(void) hidden;
/* Before the end of the calling G: gives the kernel thread back as it was, if that goes on. */
void schedparam_leave(void) hidden;
/*
 * The system calls on priorities and affinity.  True: they named a G, *r is the result or -errno.
 */
bool schedparam_call(long nr, long a, long b, long c, long d, long *r) hidden;
void schedparam_fork_child(void) hidden;
/*
 * A kernel thread of weft's own that the caller is about to make: it begins with what all have, not with the
 * caller's.
 */
void schedparam_of_native(pthread_attr_t *attr) hidden;

/* Some thread has, or had, a policy with an order of priorities. */
static inline bool schedparam_ordered(void)
{
	return unlikely(load_relaxed(&realtime_order));
}

/* What th has without what it inherits; 0: no priority among those that have an order. */
int schedparam_priority(struct thread *th) hidden;
/* With the lock of inherit.c: th has this from those that wait for it, 0: nothing. */
void schedparam_inherits(struct thread *th, int priority) hidden;
/* The calling G: its own priority and policy; the highest ceiling it is raised to (0: none), 0 or -errno. */
int schedparam_own(int *policy) hidden;
long schedparam_ceiling(int ceiling) hidden;

#endif
