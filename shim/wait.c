/*
 * wait: for child processes; all cancellation points.
 *
 * Children belong to the process, so any kernel thread may wait for any of them.  With WNOHANG the
 * call cannot wait and keeps its P; without it the same is tried first, so that the P goes to
 * others before the wait begins.
 */
#include "shim/direct.h"

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	long r;

	if (!on_g())
		return real.wait4(pid, status, options, usage);
	testcancel();
	r = direct4(SYS_wait4, pid, status, options | WNOHANG, usage);
	if (r == 0 && !(options & WNOHANG))
		r = await4(SYS_wait4, pid, status, options, usage);
	return (pid_t)syscall_ret(r);
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
	siginfo_t own;
	siginfo_t *found = info ? info : &own;
	long r;

	if (!on_g())
		return real.waitid(type, id, info, options);
	testcancel();
	r = direct5(SYS_waitid, type, id, found, options | WNOHANG, NULL);
	/* 0 either way; the kernel has written which it was. */
	if (r == 0 && !(options & WNOHANG) && found->si_signo == 0)
		r = await5(SYS_waitid, type, id, info, options, NULL);
	return (int)syscall_ret(r);
}
