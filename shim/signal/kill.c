/*
 * kill: the program sends a signal to a thread of its own, or to its process.
 *
 * What a G is to have is queued on it at once, without the kernel (sigsend.c).
 *
 * Must never: send what another process is to have by another way than the kernel's.
 */
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"
#include "shim/thread/tid.h"

#include <string.h>

/*
 * A signal to one's own process is queued at once on a thread that lets it in: as natively, that
 * thread has it before it does anything else, and it is not lost to threads that end meanwhile.
 * What the kernel must act on goes to the kernel.  True: done, *err is 0 or an errno value.
 */
static bool to_self(pid_t pid, int sig, const siginfo_t *si, int *err)
{
	struct g *gp;

	if (!on_g() || sig < 1 || sig > NSIG_ || runtime_busy() ||
	    pid != (pid_t)direct3(SYS_getpid, 0, 0, 0) || !(action_handled() & SIGBIT(sig)))
		return false;
	gp = sigroute_choose(sig, si, getg());
	*err = gp ? thread_signal(g_shim(gp)->thread, sig, si, true) : ESRCH;
	if (*err != ESRCH)
		return true;
	if (!sigroute_started())
		return false; /* one kernel thread, which keeps it out as its G does */
	/* The kernel says whether there is room for it, and the caller hears that. */
	if (sigroute_kept_out(SIGBIT(sig)))
		return false;
	/* All keep it out, perhaps for a handler's time only: the signal thread waits for that. */
	*err = 0;
	sigroute_defer(sig, si);
	sigroute_flush();
	return true;
}

EXPORT int kill(pid_t pid, int sig)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_USER };
	int err;

	si.si_pid = pid = tid_process(pid);
	si.si_uid = own_uid();
	if (!to_self(pid, sig, &si, &err))
		return real.kill(pid, sig);
	return err ? (errno = err, -1) : 0;
}

TWIN(kill);

EXPORT int sigqueue(pid_t pid, int sig, const union sigval value)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_QUEUE };
	int err;

	si.si_pid = pid = tid_process(pid);
	si.si_uid = own_uid();
	si.si_value = value;
	if (!to_self(pid, sig, &si, &err))
		return real.sigqueue(pid, sig, value);
	return err ? (errno = err, -1) : 0;
}

/* rt_sigqueueinfo(2). */
long queues_signal(const struct call *x)
{
	pid_t pid = tid_process((pid_t)x->a);
	int sig = (int)x->b, err;
	struct call y = *x;
	siginfo_t si;

	y.a = pid;
	if (pid != (pid_t)direct3(SYS_getpid, 0, 0, 0) || sig < 1 || sig > NSIG_)
		return call_plain(&y);
	memset(&si, 0, sizeof(si));
	if (!user_read(&si, (const void *)x->c, KERNEL_SIGINFO))
		return -EFAULT;
	si.si_signo = sig;
	if (!tid_may_send((int)x->a, &si))
		return -EPERM;
	if (to_self(pid, sig, &si, &err))
		return -err;
	return sigroute_requeue(sig, &si) ? 0 : -EAGAIN;
}

/*
 * Not the kernel's raise(): a signal that the mask keeps out would be pending on the M, and
 * delivered to the G that runs there by then.
 */
EXPORT int raise(int sig)
{
	int err;

	if (!on_g() || sig < 1 || sig > NSIG_)
		return real.raise(sig);
	err = thread_kill(&self_thread, sig, NULL);
	return err ? (errno = err, -1) : 0;
}

LINKER_NAME(raise, gsignal);

EXPORT int pthread_kill(pthread_t t, int sig)
{
	if (!weft_on || !g_of(t))
		return real.pthread_kill(t, sig);
	return thread_kill(thread_of(t), sig, NULL);
}

EXPORT int pthread_sigqueue(pthread_t t, int sig, const union sigval value)
{
	siginfo_t si;

	if (!weft_on || !g_of(t))
		return real.pthread_sigqueue(t, sig, value);
	if (has_ended(t))
		return ESRCH; /* in libc so, and another answer than pthread_kill()'s */
	memset(&si, 0, sizeof(si));
	si.si_signo = sig;
	si.si_code = SI_QUEUE;
	si.si_pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);
	si.si_uid = own_uid();
	si.si_value = value;
	return thread_kill(thread_of(t), sig, &si);
}
