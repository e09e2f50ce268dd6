/*
 * dlguest: Go and its kin, loaded by dlopen() while weft is at work.
 *
 * Such a library makes its first thread in a constructor, so it is recognised as the caller of
 * pthread_create() while something is loaded.  That thread and all that are made from then on, by
 * any caller, are kernel threads: any of them may call the library, which takes its callers for
 * kernel threads.  Those that are there already keep the kernel thread they are on.
 *
 * Must never: call the loader; the caller may hold its lock.
 */
#include "shim/libc/dlguest.h"
#include "compat/guestkind.h"
#include "runtime/base/log.h"
#include "runtime/process.h"

_Atomic bool dlguest_came;

bool dlguest_called(const void *caller)
{
	const char *what = guestkind_of(caller);

	if (!what)
		return false;
	if (!exchange_acq_rel(&dlguest_came, true)) {
		weft_say("threads: %s manages kernel threads itself (each new thread is a plain pthread)",
			 what);
		runtime_fromnow(FROMNOW_LOCKED);
	}
	return true;
}
