/*
 * poll: waiting on many descriptors; all cancellation points.
 *
 * Two ways down, and every function takes one of them: poll_now() when it must not wait,
 * poll_wait() when it may.  The timeout given to ppoll, pselect and epoll_pwait2 stays as it was
 * (the kernel would write the rest into ppoll's and pselect's: a copy is passed); the one given to
 * select gets the rest, as Linux documents.  A signal mask is installed by the kernel for the time
 * of the call, on the kernel thread that the G has to itself while it waits, and holds for the signals
 * that are directed at the G (callmask.h).
 */
#include "shim/callmask.h"
#include "shim/direct.h"

#define SIGSET_BYTES 8L /* the kernel's signal set, not libc's 128 bytes */

/*
 * No waiting.  poll and select look at pending signals even then, and say EINTR when nothing is
 * ready; the signal may be the scheduler's own, so ask again: to the caller the signal just came
 * before the call.
 */
static long poll_now(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	testcancel();
	do
		r = direct(nr, a, b, c, d, e, f);
	while (r == -EINTR);
	return r;
}

static long poll_wait(long nr, long a, long b, long c, long d, long e, long f)
{
	return block_cp(nr, a, b, c, d, e, f);
}

/* Under a mask of its own.  A handler that ran ends it, SA_RESTART or not. */
static long poll_masked(const sigset_t *mask, long nr, long a, long b, long c, long d, long e, long f)
{
	CALLMASK_REGION(mask);

	return callmask_hit() ? -EINTR : block_cp(nr, a, b, c, d, e, f);
}

#define poll6(now, nr, a, b, c, d, e, f)                                                           \
	((now) ? poll_now : poll_wait)(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),  \
				       (long)(f))

#define poll6m(now, mask, nr, a, b, c, d, e, f)                                                    \
	((mask) ? poll_masked(mask, nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),     \
			      (long)(f))                                                           \
		: poll6(now, nr, a, b, c, d, e, f))

/* What the kernel is given for the program's mask: signals of ours stay let in. */
static const void *in_call(const sigset_t *mask)
{
	return mask ? callmask() : NULL;
}

static bool zero(const struct timespec *ts)
{
	return ts && ts->tv_sec == 0 && ts->tv_nsec == 0;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (!on_g())
		return real.poll(fds, n, timeout);
	return (int)syscall_ret(poll6(timeout == 0, SYS_poll, fds, n, timeout, 0, 0, 0));
}
TWIN(poll);
ALIAS(__poll, poll);

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return shim_poll(fds, n, timeout);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec left;

	if (!on_g())
		return real.ppoll(fds, n, timeout, mask);
	if (timeout)
		left = *timeout;
	return (int)syscall_ret(poll6m(zero(timeout), mask, SYS_ppoll, fds, n,
				       timeout ? &left : NULL, in_call(mask), SIGSET_BYTES, 0));
}
TWIN(ppoll);

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return shim_ppoll(fds, n, timeout, mask);
}

EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	bool now = timeout && timeout->tv_sec == 0 && timeout->tv_usec == 0;

	if (!on_g())
		return real.select(n, in, out, except, timeout);
	return (int)syscall_ret(poll6(now, SYS_select, n, in, out, except, timeout, 0));
}
ALIAS(__select, select);

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
		   const sigset_t *mask)
{
	struct timespec left;
	/* pselect6 takes its sixth and seventh arguments through memory. */
	struct {
		const void *mask;
		size_t bytes;
	} set = {in_call(mask), SIGSET_BYTES};

	if (!on_g())
		return real.pselect(n, in, out, except, timeout, mask);
	if (timeout)
		left = *timeout;
	return (int)syscall_ret(poll6m(zero(timeout), mask, SYS_pselect6, n, in, out, except,
				       timeout ? &left : NULL, &set));
}

EXPORT int epoll_pwait(int ep, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	if (!on_g())
		return real.epoll_pwait(ep, events, max, timeout, mask);
	return (int)syscall_ret(poll6m(timeout == 0, mask, SYS_epoll_pwait, ep, events, max,
				       timeout, in_call(mask), SIGSET_BYTES));
}

EXPORT int epoll_wait(int ep, struct epoll_event *events, int max, int timeout)
{
	if (!on_g())
		return real.epoll_wait(ep, events, max, timeout);
	return (int)syscall_ret(
		poll6(timeout == 0, SYS_epoll_wait, ep, events, max, timeout, 0, 0));
}

EXPORT int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *timeout,
			const sigset_t *mask)
{
	if (!on_g())
		return real.epoll_pwait2(ep, events, max, timeout, mask);
	return (int)syscall_ret(poll6m(zero(timeout), mask, SYS_epoll_pwait2, ep, events, max,
				       timeout, in_call(mask), SIGSET_BYTES));
}
