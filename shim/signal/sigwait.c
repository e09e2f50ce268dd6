/*
 * sigwait: waiting for signals; cancellation points but by number, where an asynchronous
 * cancellation alone is acted on.
 *
 * The kernel waits, on the kernel thread that the G has to itself meanwhile: its mask is the G's,
 * so a signal that is sent to the process finds it there, and sigsuspend's mask is installed and
 * taken back in one step with the wait.
 */
#include "shim/sync/eintr.h"
#include "shim/signal/waitmask.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/signal/sigroute.h"
#include "shim/signal/sigwait.h"
#include "shim/syscall/usermem.h"

#ifndef ERESTART
#define ERESTART 85
#endif

#define SIGSET_BYTES 8L /* the kernel's signal set, not libc's 128 bytes */

/* The kernel's wait.  What a kick is for is looked for here: block_cp() does so itself. */
static long in_kernel(bool point, long nr, long a, long b, long c, long d)
{
	long r;

	if (point)
		return block_cp(nr, a, b, c, d, 0, 0);
	r = block_nocp(nr, a, b, c, d, 0, 0);
	if (r == -EINTR)
		thread_look_slow();
	return r;
}

/* One round of waiting in the kernel, or a signal directed at this G.  mark: eintr_mark()'s of the first round. */
static long await(bool point, uint64_t bits, siginfo_t *info, const struct timespec *timeout, uint64_t mark)
{
	struct thread *th = &self_thread;
	long r;

	th->waitsaw = WAIT_NO_HANDLER;
	th->waitset = bits;
	fence_seqcst(); /* seq_cst with the mailbox, as in suspend(): a sender queues, then reads waitset */
	signals_recall(bits);
	/* A call that does not wait finds what has been sent; one that waits is told of it by its kick. */
	if (timeout && !timeout->tv_sec && !timeout->tv_nsec)
		sigroute_settle(bits);
	r = signals_take(bits, info);
	if (!r && eintr_ran(mark)) {
		r = -EINTR;
	} else if (!r) {
		call_timed(SYS_rt_sigtimedwait);
		r = in_kernel(point, SYS_rt_sigtimedwait, (long)&bits, (long)info, (long)timeout,
			      SIGSET_BYTES);
		/*
		 * The kernel looks once more before a handler runs: what a handler has raised stays pending.
		 */
		if (r == -EINTR && (!eintr_ran(mark) || th->waitsaw == WAIT_SOMETHING)) {
			r = signals_take(bits, info);
			if (!r)
				r = eintr_ran(mark) ? -EINTR : -ERESTART; /* -ERESTART: nothing of the program's ran */
		}
	}
	th->waitset = 0;
	if (r > 0)
		sigroute_original(info);
	return r;
}

long signal_await(bool point, const void *set, siginfo_t *info, const struct timespec *timeout)
{
	struct timespec left;
	uint64_t deadline = 0, bits, mark = eintr_mark();
	siginfo_t si;
	long r;

	if (!user_read(&bits, set, sizeof(bits)))
		return -EFAULT;
	if (timeout) {
		if (!user_read(&left, timeout, sizeof(left)))
			return -EFAULT;
		if (deadline_in(&left, &deadline))
			return -EINVAL;
		if (!deadline)
			timeout = NULL; /* longer than there is time */
	}
	while ((r = await(point, bits, &si, timeout ? &left : NULL, mark)) == -ERESTART) {
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
	return r;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	if (!on_g())
		return real.sigtimedwait(set, info, timeout);
	return (int)syscall_ret(signal_await(true, set, info, timeout));
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
		r = await(true, bits, &si, NULL, eintr_mark());
	while (r == -EINTR || r == -ERESTART);
	if (r < 0)
		return (int)-r;
	*sig = (int)r;
	return 0;
}

/* Waits until a handler has run, for a signal that the kernel delivered or for a queued one. */
static long suspend(bool point, const void *mask)
{
	WAITMASK_REGION(mask);

	while (!waitmask_hit())
		in_kernel(point, SYS_rt_sigsuspend, (long)waitmask(), SIGSET_BYTES, 0, 0);
	return -EINTR;
}

long signal_suspend(bool point, const void *mask)
{
	uint64_t bits;

	return user_get(&bits, mask, sizeof(bits)) ? suspend(point, &bits) : -EFAULT;
}

long signal_pause(bool point)
{
	uint64_t mask = sigmask_of(getg());

	return suspend(point, &mask);
}

EXPORT int sigsuspend(const sigset_t *mask)
{
	if (!on_g())
		return real.sigsuspend(mask);
	return (int)syscall_ret(signal_suspend(true, mask));
}
ALIAS(__sigsuspend, sigsuspend);
TWIN(sigsuspend);

EXPORT int pause(void)
{
	if (!on_g())
		return real.pause();
	return (int)syscall_ret(signal_pause(true));
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
