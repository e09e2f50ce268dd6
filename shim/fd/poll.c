/*
 * poll: waiting on many descriptors; all cancellation points.
 *
 * A call that must not wait is the kernel's own.  One that may is asked without time first, and
 * when nothing is ready the G parks: poll and select by pollset.c, epoll_wait as one that reads its
 * epoll descriptor.  What cannot be parked for (too many descriptors, sets beyond FD_SETSIZE) waits
 * on a kernel thread.
 *
 * The timeout given to ppoll, pselect and epoll_pwait2 stays as it was; the one given to select
 * gets the rest, as Linux documents.  A signal mask is the G's own for the time of the wait alone:
 * as in the kernel a descriptor that is ready comes first, and then the mask lets nothing in.
 */
#include "runtime/arch/callstub.h"
#include "runtime/netpoll.h"
#include "runtime/sched/policy.h"
#include "shim/signal/waitmask.h"
#include "shim/fd/fdevents.h"
#include "shim/fd/pollset.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

#include <limits.h>
#include <string.h>

#define SIGSET_BYTES 8L /* the kernel's signal set, not libc's 128 bytes */
#define SECOND 1000000000LL

/*
 * No waiting.  poll and select look at pending signals even then, and say EINTR when nothing is
 * ready; the signal may be the scheduler's own, so ask again: to the caller the signal just came
 * before the call.
 */
static long ask_kernel(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	do
		r = direct(nr, a, b, c, d, e, f);
	while (r == -EINTR);
	return r;
}

#define ask6(nr, a, b, c, d, e, f)                                                                 \
	ask_kernel(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* ---- how long, with which mask --------------------------------------------------------------- */

struct how {
	bool now;              /* must not wait */
	uint64_t deadline;     /* 0: none */
	const uint64_t *mask;  /* bits; NULL: the G's own */
	uint64_t bits;
	const struct timespec *bad; /* a time that the kernel shall refuse */
	long nr;               /* of epoll_wait's family: as it came */
};

/* False: the kernel shall say what is wrong with it. */
static bool how_long(struct how *h, const struct timespec *ts)
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

/* The same. */
static bool how_masked(struct how *h, const sigset_t *mask)
{
	h->mask = mask ? &h->bits : NULL;
	return !mask || user_get(&h->bits, mask, sizeof(h->bits));
}

static void how_many_ms(struct how *h, int ms)
{
	h->now = ms == 0;
	h->deadline = ms > 0 ? nanotime() + (uint64_t)ms * 1000000 : 0;
}

/*
 * For what waits in the kernel after all: the time that is left, in memory that the kernel may
 * write into; NULL: none was given.
 */
static struct timespec *time_left(const struct how *h, struct timespec *ts)
{
	uint64_t now = nanotime(), ns = h->deadline > now ? h->deadline - now : 0;

	*ts = (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
	if (h->bad)
		*ts = *h->bad;
	return h->deadline || h->now || h->bad ? ts : NULL;
}

/* The same in milliseconds, not too few; -1: none was given. */
static int ms_left(const struct how *h)
{
	struct timespec ts;

	if (!time_left(h, &ts))
		return -1;
	return ts.tv_sec > INT_MAX / 1000 - 1 ? INT_MAX
					      : (int)(ts.tv_sec * 1000 + (ts.tv_nsec + 999999) / 1000000);
}

/*
 * In the region of a mask, once nothing is ready: may it go on to wait?  What is pending for the
 * process is the kernel's to hand out: so that is asked once more, with the mask and no time, when
 * the mask lets more in.
 */
static bool may_wait(const struct how *h, long *r)
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

/* What cannot be parked for: the kernel waits. */
#define kernel_waits(h, call)                                                                      \
	({                                                                                         \
		WAITMASK_REGION((h)->mask);                                                        \
		waitmask_hit() ? -EINTR : (call);                                                  \
	})
#define mask_of(h) ((h)->mask ? waitmask() : NULL)

/* ---- poll ------------------------------------------------------------------------------------ */

struct pollcall {
	struct pollfd *fds;
	nfds_t n;
};

static long ask_poll(void *arg)
{
	struct pollcall *c = arg;

	return ask6(SYS_poll, c->fds, c->n, 0, 0, 0, 0);
}

/* Result, -errno or FDWAIT_FALLBACK. */
static long wait_poll(struct pollfd *fds, nfds_t n, const struct how *h)
{
	struct pollcall call = { fds, n };
	struct pollwait set = { fds, (unsigned int)n, ask_poll, &call, h->deadline };
	long r;

	if (unlikely(fdtable_tries_ended()))
		return FDWAIT_FALLBACK;
	runtime_checkyield();
	testcancel_inline();
	r = ask_poll(&call);
	if (r == -EFAULT) /* what cannot be written alone is an error after the wait */
		return FDWAIT_FALLBACK;
	if (r)
		return r;
	if (n > POLLWAIT_MAX && !h->now)
		return FDWAIT_FALLBACK;
	WAITMASK_REGION(h->mask);
	if (may_wait(h, &r))
		do
			r = pollwait_wait(&set);
		while (pollwait_goes_on(r));
	return r;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct how h = { 0 };
	long r;

	if (!on_g())
		return real.poll(fds, n, timeout);
	how_many_ms(&h, timeout);
	r = wait_poll(fds, n, &h);
	if (r == FDWAIT_FALLBACK)
		r = block3(SYS_poll, fds, n, ms_left(&h));
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
	struct how h = { 0 };
	struct timespec left;
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.ppoll(fds, n, timeout, mask);
	if (unlikely(!how_masked(&h, mask)))
		return (int)syscall_ret(block5(SYS_ppoll, fds, n, timeout, mask, SIGSET_BYTES));
	if (how_long(&h, timeout))
		r = wait_poll(fds, n, &h);
	if (r == FDWAIT_FALLBACK)
		r = kernel_waits(&h, block5(SYS_ppoll, fds, n, time_left(&h, &left), mask_of(&h),
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

/* ---- select ---------------------------------------------------------------------------------- */

enum { SET_IN, SET_OUT, SET_EXCEPT, SETS };

struct selectcall {
	int n;
	fd_set *user[SETS];  /* NULL: not given */
	fd_set given[SETS];  /* what was asked for */
	fd_set ready[SETS];  /* the last answer */
	bool waited;         /* this is not the first question */
};

static size_t set_bytes(int n)
{
	return ((size_t)n + 63) / 64 * 8;
}

static long ask_sets(struct selectcall *c, const fd_set *from)
{
	struct timespec zero = { 0, 0 };
	fd_set *set[SETS];

	for (int i = 0; i < SETS; i++) {
		memcpy(&c->ready[i], &from[i], set_bytes(c->n));
		set[i] = c->user[i] ? &c->ready[i] : NULL;
	}
	return ask6(SYS_pselect6, c->n, set[SET_IN], set[SET_OUT], set[SET_EXCEPT], &zero, NULL);
}

/* The number of bits of fd; they move from one to the other if there is one. */
static long move_bits(struct selectcall *c, int fd, fd_set *from, fd_set *to)
{
	long n = 0;

	for (int i = 0; i < SETS; i++) {
		if (!c->user[i] || !FD_ISSET(fd, &from[i]))
			continue;
		n++;
		if (to) {
			FD_CLR(fd, &from[i]);
			FD_SET(fd, &to[i]);
		}
	}
	return n;
}

/*
 * Bad numbers are an error of the call's beginning.  One that was closed while it waited is ready
 * for all that it was asked for, as the kernel has it since 5.17 (before, it would not wake at
 * all).
 */
static long ask_without_closed(struct selectcall *c)
{
	fd_set open[SETS], closed[SETS];
	long n = 0, r;

	memcpy(open, c->given, sizeof(open));
	memset(closed, 0, sizeof(closed));
	for (int fd = 0; fd < c->n; fd++)
		if (move_bits(c, fd, open, NULL) && direct3(SYS_fcntl, fd, F_GETFD, 0) < 0)
			n += move_bits(c, fd, open, closed);
	r = ask_sets(c, open);
	if (r < 0)
		return r;
	for (int i = 0; i < SETS; i++)
		for (size_t k = 0; k < set_bytes(c->n) / sizeof(c->ready[i].fds_bits[0]); k++)
			c->ready[i].fds_bits[k] |= closed[i].fds_bits[k];
	return n + r;
}

static long ask_select(void *arg)
{
	struct selectcall *c = arg;
	long r = ask_sets(c, c->given);

	while (r == -EBADF && c->waited) /* again if one more is closed in between */
		r = ask_without_closed(c);
	return r;
}

static unsigned int watched(const struct selectcall *c, struct pollfd *fds)
{
	static const short events[SETS] = { POLLIN, POLLOUT, POLLPRI };
	unsigned int n = 0;

	for (int fd = 0; fd < c->n; fd++) {
		short want = 0;

		for (int i = 0; i < SETS; i++)
			if (c->user[i] && FD_ISSET(fd, &c->given[i]))
				want |= events[i];
		if (want)
			fds[n++] = (struct pollfd){ .fd = fd, .events = want };
	}
	return n;
}

static long park_select(struct selectcall *c, uint64_t deadline)
{
	enum { POLL_FEW = 64 }; /* a stack may be small */
	struct pollfd few[POLL_FEW], *fds = few;
	size_t bytes = (size_t)c->n * sizeof(*fds);
	long r;

	if (c->n > POLL_FEW) {
		if (runtime_fault("descriptors of a select"))
			return FDWAIT_FALLBACK;
		fds = (struct pollfd *)direct6(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if ((unsigned long)fds > -4096UL)
			return FDWAIT_FALLBACK;
	}
	r = pollwait_wait(&(struct pollwait){ fds, watched(c, fds), ask_select, c, deadline });
	if (fds != few)
		direct3(SYS_munmap, fds, bytes, 0);
	return r;
}

/* The sets as they are given; memory that is not there is for the kernel to refuse. */
static bool read_sets(struct selectcall *c)
{
	if (c->n < 0 || c->n > FD_SETSIZE)
		return false;
	for (int i = 0; i < SETS; i++)
		if (c->user[i] && c->n && !user_get(&c->given[i], c->user[i], set_bytes(c->n)))
			return false;
	return true;
}

static long wait_select(int n, fd_set *in, fd_set *out, fd_set *except, const struct how *h)
{
	struct selectcall c = { .n = n, .user = { in, out, except } };
	long r;

	if (unlikely(fdtable_tries_ended()))
		return FDWAIT_FALLBACK;
	runtime_checkyield();
	testcancel_inline();
	if (h->now && !h->mask) {
		struct timespec none = { 0, 0 };

		return ask6(SYS_pselect6, n, in, out, except, &none, NULL);
	}
	if (!read_sets(&c))
		return FDWAIT_FALLBACK;
	r = ask_select(&c);
	if (r == 0) {
		WAITMASK_REGION(h->mask);
		c.waited = true;
		if (may_wait(h, &r))
			do
				r = park_select(&c, h->deadline);
			while (pollwait_goes_on(r));
	}
	for (int i = 0; r >= 0 && i < SETS; i++)
		if (c.user[i] && n && !user_put(c.user[i], &c.ready[i], set_bytes(n)))
			r = -EFAULT;
	return r;
}

EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct how h = { 0 };
	struct timespec left;
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.select(n, in, out, except, timeout);
	if (timeout) {
		/* libc's, too, takes microseconds beyond a second. */
		struct timespec ts = { timeout->tv_sec + timeout->tv_usec / 1000000,
				       timeout->tv_usec % 1000000 * 1000 };

		if (timeout->tv_sec < 0 || timeout->tv_usec < 0)
			return (int)syscall_ret(-EINVAL);
		how_long(&h, &ts);
	}
	r = wait_select(n, in, out, except, &h);
	if (timeout && h.deadline && time_left(&h, &left)) {
		timeout->tv_sec = left.tv_sec;
		timeout->tv_usec = (suseconds_t)(left.tv_nsec / 1000);
	}
	if (r == FDWAIT_FALLBACK)
		r = block5(SYS_select, n, in, out, except, timeout);
	return (int)syscall_ret(r);
}
ALIAS(__select, select);

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
		   const sigset_t *mask)
{
	struct how h = { 0 };
	struct timespec left;
	/* pselect6 takes its sixth and seventh arguments through memory. */
	struct {
		const sigset_t *mask;
		size_t bytes;
	} set = { mask, SIGSET_BYTES };
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.pselect(n, in, out, except, timeout, mask);
	if (unlikely(!how_masked(&h, mask)))
		return (int)syscall_ret(block6(SYS_pselect6, n, in, out, except, timeout, &set));
	if (mask)
		set.mask = waitmask();
	if (how_long(&h, timeout))
		r = wait_select(n, in, out, except, &h);
	if (r == FDWAIT_FALLBACK)
		r = kernel_waits(&h, block6(SYS_pselect6, n, in, out, except, time_left(&h, &left),
					    &set));
	return (int)syscall_ret(r);
}

/* ---- epoll ----------------------------------------------------------------------------------- */

EXPORT int epoll_ctl(int ep, int op, int fd, struct epoll_event *event)
{
	return (int)FD_NOTED(epoll_ctl, 0, ep, op, fd, (long)event);
}

/* b the events, c how many. */
static long try_epoll(struct fdop *op, int fd)
{
	struct timespec zero = { 0, 0 };
	long r = ask6(op->nr, fd, op->b, op->c, op->nr == SYS_epoll_pwait2 ? &zero : NULL, NULL, SIGSET_BYTES);

	return r ? r : -EAGAIN;
}

/* The time that is left, as the call wants it. */
static long epoll_time(const struct how *h, struct timespec *left)
{
	return h->nr == SYS_epoll_pwait2 ? (long)time_left(h, left) : ms_left(h);
}

/*
 * The call itself, on this kernel thread, while the P is idle; in the region of the mask.  FDWAIT_PARK: there is
 * something else to do, or would be too often (rest.c), or a signal came that is none of the program's.
 */
static long rest_epoll(const struct fdop *op, const struct how *h)
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
	r = await_entered(h->nr, op->fd, op->b, op->c, time, (long)mask_of(h), SIGSET_BYTES);
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
static long wait_epoll(int ep, struct epoll_event *events, int max, const struct how *h)
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
	};
	uint64_t taken;
	long r;

	testcancel_inline();
	if (!self_thread.sleeps || h->now || h->mask) {
		r = try_epoll(&op, ep);
		if (r != -EAGAIN)
			return r;
	}
	if (h->now)
		return 0;
	if (!op.s || fdslot_kind(op.s, ep) != FDK_EPOLL)
		return FDWAIT_FALLBACK;
	taken = self_thread.sigtaken;
	WAITMASK_REGION(h->mask);
	/* This one is not begun again for a signal that waited and turns out to be ignored. */
	if (self_thread.sigtaken != taken)
		return -EINTR;
	if (!may_wait(h, &r))
		return r;
	r = rest_epoll(&op, h);
	return r == FDWAIT_PARK ? park_epoll(&op) : r;
}

/*
 * The call itself.  Where it will wait and others would run meanwhile, the P goes to them at once, not when
 * sysmon takes it.
 */
static long epoll_there(const struct how *h, int ep, struct epoll_event *events, int max, long time)
{
	if (!h->now && runtime_others_wait())
		return kernel_waits(h, await6(h->nr, ep, events, max, time, mask_of(h), SIGSET_BYTES));
	return kernel_waits(h, block6(h->nr, ep, events, max, time, mask_of(h), SIGSET_BYTES));
}

static int epoll_ms(long nr, int ep, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	struct how h = { .nr = nr };
	struct timespec left;
	long r;

	if (unlikely(!how_masked(&h, mask)))
		return (int)syscall_ret(block6(nr, ep, events, max, timeout, mask, SIGSET_BYTES));
	how_many_ms(&h, timeout);
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
	struct how h = { .nr = SYS_epoll_pwait2 };
	struct timespec left, asked;
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.epoll_pwait2(ep, events, max, timeout, mask);
	if (unlikely(!how_masked(&h, mask) || (timeout && !user_get(&asked, timeout, sizeof(asked)))))
		return (int)syscall_ret(block6(SYS_epoll_pwait2, ep, events, max, timeout, mask, SIGSET_BYTES));
	if (how_long(&h, timeout ? &asked : NULL))
		r = wait_epoll(ep, events, max, &h);
	if (r == FDWAIT_FALLBACK)
		r = epoll_there(&h, ep, events, max, epoll_time(&h, &left));
	return (int)syscall_ret(r);
}
