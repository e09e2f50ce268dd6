/*
 * cancelword: the cancellation word of a thread block.
 *
 * libc's own testcancel, setcancelstate, setcanceltype, exit and unwinding run unchanged on a block
 * of ours; only the request is made by us, because libc's pthread_cancel signals the block's id as
 * if it were a kernel thread.  A request is an atomic OR of tcb_cancel_request_bits into the word.
 *
 * CANCELED, EXITING and TERMINATED are the same bits in every version since 2.34.  Whether
 * cancellation is disabled or asynchronous is a bit of that word, or of a byte of its own
 * (2.34, 2.35): measured, probe.c.
 */
#include "compat/broken.h"
#include "compat/glibc.h"
#include "compat/tcb.h"
#include "runtime/base/atomic.h"

enum { CANCELED = 8, EXITING = 16, TERMINATED = 32 };

int tcb_cancel_request_bits;
bool tcb_join_acts, tcb_join_checks;
ptrdiff_t tcb_cancel_at;

int *tcb_cancelhandling(struct tcb *t)
{
	return at(t, (ptrdiff_t)layout.cancelhandling);
}

static bool flag(const struct tcb *t, const struct flag_bit *f)
{
	return load_acquire((uint8_t *)at(t, f->offset)) & f->mask;
}

int tcb_cancel_enabled(const struct tcb *t)
{
	return !flag(t, &layout.cancel_disabled);
}

int tcb_cancel_async(const struct tcb *t)
{
	return tcb_cancel_enabled(t) && flag(t, &layout.cancel_async);
}

int tcb_cancel_acts(const struct tcb *t)
{
	int w = load_acquire((int *)at(t, (ptrdiff_t)layout.cancelhandling));

	return !(w & (EXITING | TERMINATED)) && tcb_cancel_enabled(t);
}

int tcb_cancel_pending(const struct tcb *t)
{
	int w = load_acquire((int *)at(t, (ptrdiff_t)layout.cancelhandling));

	if ((w & (CANCELED | EXITING | TERMINATED)) != CANCELED || broken("request"))
		return 0;
	return tcb_cancel_enabled(t);
}

int tcb_cancel_requested(const struct tcb *t)
{
	int w = load_acquire((int *)at(t, (ptrdiff_t)layout.cancelhandling));

	return (w & (CANCELED | EXITING | TERMINATED)) != 0;
}

void tcb_cancel_over(struct tcb *t)
{
	fetch_or_acq_rel(tcb_cancelhandling(t), EXITING); /* as libc's own */
}
