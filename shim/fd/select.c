/*
 * select: waiting on many descriptors, given as sets of bits; cancellation points.
 *
 * As poll.c.  The sets are read once, and written once the answer is there.  Sets beyond FD_SETSIZE
 * wait on a kernel thread.
 */
#include "shim/sync/eintr.h"
#include "shim/fd/fdevents.h"
#include "shim/fd/pollhow.h"
#include "shim/fd/pollset.h"
#include "shim/sync/sync.h"
#include "shim/syscall/scratch.h"
#include "shim/syscall/usermem.h"

#include <string.h>

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
	return poll_ask(SYS_pselect6, c->n, set[SET_IN], set[SET_OUT], set[SET_EXCEPT], &zero, NULL);
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

static long park_select(struct selectcall *c, uint64_t deadline, uint64_t *mark)
{
	enum { POLL_FEW = 64 }; /* a stack may be small */
	struct pollfd few[POLL_FEW];
	size_t bytes = (size_t)c->n * sizeof(*few);
	void *fds = few;
	long r;

	if (c->n > POLL_FEW && (runtime_fault("descriptors of a select") || scratch_map(&fds, bytes)))
		return FDWAIT_FALLBACK;
	r = pollwait_wait(&(struct pollwait){ fds, watched(c, fds), ask_select, c, deadline, mark, false });
	if (fds != few)
		scratch_unmap(fds, bytes);
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

static long wait_select(int n, fd_set *in, fd_set *out, fd_set *except, const struct pollhow *h)
{
	struct selectcall c = { .n = n, .user = { in, out, except } };
	uint64_t mark = eintr_mark();
	long r;

	if (unlikely(fdtable_tries_ended()))
		return FDWAIT_FALLBACK;
	runtime_checkyield();
	testcancel_inline();
	if (h->now && !h->mask) {
		struct timespec none = { 0, 0 };

		return poll_ask(SYS_pselect6, n, in, out, except, &none, NULL);
	}
	if (!read_sets(&c))
		return FDWAIT_FALLBACK;
	r = ask_select(&c);
	if (r == 0) {
		WAITMASK_REGION(h->mask);
		c.waited = true;
		if (pollhow_may_wait(h, &r))
			do
				r = park_select(&c, h->deadline, &mark);
			while (pollwait_goes_on(&mark, r));
	}
	for (int i = 0; r >= 0 && i < SETS; i++)
		if (c.user[i] && n && !user_put(c.user[i], &c.ready[i], set_bytes(n)))
			r = -EFAULT;
	return r;
}

EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct pollhow h = { 0 };
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
		pollhow_until(&h, &ts);
	}
	r = wait_select(n, in, out, except, &h);
	if (timeout && h.deadline && pollhow_left(&h, &left)) {
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
	struct pollhow h = { 0 };
	struct timespec left;
	/* pselect6 takes its sixth and seventh arguments through memory. */
	struct {
		const sigset_t *mask;
		size_t bytes;
	} set = { mask, SIGSET_BYTES };
	long r = FDWAIT_FALLBACK;

	if (!on_g())
		return real.pselect(n, in, out, except, timeout, mask);
	if (unlikely(!pollhow_masked(&h, mask)))
		return (int)syscall_ret(block6(SYS_pselect6, n, in, out, except, timeout, &set));
	if (mask)
		set.mask = waitmask();
	if (pollhow_until(&h, timeout))
		r = wait_select(n, in, out, except, &h);
	if (r == FDWAIT_FALLBACK)
		r = POLLHOW_KERNEL_WAITS(&h, block6(SYS_pselect6, n, in, out, except, pollhow_left(&h, &left),
					    &set));
	return (int)syscall_ret(r);
}
