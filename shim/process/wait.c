/*
 * wait: for child processes; all cancellation points.
 *
 * Children belong to the process, so any kernel thread may wait for any of them; but for those that
 * the calling thread made itself (__WNOTHREAD) the one that made them has to ask.  With WNOHANG the
 * call cannot wait and keeps its P; without it the same is tried first, so that the P goes to
 * others before the wait begins.
 */
#include "shim/syscall/rawsyscall.h"
#include "shim/syscall/syscall.h"

/* Cancellation leaves it, too. */
static void own_end(const bool *own)
{
	if (*own)
		unlockosthread(false);
}

static bool own_begin(int options)
{
	if (!(options & __WNOTHREAD))
		return false;
	lockosthread(LOCK_CHILD, 0);
	return true;
}

#define OWN_REGION(options) bool own_ __attribute__((cleanup(own_end), unused)) = own_begin(options)

/* One was waited for. */
static long gone(long r)
{
	if (r > 0)
		runtime_child_gone();
	return r;
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	long r;

	if (!on_g())
		return real.wait4(pid, status, options, usage);
	testcancel();
	OWN_REGION(options);
	r = direct4(SYS_wait4, pid, status, options | WNOHANG, usage);
	if (r == 0 && !(options & WNOHANG))
		r = await4(SYS_wait4, pid, status, options, usage);
	return (pid_t)syscall_ret(gone(r));
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
	OWN_REGION(options);
	r = direct5(SYS_waitid, type, id, found, options | WNOHANG, NULL);
	/* 0 either way; the kernel has written which it was. */
	if (r == 0 && !(options & WNOHANG) && found->si_signo == 0)
		r = await5(SYS_waitid, type, id, info, options, NULL);
	gone(r == 0);
	return (int)syscall_ret(r);
}

/* Both by number. */
long waits_child(const struct call *x)
{
	OWN_REGION((int)(x->nr == SYS_wait4 ? x->c : x->d));
	long r = call_blocks(x);

	gone(x->nr == SYS_wait4 ? r : r == 0);
	return r;
}
