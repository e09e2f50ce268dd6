/*
 * pollhow: how long a call of poll's family waits, and with which signal mask.
 *
 * The timeout given to ppoll, pselect and epoll_pwait2 stays as it was; the one given to select
 * gets the rest, as Linux documents.  A signal mask is the G's own for the time of the wait alone:
 * as in the kernel a descriptor that is ready comes first, and then the mask lets nothing in.
 */
#ifndef WEFT_SHIM_POLLHOW_H
#define WEFT_SHIM_POLLHOW_H

#include "shim/signal/waitmask.h"
#include "shim/syscall/rawsyscall.h"

#include <time.h>

#define SIGSET_BYTES 8L /* the kernel's signal set, not libc's 128 bytes */

struct pollhow {
	bool now;              /* must not wait */
	uint64_t deadline;     /* 0: none */
	const uint64_t *mask;  /* bits; NULL: the G's own */
	uint64_t bits;
	const struct timespec *bad; /* a time that the kernel shall refuse */
	long nr;               /* of epoll_wait's family: as it came */
};

/* False: the kernel shall say what is wrong with it. */
bool pollhow_until(struct pollhow *h, const struct timespec *ts) hidden;
bool pollhow_masked(struct pollhow *h, const sigset_t *mask) hidden;
void pollhow_ms(struct pollhow *h, int ms) hidden;

/*
 * For what waits in the kernel after all: the time that is left, in memory that the kernel may
 * write into; NULL: none was given.
 */
struct timespec *pollhow_left(const struct pollhow *h, struct timespec *ts) hidden;
/* The same in milliseconds, not too few; -1: none was given. */
int pollhow_ms_left(const struct pollhow *h) hidden;

/*
 * In the region of a mask, once nothing is ready: may it go on to wait?  What is pending for the
 * process is the kernel's to hand out: so that is asked once more, with the mask and no time, when
 * the mask lets more in.
 */
bool pollhow_may_wait(const struct pollhow *h, long *r) hidden;

/* What cannot be parked for: the kernel waits. */
#define POLLHOW_KERNEL_WAITS(h, call) \
	({ \
		WAITMASK_REGION((h)->mask); \
		waitmask_hit() ? -EINTR : (call); \
	})
#define pollhow_mask(h) ((h)->mask ? waitmask() : NULL)

/*
 * No waiting.  poll and select look at pending signals even then, and say EINTR when nothing is
 * ready; the signal may be the scheduler's own, so ask again: to the caller the signal just came
 * before the call.
 */
static inline long poll_ask_kernel(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	do
		r = direct(nr, a, b, c, d, e, f);
	while (r == -EINTR);
	return r;
}

#define poll_ask(nr, a, b, c, d, e, f) \
	poll_ask_kernel(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
