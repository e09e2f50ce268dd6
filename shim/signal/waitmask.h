/*
 * waitmask: a call that waits under a signal mask of its own: sigsuspend, ppoll, pselect,
 * epoll_pwait.
 *
 *	WAITMASK_REGION(mask);
 *	r = waitmask_hit() ? -EINTR : block(SYS_..., waitmask(), ...);
 *
 * In the region thread_mask() is that mask: signals directed at the G and let in by it are
 * delivered, at once or when they come.  A handler that ran sets self_thread.stop, which the system
 * call stub looks at in its last instant, and every park after it has pinned itself, when no
 * handler runs any more: a signal between the region's begin and the wait ends the call too.  A
 * kernel that waits gets the same mask for the signals that it delivers itself.
 *
 * A G that parks in the region is resumed with both masks joined, its own and the call's: what waits
 * and the call keeps out comes after the handler that ends the call.  That handler, or the end of the
 * region, undoes it (waitmask_own()).
 *
 * While a handler runs, the region is suspended: what it calls has the mask that the handler has,
 * and a stop is none of its business.  When the first has returned the mask is the G's own again,
 * as in the kernel: only what waited with it is still let in.  (Rejected: setting the mask of the
 * kernel thread for the time of the wait; what came between the first handler's return and the
 * call's end was let in.)
 */
#ifndef WEFT_SHIM_WAITMASK_H
#define WEFT_SHIM_WAITMASK_H

#include "shim/thread/thread.h"

/* NULL: the G's own mask, no region.  True: there is one. */
bool waitmask_enter(const void *mask) hidden;
void waitmask_leave(const bool *region) hidden;

/* Cancellation unwinds through the region, too. */
#define WAITMASK_REGION(mask)                                                                      \
	bool region_mask_ __attribute__((cleanup(waitmask_leave), unused)) = waitmask_enter(mask)

/* The mask to give to the kernel. */
static inline const void *waitmask(void)
{
	return &self_thread.waitmask;
}

/* A handler has run since the region began.  False outside of any. */
static inline bool waitmask_hit(void)
{
	return self_thread.stop;
}

void waitmask_attend(void) hidden; /* in a region, before a park: signals of the process come, too */
void waitmask_join(void) hidden;

/* Pinned, before each park that may be in a region. */
static inline void waitmask_parks(void)
{
	if (unlikely(load_relaxed(&self_thread.masked)))
		waitmask_join();
}

/* The G's own mask, also after a park in a region. */
static inline uint64_t waitmask_own(void)
{
	return self_thread.joined ? self_thread.ownmask : sigmask_of(getg());
}

/* What a handler interrupts: to be given back when it has returned. */
struct waitmask_pause {
	bool region, stop, joined;
};

static inline struct waitmask_pause waitmask_pause(void)
{
	struct waitmask_pause was = { exchange_seqcst(&self_thread.masked, false), self_thread.stop,
				      self_thread.joined };

	self_thread.stop = false;
	self_thread.joined = false;
	return was;
}

static inline void waitmask_resume(struct waitmask_pause was, bool ran)
{
	/* Without one all the same: it may have come between the two steps of an outer pause. */
	self_thread.stop = was.stop || (was.region && ran);
	self_thread.joined = was.joined && !ran;
	if (was.region)
		store_seqcst(&self_thread.masked, true); /* as in waitmask_enter() */
}

#endif
