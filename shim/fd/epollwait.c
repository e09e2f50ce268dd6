/*
 * epollwait: waiting for an epoll of the program's; cancellation points.
 *
 * It waits in the kernel while the P has nothing else to do (runtime/sched/rest.c); else the G parks as
 * one that reads its epoll descriptor.
 */
#include "runtime/arch/callstub.h"
#include "runtime/netpoll.h"
#include "runtime/sched/policy.h"
#include "shim/sync/eintr.h"
#include "shim/fd/fdevents.h"
#include "shim/fd/pollhow.h"
#include "shim/fd/pollset.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

EXPORT int epoll_ctl(int ep, int op, int fd, struct epoll_event *event)
{
	return (int)FD_NOTED(epoll_ctl, 0, ep, op, fd, (long)event);
}

/* b the events, c how many. */
static long try_epoll(struct fdop *op, int fd)
{
	struct timespec zero = { 0, 0 };
	long r = poll_ask(op->nr, fd, op->b, op->c, op->nr == SYS_epoll_pwait2 ? &zero : NULL, NULL, SIGSET_BYTES);

	return r ? r : -EAGAIN;
}

/* The time that is left, as the call wants it. */
static long epoll_time(const struct pollhow *h, struct timespec *left)
{
	return h->nr == SYS_epoll_pwait2 ? (long)pollhow_left(h, left) : pollhow_ms_left(h);
}

/*
 * The call itself, on this kernel thread, while the P is idle; in the region of the mask.  FDWAIT_PARK: there is
 * something else to do, or would be too often (rest.c), or a signal came that is none of the program's.
 */
static long rest_epoll(const struct fdop *op, const struct pollhow *h)
{
	struct timespec left;
	uint64_t began, handled = self_thread.sigdone;
	long r, time;

	if (waitmask_hit())
		return -EINTR;
	time = epoll_time(h, &left);
	if (!entersyscallwait(&op->s->poll, op->fd))
		return FDWAIT_PARK;
	began = self_thread.callbegan = nanotime(); /* as call_timed() */
	r = await_entered(h->nr, op->fd, op->b, op->c, time, (long)pollhow_mask(h), SIGSET_BYTES);
	self_thread.sleeps = r > 0 && nanotime() - began > SLEPT_NS;
	/* Of weft's own: a thread that changes this one's attributes, say.  It goes on to wait, parked. */
	if (unlikely(r == -EINTR) && self_thread.sigdone == handled && !waitmask_hit())
		return FDWAIT_PARK;
	return r;
}

/*
 * An epoll descriptor is one that becomes readable.  The kernel gives each event to one of the
 * waiters.
 */
static long park_epoll(struct fdop *op)
{
	uint32_t bars = fdtable_bars();
	long r = fdwait_run(op);

	self_thread.sleeps = false;
	/*
	 * Barred while it waited, perhaps for a moment (epollset_ctl() takes it back when nothing
	 * was put in): the number is as good as before, or the kernel says that it is not.
	 */
	if (r == -EBADF && (fdslot_is_barred(op->s) || fdtable_bars() != bars))
		return FDWAIT_FALLBACK;
	return r == -EAGAIN ? 0 : r; /* the time is over */
}

/*
 * A wait that is expected to sleep is not preceded by a try: what parks tries by itself.  (In the region of a mask
 * it is: what is ready comes before a signal that the mask lets in.)
 */
static long wait_epoll(int ep, struct epoll_event *events, int max, const struct pollhow *h)
{
	struct fdop op = {
		.fd = ep,
		.dir = NETPOLL_IN,
		.attempt = try_epoll,
		.s = fdslot_of(ep),
		.deadline = h->deadline,
		.timed = true, /* a handler ends it, whatever its flags */
		.started = true,
		.plain = true,
		.nr = h->nr,
		.b = (long)events,
		.c = max,
		.mark = eintr_mark(),
	};
	struct netwait before;
	long r;

	testcancel_inline();
	if (!self_thread.sleeps || h->now || h->mask) {
		if (!h->now && op.s)
			fdwait_look(&op, &before);
		r = try_epoll(&op, ep);
		if (r != -EAGAIN)
			return r;
	}
	if (h->now)
		return 0;
	if (!op.s || fdslot_kind(op.s, ep) != FDK_EPOLL)
		return FDWAIT_FALLBACK;
	WAITMASK_REGION(h->mask);
	/* This one is not begun again for a signal that waited and turns out to be ignored. */
	if (h->mask && self_thread.maskedtook)
		return -EINTR;
	if (!pollhow_may_wait(h, &r))
		return r;
	r = rest_epoll(&op, h);
	return r == FDWAIT_PARK ? park_epoll(&op) : r;
}

/*
 * The call itself.  Where it will wait and others would run meanwhile, the P goes to them at once, not when
 * sysmon takes it.
 */
static long epoll_there(const struct pollhow *h, int ep, struct epoll_event *events, int max, long time)
{
	if (!h->now && runtime_others_wait())
		return POLLHOW_KERNEL_WAITS(h, await6(h->nr, ep, events, max, time, pollhow_mask(h), SIGSET_BYTES));
	return POLLHOW_KERNEL_WAITS(h, block6(h->nr, ep, events, max, time, pollhow_mask(h), SIGSET_BYTES));
}

static int epoll_ms(long nr, int ep, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	struct pollhow h = { .nr = nr };
	struct timespec left;
	long r;

	if (unlikely(!pollhow_masked(&h, mask)))
		return (int)syscall_ret(block6(nr, ep, events, max, timeout, mask, SIGSET_BYTES));
	pollhow_ms(&h, timeout);
	r = wait_epoll(ep, events, max, &h);
	if (r == FDWAIT_FALLBACK)
		r = epoll_there(&h, ep, events, max, epoll_time(&h, &left));
	return (int)syscall_ret(r);
}

EXPORT int epoll_pwait(int ep, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	if (!on_g())
		return real.epoll_pwait(ep, events, max, timeout, mask);
	return epoll_ms(SYS_epoll_pwait, ep, events, max, timeout, mask);
}

EXPORT int epoll_wait(int ep, struct epoll_event *events, int max, int timeout)
{
	if (!on_g())
		return real.epoll_wait(ep, events, max, timeout);
	return epoll_ms(SYS_epoll_wait, ep, events, max, timeout, NULL);
}

EXPORT int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *timeout,
			const sigset_t *mask)
{
	struct pollhow h = { .nr = SYS_epoll_pwait2 };
	struct timespec left, asked;
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.epoll_pwait2(ep, events, max, timeout, mask);
	if (unlikely(!pollhow_masked(&h, mask) || (timeout && !user_get(&asked, timeout, sizeof(asked)))))
		return (int)syscall_ret(block6(SYS_epoll_pwait2, ep, events, max, timeout, mask, SIGSET_BYTES));
	if (pollhow_until(&h, timeout ? &asked : NULL))
		r = wait_epoll(ep, events, max, &h);
	if (r == FDWAIT_FALLBACK)
		r = epoll_there(&h, ep, events, max, epoll_time(&h, &left));
	return (int)syscall_ret(r);
}
