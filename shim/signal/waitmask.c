/*
 * waitmask: entering and leaving the region of waitmask.h.
 *
 * Order matters: the mask is visible before the queue is looked at, and a sender queues before it
 * looks at the mask (thread_kill), so one of the two sees the other.
 */
#include "shim/signal/waitmask.h"
#include "shim/signal/sigroute.h"

#include <string.h>

bool waitmask_enter(const void *mask)
{
	struct thread *th = &self_thread;
	uint64_t bits;

	if (!mask)
		return false;
	memcpy(&bits, mask, sizeof(bits));
	bits &= ~SIGS_OURS;
	store_relaxed(&th->waitmask, bits);
	th->stop = false;
	store_seqcst(&th->masked, true); /* pairs with thread_kill()'s read after its push */
	/*
	 * A parked G is not there for the kernel: what was sent to the process comes by the signal
	 * thread.
	 */
	sigroute_unblocked(sigmask_of(getg()) & ~bits);
	signals_deliver();
	if (unlikely(bits & ~sigmask_of(getg())))
		sigroute_mask_closed(bits & ~sigmask_of(getg()));
	return true;
}

void waitmask_leave(const bool *region)
{
	if (!*region)
		return;
	store_seqcst(&self_thread.masked, false);
	sigroute_unblocked(~sigmask_of(getg()));
	self_thread.stop = false;
	/* What came for the call's mask and found the call over is the G's own business again. */
}
