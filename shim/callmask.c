/*
 * callmask: entering and leaving the region of callmask.h.
 *
 * Order matters: the mask is visible before the queue is looked at, and a sender queues before it looks at
 * the mask (thread_kill), so one of the two sees the other.
 */
#include "shim/callmask.h"
#include "shim/sigroute.h"

#include <string.h>

void callmask_enter(const void *mask)
{
	struct thread *th = &self_thread;
	uint64_t bits;

	memcpy(&bits, mask, sizeof(bits));
	atomic_store_explicit(&th->callmask, bits & ~SIGS_OURS, memory_order_relaxed);
	th->stop = false;
	atomic_store(&th->masked, true); /* pairs with thread_kill()'s read after its push */
	signals_deliver();
}

void callmask_leave(void *unused)
{
	(void)unused;
	atomic_store(&self_thread.masked, false);
	self_thread.stop = false;
	/* What came for the call's mask and found the call over is the G's own business again. */
}
