/*
 * poll: waiting on many descriptors, given as an array; cancellation points.
 *
 * A call that must not wait is the kernel's own.  One that may is asked without time first, and
 * when nothing is ready the G parks (pollset.c), which asks once more.  A thread whose last call parked, one that
 * serves a connection, will park again: there the first question is left out, if its array lies where it can be read.
 * What cannot be parked for (too many descriptors) waits on a kernel thread.
 */
#include "shim/sync/eintr.h"
#include "shim/fd/pollhow.h"
#include "shim/fd/pollset.h"
#include "shim/fd/fdevents.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

struct pollcall {
	struct pollfd *fds;
	nfds_t n;
};

static long ask_poll(void *arg)
{
	struct pollcall *c = arg;

	return poll_ask(SYS_poll, c->fds, c->n, 0, 0, 0, 0);
}

static bool parks_at_once(const struct pollfd *fds, nfds_t n, const struct pollhow *h)
{
	return self_thread.pollparks && !h->now && !h->mask && n <= POLLWAIT_FEW &&
	       user_beside_frame(fds, n * sizeof(*fds));
}

/* Result, -errno or FDWAIT_FALLBACK. */
static long wait_poll(struct pollfd *fds, nfds_t n, const struct pollhow *h)
{
	struct pollcall call = { fds, n };
	uint64_t mark = eintr_mark();
	struct pollwait set = { fds, (unsigned int)n, ask_poll, &call, h->deadline, &mark, false };
	long r = 0;

	if (unlikely(fdtable_tries_ended()))
		return FDWAIT_FALLBACK;
	runtime_checkyield();
	testcancel_inline();
	if (!parks_at_once(fds, n, h))
		r = ask_poll(&call);
	if (r == -EFAULT) /* what cannot be written alone is an error after the wait */
		return FDWAIT_FALLBACK;
	if (r)
		return r;
	if (n > POLLWAIT_MAX && !h->now)
		return FDWAIT_FALLBACK;
	WAITMASK_REGION(h->mask);
	if (pollhow_may_wait(h, &r))
		do
			r = pollwait_wait(&set);
		while (pollwait_goes_on(&mark, r));
	self_thread.pollparks = set.parked;
	return r;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollhow h = { 0 };
	long r;

	if (!on_g())
		return real.poll(fds, n, timeout);
	pollhow_ms(&h, timeout);
	r = wait_poll(fds, n, &h);
	if (r == FDWAIT_FALLBACK)
		r = block3(SYS_poll, fds, n, pollhow_ms_left(&h));
	return (int)syscall_ret(r);
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
	struct pollhow h = { 0 };
	struct timespec left;
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.ppoll(fds, n, timeout, mask);
	if (unlikely(!pollhow_masked(&h, mask)))
		return (int)syscall_ret(block5(SYS_ppoll, fds, n, timeout, mask, SIGSET_BYTES));
	if (pollhow_until(&h, timeout))
		r = wait_poll(fds, n, &h);
	if (r == FDWAIT_FALLBACK)
		r = POLLHOW_KERNEL_WAITS(&h, block5(SYS_ppoll, fds, n, pollhow_left(&h, &left), pollhow_mask(&h),
					    SIGSET_BYTES));
	return (int)syscall_ret(r);
}
TWIN(ppoll);

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return shim_ppoll(fds, n, timeout, mask);
}
