/*
 * eintr: what a wait does when the lot says -EINTR.
 *
 * A signal for a parked G is kept and the park ends.  The handlers run here, on the G's own stack,
 * outside of every queue; then the caller decides as the kernel does for a futex: without a
 * time-out the call goes on if every handler that ran asked for that (SA_RESTART), with one it
 * ends.
 *
 * Must never: be called while queued on the lot; a handler may wait, and may never return
 * (longjmp).
 */
#include "shim/sync/sync.h"
#include "shim/thread/thread.h"

enum eintr eintr_deliver(void)
{
	struct thread *th = &self_thread;
	uint64_t before;
	bool ends;

	if (!on_g())
		return INTR_ENDS; /* native thread: the kernel ran the handler, with flags unknown */
	before = th->sigdone;
	ends = signals_deliver();
	if (th->sigdone == before)
		return INTR_NONE;
	return ends ? INTR_ENDS : INTR_RESTARTS;
}

enum eintr eintr_in_call(void)
{
	enum eintr what = eintr_deliver();

	/* No cancellation point, but asynchronous cancellation needs none. */
	if (unlikely(cancel_due()) && tcb_cancel_async(tcb_self()))
		cancel_point();
	return what;
}

void eintr_in_lock(void)
{
	eintr_in_call();
}
