/*
 * memlock: mlockall(2), which fills and locks whatever is mapped, reserved or not.
 *
 * Natively nothing is mapped but what threads use.  So the runtime gives its reservations back
 * first, and as long as mappings to come are filled at once it makes no more of them.
 *
 * Must never: change what the program asked the kernel for.
 */
#include "runtime/process.h"
#include "shim/process/memlock.h"
#include "shim/syscall/rawsyscall.h"

#include <sys/mman.h>

long memlock_call(long nr, long flags)
{
	/* Before the call, for what others make meanwhile: one at a time is never wrong. */
	bool was = runtime_memory_filled(true);
	long r = nocp1(nr, flags);

	runtime_memory_filled(r ? was : nr == SYS_mlockall && (flags & MCL_FUTURE));
	return r;
}

static int result(long r)
{
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	return 0;
}

EXPORT int mlockall(int flags)
{
	return result(memlock_call(SYS_mlockall, flags));
}

EXPORT int munlockall(void)
{
	return result(memlock_call(SYS_munlockall, 0));
}
