/*
 * sigcompat: the signal calls that came before sigaction and sigprocmask, expressed by these two.
 *
 * libc's own call its internal sigaction and change the kernel's mask alone: a handler installed by
 * sigset() would be called on any stack, and a signal held by sighold() would be held by the kernel
 * thread and not by the G.
 *
 * Must never: keep state of its own, except what siginterrupt() says about a later signal().
 */
#include "shim/signal/sigroute.h"

#include <signal.h>
#include <string.h>

static _Atomic uint64_t interrupting; /* siginterrupt(sig, 1): signal() leaves out SA_RESTART */

bool signal_restarts(int sig)
{
	return !(load_acquire(&interrupting) & SIGBIT(sig));
}

static bool one(int sig, sigset_t *set)
{
	sigemptyset(set);
	return sigaddset(set, sig) == 0; /* else errno is EINVAL */
}

EXPORT int sighold(int sig)
{
	sigset_t set;

	if (!weft_on)
		return real.sighold(sig);
	return one(sig, &set) ? sigprocmask(SIG_BLOCK, &set, NULL) : -1;
}

EXPORT int sigrelse(int sig)
{
	sigset_t set;

	if (!weft_on)
		return real.sigrelse(sig);
	return one(sig, &set) ? sigprocmask(SIG_UNBLOCK, &set, NULL) : -1;
}

EXPORT int sigignore(int sig)
{
	struct sigaction sa = { .sa_handler = SIG_IGN };

	return weft_on ? sigaction(sig, &sa, NULL) : real.sigignore(sig);
}

EXPORT sighandler_t sigset(int sig, sighandler_t disp)
{
	struct sigaction sa = { .sa_handler = disp }, old;
	sigset_t set, was;

	if (!weft_on)
		return real.sigset(sig, disp);
	if (!one(sig, &set) || sigaction(sig, disp == SIG_HOLD ? NULL : &sa, &old) ||
	    sigprocmask(disp == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &was))
		return SIG_ERR;
	return sigismember(&was, sig) ? SIG_HOLD : old.sa_handler;
}

EXPORT int siginterrupt(int sig, int interrupts)
{
	struct sigaction sa;

	if (!weft_on)
		return real.siginterrupt(sig, interrupts);
	if (sigaction(sig, NULL, &sa))
		return -1;
	if (interrupts) {
		fetch_or_acq_rel(&interrupting, SIGBIT(sig));
		sa.sa_flags &= ~SA_RESTART;
	} else {
		fetch_and_acq_rel(&interrupting, ~SIGBIT(sig));
		sa.sa_flags |= SA_RESTART;
	}
	return sigaction(sig, &sa, NULL);
}

/* System V's: once, and not blocked meanwhile. */
EXPORT sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESETHAND | SA_NODEFER }, old;

	if (!weft_on || handler == SIG_ERR)
		return real.__sysv_signal(sig, handler);
	return sigaction(sig, &sa, &old) ? SIG_ERR : old.sa_handler;
}

EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return __sysv_signal(sig, handler);
}

EXPORT sighandler_t ssignal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}
ALIAS(bsd_signal, ssignal);

static int old_mask(int how, int mask)
{
	sigset_t set, was;
	int sig, r = 0;

	sigemptyset(&set);
	for (sig = 1; sig <= 31; sig++)
		if ((unsigned int)mask >> (sig - 1) & 1)
			sigaddset(&set, sig);
	if (sigprocmask(how, &set, &was))
		return -1;
	for (sig = 1; sig <= 31; sig++)
		if (sigismember(&was, sig) > 0)
			r |= 1 << (sig - 1);
	return r;
}

EXPORT int sigblock(int mask)
{
	return weft_on ? old_mask(SIG_BLOCK, mask) : real.sigblock(mask);
}

EXPORT int sigsetmask(int mask)
{
	return weft_on ? old_mask(SIG_SETMASK, mask) : real.sigsetmask(mask);
}
