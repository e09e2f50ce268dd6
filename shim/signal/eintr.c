/*
 * eintr: what a wait does when the lot says -EINTR.
 *
 * A signal for a parked G is kept and the park ends.  The handlers run here, on the G's own stack,
 * outside of every queue; then the caller decides as the kernel does for a futex: without a
 * time-out the call goes on if the first handler of each delivery asked for that (SA_RESTART), with one it
 * ends.
 *
 * A handler may also run before its thread comes here: what was sent later kicks the thread, which then
 * handles all that is queued, as soon as it is not pinned.  So a wait notes how many handlers had run when it
 * began (eintr_mark()), and each that has run since then interrupted it.
 *
 * Must never: be called while queued on the lot; a handler may wait, and may never return
 * (longjmp).
 */
#include "shim/sync/eintr.h"
#include "shim/sync/sync.h"
#include "shim/thread/schedparam.h"
#include "shim/thread/thread.h"

uint64_t eintr_mark(void)
{
	return self_thread.sigdone + 1;
}

/* In the region of a mask that tells itself (waitmask_hit()): not each handler is one of the call's. */
bool eintr_ran(uint64_t mark)
{
	return eintr_mark() != mark && !load_relaxed(&self_thread.masked);
}

/*
 * The lot looks once more before it queues, pinned: no handler runs between that look and the park.  A pin_m()
 * around the call would not do: pin() asks sysmon about the G's P where it is the first alone.
 */
static inline struct park *marked(struct park *pk, uint64_t mark)
{
	pk->count = on_g() && !load_relaxed(&self_thread.masked) ? &self_thread.sigdone : NULL;
	pk->counted = mark - 1;
	return pk;
}

int eintr_park(struct park *pk, uint64_t mark)
{
	return lot_park(marked(pk, mark));
}

int eintr_sleep(struct park *pk, uint64_t mark)
{
	return lot_sleep(marked(pk, mark));
}

enum eintr eintr_deliver(uint64_t *mark)
{
	struct thread *th = &self_thread;
	uint64_t from;

	if (!on_g())
		return INTR_ENDS; /* native thread: the kernel ran the handler, with flags unknown */
	from = eintr_ran(*mark) ? *mark : eintr_mark();
	/* Another thread that sets the caller's attributes kicks it, too: they are real before the wait is over. */
	schedparam_apply();
	signals_deliver();
	*mark = eintr_mark();
	if (*mark == from)
		return INTR_NONE;
	return th->sigends >= from ? INTR_ENDS : INTR_RESTARTS;
}

enum eintr eintr_in_call(uint64_t *mark)
{
	enum eintr what = eintr_deliver(mark);

	/* No cancellation point, but asynchronous cancellation needs none. */
	if (unlikely(cancel_due()) && tcb_cancel_async(tcb_self()))
		cancel_point();
	return what;
}

void eintr_look(void)
{
	uint64_t mark = eintr_mark();

	eintr_deliver(&mark);
}

void eintr_after(void)
{
	if (!load_relaxed(&self_thread.masked))
		eintr_look();
}

void eintr_in_lock(void)
{
	uint64_t mark = eintr_mark();

	eintr_in_call(&mark);
}
