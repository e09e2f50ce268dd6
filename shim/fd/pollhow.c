/*
 * pollhow: times and masks of poll's family.
 */
#include "shim/fd/pollhow.h"

#include "runtime/arch/callstub.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

#include <limits.h>

#define SECOND 1000000000LL

bool pollhow_until(struct pollhow *h, const struct timespec *ts)
{
	if (!ts)
		return true;
	if (deadline_in(ts, &h->deadline)) {
		h->bad = ts;
		return false;
	}
	h->now = ts->tv_sec == 0 && ts->tv_nsec == 0;
	return true;
}

bool pollhow_masked(struct pollhow *h, const sigset_t *mask)
{
	h->mask = mask ? &h->bits : NULL;
	return !mask || user_get(&h->bits, mask, sizeof(h->bits));
}

void pollhow_ms(struct pollhow *h, int ms)
{
	h->now = ms == 0;
	h->deadline = ms > 0 ? nanotime() + (uint64_t)ms * 1000000 : 0;
}

struct timespec *pollhow_left(const struct pollhow *h, struct timespec *ts)
{
	uint64_t now = nanotime(), ns = h->deadline > now ? h->deadline - now : 0;

	*ts = (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
	if (h->bad)
		*ts = *h->bad;
	return h->deadline || h->now || h->bad ? ts : NULL;
}

int pollhow_ms_left(const struct pollhow *h)
{
	struct timespec ts;

	if (!pollhow_left(h, &ts))
		return -1;
	return ts.tv_sec > INT_MAX / 1000 - 1 ? INT_MAX
					      : (int)(ts.tv_sec * 1000 + (ts.tv_nsec + 999999) / 1000000);
}

bool pollhow_may_wait(const struct pollhow *h, long *r)
{
	struct timespec zero = { 0, 0 };

	*r = 0;
	/* By the stub: a handler that comes out of the call has the call's mask (left_call()). */
	if (h->mask && sigmask_of(getg()) & ~sigs_of(waitmask()))
		do
			*r = waitmask_hit() ? 0
					    : syscall_nocp(SYS_ppoll, 0, 0, (long)&zero, (long)waitmask(),
							   SIGSET_BYTES, 0);
		while (*r == -EINTR);
	if (waitmask_hit())
		*r = -EINTR;
	if (h->now || *r)
		return false;
	if (h->mask)
		waitmask_attend();
	return true;
}
