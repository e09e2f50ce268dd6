/*
 * sigwait: waiting for signals; all cancellation points.
 *
 * The kernel waits, on the kernel thread that the G has to itself meanwhile: its mask is the G's,
 * so a signal that is sent to the process finds it there, and sigsuspend's mask is installed and
 * taken back in one step with the wait.
 */
#include "shim/signal/waitmask.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/usermem.h"

#ifndef ERESTART
#define ERESTART 85
#endif

#define SIGSET_BYTES 8L /* the kernel's signal set, not libc's 128 bytes */

/* One round of waiting in the kernel, or a signal directed at this G. */
static long await(uint64_t bits, siginfo_t *info, const struct timespec *timeout)
{
	struct thread *th = &self_thread;
	uint64_t done;
	long r;

	th->waitset = bits;
	fence_seqcst(); /* seq_cst with the mailbox, as in suspend(): a sender queues, then reads waitset */
	signals_recall(bits);
	/* A call that does not wait finds what has been sent; one that waits is told of it by its kick. */
	if (timeout && !timeout->tv_sec && !timeout->tv_nsec)
		sigroute_settle(bits);
	r = signals_take(bits, info);
	if (!r) {
		done = th->sigdone;
		r = block4(SYS_rt_sigtimedwait, &bits, info, timeout, SIGSET_BYTES);
		/*
		 * The kernel looks once more before a handler runs: what a handler has raised stays pending.
		 */
		if (r == -EINTR && th->sigdone == done) {
			r = signals_take(bits, info);
			if (!r)
				r = -ERESTART; /* nothing of the program's ran */
		}
	}
	th->waitset = 0;
	if (r > 0)
		sigroute_original(info);
	return r;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	struct timespec left;
	uint64_t deadline = 0, bits;
	siginfo_t si;
	long r;

	if (!on_g())
		return real.sigtimedwait(set, info, timeout);
	if (!user_read(&bits, set, sizeof(bits)))
		return (int)syscall_ret(-EFAULT);
	if (timeout) {
		if (!user_read(&left, timeout, sizeof(left)))
			return (int)syscall_ret(-EFAULT);
		if (deadline_in(&left, &deadline))
			return (int)syscall_ret(-EINVAL);
		if (!deadline)
			timeout = NULL; /* longer than there is time */
	}
	while ((r = await(bits, &si, timeout ? &left : NULL)) == -ERESTART) {
		uint64_t now = nanotime(), ns = deadline > now ? deadline - now : 0;

		left = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	}
	/* POSIX has no code for a signal that was sent to one thread: glibc shows it as sent by
	 * kill(). */
	if (r >= 0 && si.si_code == SI_TKILL)
		si.si_code = SI_USER;
	/* The signal is taken all the same, as by the kernel. */
	if (r >= 0 && info && !user_put(info, &si, sizeof(si)))
		r = -EFAULT;
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
	uint64_t bits;
	siginfo_t si;
	long r;

	if (!on_g())
		return real.sigwait(set, sig);
	if (!user_get(&bits, set, sizeof(bits)))
		return EFAULT;
	do
		r = await(bits, &si, NULL);
	while (r == -EINTR || r == -ERESTART);
	if (r < 0)
		return (int)-r;
	*sig = (int)r;
	return 0;
}

/* Waits until a handler has run, for a signal that the kernel delivered or for a queued one. */
static long suspend(const void *mask)
{
	WAITMASK_REGION(mask);

	while (!waitmask_hit())
		block2(SYS_rt_sigsuspend, waitmask(), SIGSET_BYTES);
	return -EINTR;
}

EXPORT int sigsuspend(const sigset_t *mask)
{
	uint64_t bits;

	if (!on_g())
		return real.sigsuspend(mask);
	return (int)syscall_ret(user_get(&bits, mask, sizeof(bits)) ? suspend(&bits) : -EFAULT);
}
ALIAS(__sigsuspend, sigsuspend);
TWIN(sigsuspend);

EXPORT int pause(void)
{
	if (!on_g())
		return real.pause();
	{
		uint64_t mask = sigmask_of(getg());

		return (int)syscall_ret(suspend(&mask));
	}
}
TWIN(pause);

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
