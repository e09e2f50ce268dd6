/*
 * kill: the program sends a signal to a thread of its own, or to its process.
 *
 * What a G is to have is queued on it at once, without the kernel (sigsend.c).
 *
 * Must never: send what another process is to have by another way than the kernel's.
 */
#include "runtime/base/moment.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"
#include "shim/thread/tid.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

/*
 * A signal to one's own process is queued at once on a thread that lets it in: as natively, that
 * thread has it before it does anything else, and it is not lost to threads that end meanwhile.
 * What the kernel must act on goes to the kernel.  True: done, *err is 0 or an errno value.
 * False: the caller gives it to the kernel; and *err is ESRCH where it waits there, for all keep it out.
 */
static bool to_self(pid_t pid, int sig, const siginfo_t *si, int *err)
{
	struct g *gp;

	*err = 0;
	if (!on_g() || sig < 1 || sig > NSIG_ || runtime_busy() ||
	    pid != (pid_t)direct3(SYS_getpid, 0, 0, 0) || !(action_handled() & SIGBIT(sig)))
		return false;
	gp = sigroute_choose(sig, si, getg());
	*err = gp ? thread_kill_shared(g_shim(gp)->thread, sig, si) : ESRCH;
	if (*err != ESRCH) {
		if (gp != getg())
			signals_follow(gp, sig);
		return true;
	}
	if (!sigroute_started())
		return *err = 0, false; /* one kernel thread, which keeps it out as its G does */
	/* The kernel says whether there is room for it, and the caller hears that. */
	if (sigroute_kept_out(SIGBIT(sig)))
		return false;
	/* All keep it out, perhaps for a handler's time only: the signal thread waits for that. */
	*err = 0;
	sigroute_defer(sig, si);
	sigroute_flush();
	sigroute_settle(SIGBIT(sig));
	return true;
}

/*
 * The kernel was given it, for all kept it out (why is ESRCH).  A thread that lets it in by now would have the next
 * one first, which needs no kernel on its way.
 */
static int had_by_kernel(int sig, int why, int r)
{
	if (unlikely(why == ESRCH) && sigroute_choose(sig, NULL, getg()))
		sigroute_catch_up();
	return r;
}

/* Would the caller take it, of all threads? */
static bool is_callers(int sig)
{
	return on_g() && sig >= 1 && sig <= NSIG_ && !runtime_busy() && sigroute_started() &&
	       action_handled() & SIGBIT(sig) && sigroute_choose(sig, NULL, getg()) == getg();
}

/*
 * To a group of processes with the caller's in it.  The kernel gives the signal to any kernel thread that lets
 * it in, an idle M0, say, and from there it comes to the caller a moment later.  A caller that is the one to
 * take it has had it when the call returns (POSIX: kill()).  The bound is there for the same reason as
 * sigroute_flush()'s.
 */
static int to_group(pid_t pid, int sig)
{
	bool own = (pid == 0 || (pid < -1 && -pid == getpgrp())) && is_callers(sig);
	uint64_t done = self_thread.sigdone;
	struct moment w = { 0 };
	int r = real.kill(pid, sig);

	for (; own && r == 0 && !moment_over(&w, STANDSTILL_NS) && self_thread.sigdone == done && is_callers(sig);
	     moment_wait(&w)) {
		sigroute_catch_up();
		signals_deliver();
	}
	return r;
}

EXPORT int kill(pid_t pid, int sig)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_USER };
	int err;

	si.si_pid = pid = tid_process(pid);
	si.si_uid = own_uid();
	if (!to_self(pid, sig, &si, &err))
		return had_by_kernel(sig, err, to_group(pid, sig));
	return err ? (errno = err, -1) : 0;
}

TWIN(kill);

EXPORT int killpg(pid_t group, int sig)
{
	return group < 0 ? (errno = EINVAL, -1) : shim_kill(-group, sig);
}

EXPORT int sigqueue(pid_t pid, int sig, const union sigval value)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_QUEUE };
	int err;

	si.si_pid = pid = tid_process(pid);
	si.si_uid = own_uid();
	si.si_value = value;
	if (!to_self(pid, sig, &si, &err))
		return had_by_kernel(sig, err, real.sigqueue(pid, sig, value));
	return err ? (errno = err, -1) : 0;
}

/* To the own process, which the caller has named by id. */
static long queue_own(int id, int sig, siginfo_t *si)
{
	int err;

	if (!tid_may_send(id, si))
		return -EPERM;
	if (to_self((pid_t)direct3(SYS_getpid, 0, 0, 0), sig, si, &err))
		return -err;
	return had_by_kernel(sig, err, sigroute_requeue(sig, si) ? 0 : -EAGAIN);
}

/* rt_sigqueueinfo(2). */
long queues_signal(const struct call *x)
{
	pid_t pid = tid_process((pid_t)x->a);
	int sig = (int)x->b;
	struct call y = *x;
	siginfo_t si;

	y.a = pid;
	if (pid != (pid_t)direct3(SYS_getpid, 0, 0, 0) || sig < 1 || sig > NSIG_)
		return call_plain(&y);
	memset(&si, 0, sizeof(si));
	if (!user_read(&si, (const void *)x->c, KERNEL_SIGINFO))
		return -EFAULT;
	si.si_signo = sig;
	return queue_own((int)x->a, sig, &si);
}

/* What PIDFD_GET_INFO (Linux 6.13, ioctl_pidfd(2)) answers, as far as it is read here: its first size. */
struct pidfd_answer {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8], unused;
};

_Static_assert(sizeof(struct pidfd_answer) == 64, "PIDFD_INFO_SIZE_VER0");

/* Of the own process: what the kernel says of a descriptor says so. */
static bool is_own_pidfd(int fd)
{
	struct pidfd_answer answer = { 0 };
	char path[40], text[512], *at;
	long info, n;

	/* First the way that needs no /proc and no descriptor. */
	if (direct3(SYS_ioctl, fd, _IOWR(0xFF, 11, struct pidfd_answer), &answer) == 0)
		return (long)answer.tgid == direct3(SYS_getpid, 0, 0, 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = own4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (info < 0)
		return false;
	n = direct3(SYS_read, info, text, sizeof(text) - 1);
	direct3(SYS_close, info, 0, 0);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nPid:\t");
	return at && strtol(at + sizeof("\nPid:\t") - 1, NULL, 10) == direct3(SYS_getpid, 0, 0, 0);
}

/* pidfd_send_signal(2). */
long signals_pidfd(const struct call *x)
{
	int sig = (int)x->b, pid = (int)direct3(SYS_getpid, 0, 0, 0);
	siginfo_t si;

	if (x->d || sig < 1 || sig > NSIG_ || !is_own_pidfd((int)x->a))
		return call_plain(x);
	if (!x->c)
		return shim_kill(pid, sig) ? -errno : 0;
	memset(&si, 0, sizeof(si));
	if (!user_read(&si, (const void *)x->c, KERNEL_SIGINFO))
		return -EFAULT;
	return si.si_signo == sig ? queue_own(pid, sig, &si) : -EINVAL;
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
