/*
 * fdask: weft's own calls on a descriptor, and a filter (seccomp) that comes meanwhile.
 *
 * A filter that all threads get may forbid what weft asks and tries, and end the process for it.  The thread that
 * installs it says first that there are no tries any more (fdtable_tries_end()); one that looked before that, and has
 * not made its call yet, would make it behind the filter.  So a thread that is about to make one notes it, then
 * looks; and the installer says so, has all threads pass a fence, and waits for those that have noted it
 * (fdtable_await_asking()).
 *
 * Must never: be around a call that waits.
 */
#ifndef WEFT_SHIM_FDASK_H
#define WEFT_SHIM_FDASK_H

#include "shim/fd/fdtable.h"
#include "shim/thread/thread.h"

/* False: the call is not to be made.  *was is fdask_end()'s: a try asks as well. */
static inline bool fdask_begin(bool *was)
{
	*was = load_relaxed(&self_thread.asking);
	store_relaxed(&self_thread.asking, true);
	fence_compiler(); /* pairs with the fence of all threads in runtime_filter_obey() */
	if (likely(!fdtable_tries_ended()))
		return true;
	store_release(&self_thread.asking, *was);
	return false;
}

static inline void fdask_end(bool was)
{
	store_release(&self_thread.asking, was);
}

/* A call that does not wait; -ENOSYS: it is not to be made any more. */
static inline long fdask(long nr, long a, long b, long c, long d, long e)
{
	long r = -ENOSYS;
	bool was;

	if (fdask_begin(&was)) {
		r = direct5(nr, a, b, c, d, e);
		fdask_end(was);
	}
	return r;
}

#define fdask5(nr, a, b, c, d, e) fdask(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define fdask3(nr, a, b, c) fdask5(nr, a, b, c, 0, 0)

#endif
