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
	uint64_t bits, taken;

	if (!mask)
		return false;
	memcpy(&bits, mask, sizeof(bits));
	bits &= ~SIGS_OURS;
	store_relaxed(&th->waitmask, bits);
	th->stop = false;
	store_seqcst(&th->masked, true); /* pairs with thread_kill()'s read after its push */
	/* What came before the call is none of its business: its handler may run until here. */
	taken = th->sigtaken;
	signals_deliver();
	th->maskedtook = th->sigtaken != taken;
	if (unlikely(bits & ~sigmask_of(getg())))
		sigroute_mask_closed(bits & ~sigmask_of(getg()));
	return true;
}

/*
 * A parked G is not there for the kernel: what is sent to the process comes by the signal thread.  What
 * waits there already the caller has asked the kernel for: the signal thread would take that first, and
 * its handler would come after a call that does not wait.
 */
void waitmask_attend(void)
{
	sigroute_unblocked(sigmask_of(getg()) & ~load_relaxed(&self_thread.waitmask));
}

void waitmask_join(void)
{
	struct thread *th = &self_thread;
	uint64_t call = load_relaxed(&th->waitmask), own = sigmask_of(getg());

	if (th->joined || !(call & ~own))
		return;
	th->ownmask = own;
	th->joined = true;
	sigmask_park(own | call);
}

void waitmask_leave(const bool *region)
{
	if (!*region)
		return;
	/* First: the handler of what the own mask lets in again runs under that mask, not under the call's. */
	store_seqcst(&self_thread.masked, false);
	if (self_thread.joined) {
		/* In this order: a handler that comes in between finds the own mask in its context. */
		sigmask_set(getg(), self_thread.ownmask, false);
		self_thread.joined = false;
	}
	sigroute_unblocked(~sigmask_of(getg()));
	self_thread.stop = false;
	/* What came for the call's mask and found the call over is the G's own business again. */
}
