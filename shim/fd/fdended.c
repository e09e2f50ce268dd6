/*
 * fdended: how a wait for a descriptor ends: handlers, cancellation, SIGPIPE, the time that is over.
 *
 * Must never: be called while anything is held: what runs here may jump away.
 */
#include "shim/sync/eintr.h"
#include "shim/fd/fdwait.h"

#include "shim/signal/sigroute.h"
#include "shim/signal/waitmask.h"
#include "shim/sync/sync.h"

/* Called with nothing held.  True: the call ends with *r. */
static bool interrupted(struct fdop *op, long *r)
{
	enum eintr what = eintr_deliver(&op->mark);

	if (op->done) {
		/*
		 * The count of bytes moved must be returned, so a cancellation waits for the next
		 * cancellation point.
		 */
		*r = op->done;
		return what != INTR_NONE || cancel_due();
	}
	cancel_point();
	*r = -EINTR;
	return what == INTR_ENDS || (what == INTR_RESTARTS && op->timed) || waitmask_hit();
}

/* How a wait on a held file ended, and nothing is held any more. */
long fdwait_ended(struct fdop *op, long r, int kept)
{
	if (unlikely(self_thread.got_sigpipe)) {
		self_thread.got_sigpipe = false;
		thread_kill(&self_thread, SIGPIPE, NULL);
	}
	if (unlikely(op->cut)) {
		op->cut = false;
		eintr_after();
		return r;
	}
	if (unlikely(kept >= 0))
		return fdcall_by_own(op, kept);
	if (unlikely(r == FDWAIT_KEPT))
		return op->done; /* no number to be had */
	if (r == -EINTR)
		return interrupted(op, &r) ? r : FDWAIT_AGAIN;
	if (r == -ETIMEDOUT)
		return op->done ? op->done : -EAGAIN;
	return r;
}

/*
 * A blocked SIGPIPE is pending on the kernel thread, which will run other Gs: it is taken off and
 * sent to the calling thread.
 */
static void claim_sigpipe(const struct fdop *op, long r)
{
	struct timespec none = { 0, 0 };
	uint64_t set = SIGBIT(SIGPIPE);

	if (r == -EPIPE && op->dir == NETPOLL_OUT && (sigmask_of(getg()) & set) &&
	    own4(SYS_rt_sigtimedwait, &set, NULL, &none, sizeof(set)) == SIGPIPE)
		thread_kill(&self_thread, SIGPIPE, NULL);
}

/*
 * It failed and did nothing: a cancellation that came between the look and the try goes first.
 * What failed it (the other end of a pipe was closed, say) may have come after that, as in glibc's
 * tst-cancel2.  But first claim_sigpipe() takes a pending SIGPIPE off this kernel thread: a cancelled
 * thread does not return here, and the next G on the M would receive the signal.
 */
long fdwait_failed(const struct fdop *op, long r)
{
	claim_sigpipe(op, r);
	testcancel();
	return r;
}
