/*
 * sigwait: waiting for signals; all cancellation points.
 *
 * The kernel waits, on the kernel thread that the G has to itself meanwhile: its mask is the G's,
 * so a signal that is sent to the process finds it there, and sigsuspend's mask is installed and
 * taken back in one step with the wait.
 */
#include "shim/direct.h"

#define SIGSET_BYTES 8L /* the kernel's signal set, not libc's 128 bytes */

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	long r;

	if (!on_g())
		return real.sigtimedwait(set, info, timeout);
	r = block4(SYS_rt_sigtimedwait, set, info, timeout, SIGSET_BYTES);
	/* POSIX has no code for a signal that was sent to one thread: glibc shows it as sent by
	 * kill(). */
	if (r >= 0 && info && info->si_code == SI_TKILL)
		info->si_code = SI_USER;
	return (int)syscall_ret(r);
}
TWIN(sigtimedwait);

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return shim_sigtimedwait(set, info, NULL);
}

/* Returns the error, and never EINTR: a handler that ran does not end the wait. */
EXPORT int sigwait(const sigset_t *set, int *sig)
{
	long r;

	if (!on_g())
		return real.sigwait(set, sig);
	do
		r = block4(SYS_rt_sigtimedwait, set, NULL, NULL, SIGSET_BYTES);
	while (r == -EINTR);
	if (r < 0)
		return (int)-r;
	*sig = (int)r;
	return 0;
}

EXPORT int sigsuspend(const sigset_t *mask)
{
	if (!on_g())
		return real.sigsuspend(mask);
	return (int)syscall_ret(block2(SYS_rt_sigsuspend, mask, SIGSET_BYTES));
}
ALIAS(__sigsuspend, sigsuspend);
TWIN(sigsuspend);

EXPORT int pause(void)
{
	if (!on_g())
		return real.pause();
	return (int)syscall_ret(block2(SYS_pause, 0, 0));
}

/* Three linker names: BSD's with a mask, X/Open's with one signal to let in, and the choice of
 * both. */
EXPORT int __sigpause(int sig_or_mask, int is_sig)
{
	sigset_t set;

	if (!on_g())
		return real.__sigpause(sig_or_mask, is_sig);
	sigemptyset(&set);
	if (is_sig) {
		direct4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, SIGSET_BYTES);
		if (sigdelset(&set, sig_or_mask) < 0)
			return -1;
	} else {
		for (int sig = 1; sig <= 32; sig++) /* a mask of the old kind: bit 0 is signal 1 */
			if ((unsigned int)sig_or_mask >> (sig - 1) & 1)
				sigaddset(&set, sig);
	}
	return shim_sigsuspend(&set);
}
TWIN(__sigpause);

EXPORT int sigpause(int mask)
{
	return shim___sigpause(mask, 0);
}

EXPORT int __xpg_sigpause(int sig)
{
	return shim___sigpause(sig, 1);
}
