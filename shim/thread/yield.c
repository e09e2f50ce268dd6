/*
 * yield: sched_yield and its other names.  A G goes to the tail of the global queue, as Go's
 * Gosched.
 */
#include "shim/sync/sync.h"
#include "shim/thread/thread.h"

EXPORT int sched_yield(void)
{
	if (unlikely(!on_g()))
		return real.sched_yield();
	gosched();
	thread_look();
	return 0;
}

ALIAS(__sched_yield, sched_yield);
TWIN(sched_yield);

EXPORT void thrd_yield(void)
{
	shim_sched_yield();
}

/* Old binaries only: the header makes the name an alias that a definition in C cannot undo. */
LINKER_NAME(sched_yield, pthread_yield);
