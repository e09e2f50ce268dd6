/*
 * interrupt: what a wait does when the lot says -EINTR.
 *
 * A signal for a parked G is kept and the park ends.  The handlers run here, on the G's own stack,
 * outside of every queue; then the caller decides as the kernel does for a futex: without a
 * time-out the call goes on if every handler that ran asked for that (SA_RESTART), with one it
 * ends.
 *
 * Must never: be called while queued on the lot; a handler may wait, and may never return
 * (longjmp).
 */
#include "shim/sync.h"
#include "shim/thread.h"

/* The part of the kernel's struct that is asked for here. */
struct kernel_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

enum interrupt interrupt_deliver(void)
{
	enum interrupt what = INTR_NONE;
	struct thread *th = &self_thread;
	uint64_t due;

	if (!on_g())
		return INTR_ENDS; /* foreign: the kernel ran the handler, with flags unknown */
	due = atomic_load_explicit(&th->sigpending, memory_order_relaxed) & ~g_mask(th->g);
	for (uint64_t left = due; left; left &= left - 1) {
		struct kernel_action sa = {0};
		int sig = __builtin_ctzll(left) + 1;

		/* Asked before the signal is raised: the handler may change it. */
		plain_syscall4(SYS_rt_sigaction, sig, 0, (long)&sa, sizeof(sa.mask));
		if (sa.handler == SIG_DFL || sa.handler == SIG_IGN)
			continue;
		if (!(sa.flags & SA_RESTART))
			what = INTR_ENDS;
		else if (what == INTR_NONE)
			what = INTR_RESTARTS;
	}
	if (due)
		signals_deliver();
	return what;
}
