/*
 * callmask: a call that waits under a signal mask of its own: sigsuspend, ppoll, pselect, epoll_pwait.
 *
 *	CALLMASK_REGION(mask);
 *	r = callmask_hit() ? -EINTR : block(SYS_..., &callmask, ...);
 *
 * In the region thread_mask() is that mask: signals directed at the G and let in by it are delivered, at
 * once or when they come.  A handler that ran sets self_thread.stop, which the system call stub looks at
 * in its last instant: a signal between the region's begin and the kernel's wait ends the call too.
 * The kernel gets the same mask for those signals that it delivers itself.
 *
 * While a handler runs, the region is suspended: what it calls has the mask that the handler has.
 */
#ifndef WEFT_SHIM_CALLMASK_H
#define WEFT_SHIM_CALLMASK_H

#include "shim/thread.h"

void callmask_enter(const void *mask) hidden;
void callmask_leave(void *unused) hidden;

/* Cancellation unwinds through the region, too. */
#define CALLMASK_REGION(mask)                                                                      \
	char region_mask_ __attribute__((cleanup(callmask_leave), unused)) =                       \
		(callmask_enter(mask), 0)

/* The mask to give to the kernel. */
static inline const void *callmask(void)
{
	return &self_thread.callmask;
}

/* A handler has run since the region began. */
static inline bool callmask_hit(void)
{
	return self_thread.stop;
}

/* Around a handler; the token says whether it interrupts a region. */
static inline bool callmask_pause(void)
{
	return atomic_exchange(&self_thread.masked, false);
}

static inline void callmask_resume(bool was, bool ran)
{
	if (!was)
		return;
	self_thread.stop |= ran;
	atomic_store(&self_thread.masked, true); /* pairs as in callmask_enter() */
}

#endif
