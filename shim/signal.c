/*
 * signal: masks and signals of a thread.
 *
 * The kernel mask of an M is the mask of the G it runs; g_setmask changes both.  A signal for a G that runs
 * goes to its M; for one that is parked it is kept in the thread and raised when the G next looks
 * (signals_deliver), which g_interrupt makes happen now.
 *
 * Must never: let a program block 32 or 33; call a program's handler while runtime_busy().
 */
#include "shim/direct.h"
#include "shim/thread.h"

#include <signal.h>

#define BIT(sig) (UINT64_C(1) << ((sig)-1))
static const uint64_t ours = BIT(32) | BIT(33);

static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
	struct g *gp = getg();
	uint64_t mask = g_mask(gp), was = mask, bits;

	if (set) {
		bits = *(const uint64_t *)(const void *)set & ~ours;
		switch (how) {
		case SIG_BLOCK:
			mask |= bits;
			break;
		case SIG_UNBLOCK:
			mask &= ~bits;
			break;
		case SIG_SETMASK:
			mask = bits;
			break;
		default:
			return EINVAL;
		}
		if (mask != was)
			g_setmask(gp, mask);
	}
	if (old) {
		sigemptyset(old);
		*(uint64_t *)(void *)old = was;
	}
	if (mask != was)
		signals_deliver();
	return 0;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return on_g() ? change_mask(how, set, old) : real.pthread_sigmask(how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int err;

	if (!on_g())
		return real.sigprocmask(how, set, old);
	err = change_mask(how, set, old);
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

static long self_raise(int sig)
{
	return direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), direct3(SYS_gettid, 0, 0, 0), sig);
}

bool signals_deliver(void)
{
	struct thread *th = &self_thread;
	uint64_t pend = atomic_load_explicit(&th->sigpending, memory_order_relaxed), due;

	if (likely(!pend))
		return false;
	due = pend & ~g_mask(th->g);
	if (!due)
		return false;
	atomic_fetch_and(&th->sigpending, ~due);
	while (due) {
		int sig = __builtin_ctzll(due) + 1;

		due &= due - 1;
		self_raise(sig);
	}
	return true;
}

EXPORT int pthread_kill(pthread_t t, int sig)
{
	struct thread *th = thread_of(t);
	int ostid;

	if (!weft_on || !th->g)
		return real.pthread_kill(t, sig);
	if (sig < 0 || sig > 64 || sig == 32 || sig == 33)
		return EINVAL;
	if (atomic_load(&th->state) & TH_EXITED)
		return 0; /* as glibc since 2.34 */
	if (sig == 0)
		return 0;
	if (th == &self_thread) {
		self_raise(sig);
		return 0;
	}
	ostid = g_ostid(th->g);
	if (ostid) {
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), ostid, sig);
		return 0;
	}
	atomic_fetch_or(&th->sigpending, BIT(sig));
	g_interrupt(th->g);
	return 0;
}

void signal_init(void)
{
}

void fork_init(void)
{
}
