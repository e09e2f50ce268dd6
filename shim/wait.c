/*
 * wait: for child processes; all cancellation points.
 *
 * Children belong to the process, so any kernel thread may wait for any of them.  With WNOHANG the
 * call cannot wait and keeps its P.
 */
#include "shim/direct.h"

static long wait_call(int options, long nr, long a, long b, long c, long d, long e)
{
	if (options & WNOHANG) {
		testcancel();
		return direct(nr, a, b, c, d, e, 0);
	}
	return block_cp(nr, a, b, c, d, e, 0);
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (!on_g())
		return real.wait4(pid, status, options, usage);
	return (pid_t)syscall_ret(
		wait_call(options, SYS_wait4, pid, (long)status, options, (long)usage, 0));
}
TWIN(wait4);

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return shim_wait4(pid, status, options, NULL);
}
ALIAS(__waitpid, waitpid);

EXPORT pid_t wait(int *status)
{
	return shim_wait4(-1, status, 0, NULL);
}
ALIAS(__wait, wait);

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	return shim_wait4(-1, status, options, usage);
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (!on_g())
		return real.waitid(type, id, info, options);
	return (int)syscall_ret(
		wait_call(options, SYS_waitid, (long)type, (long)id, (long)info, options, 0));
}
