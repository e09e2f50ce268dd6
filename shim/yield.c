/*
 * yield: sched_yield and its other names.  A G goes to the tail of the global queue, as Go's Gosched.
 */
#include "shim/sync.h"

EXPORT int sched_yield(void)
{
	if (unlikely(!on_g()))
		return real.sched_yield();
	gosched();
	return 0;
}

EXPORT void thrd_yield(void)
{
	sched_yield();
}
