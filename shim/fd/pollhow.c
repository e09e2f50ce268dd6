/*
 * pollhow: times and masks of poll's family.
 */
#include "shim/fd/pollhow.h"

#include "runtime/arch/callstub.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

#include <limits.h>
#include <sys/select.h>

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

/* ---- by number, with a mask ------------------------------------------------------------------ */

/* The kernel clears the sets of a pselect6 that finds nothing: it is asked with copies. */
static long sets_now(const struct call *x)
{
	enum { PSELECT_SETS = 3 };
	const long user[PSELECT_SETS] = { x->b, x->c, x->d };
	struct timespec zero = { 0, 0 };
	fd_set copy[PSELECT_SETS];
	size_t bytes = ((size_t)x->a + NFDBITS - 1) / NFDBITS * sizeof(copy[0].fds_bits[0]);
	void *at[PSELECT_SETS];
	long r;

	for (int i = 0; i < PSELECT_SETS; i++) {
		at[i] = user[i] && bytes ? &copy[i] : NULL;
		if (at[i] && !user_get(at[i], (const void *)user[i], bytes))
			return -EFAULT;
	}
	r = poll_ask(SYS_pselect6, x->a, at[0], at[1], at[2], &zero, NULL);
	for (int i = 0; r > 0 && i < PSELECT_SETS; i++)
		if (at[i] && !user_put((void *)user[i], at[i], bytes))
			r = -EFAULT;
	return r;
}

static long ready_now(const struct call *x)
{
	struct timespec zero = { 0, 0 };

	if (x->nr == SYS_pselect6)
		return sets_now(x);
	if (x->nr == SYS_ppoll)
		return poll_ask(SYS_ppoll, x->a, x->b, &zero, NULL, 0, 0);
	return poll_ask(x->nr, x->a, x->b, x->c, x->nr == SYS_epoll_pwait2 ? &zero : NULL, NULL, 0);
}

/* The mask, and the time that must be good before anything is asked; NULL: none.  As pselect6 has them: mask, bytes. */
struct polled {
	const sigset_t *mask;
	size_t bytes;
	const struct timespec *time;
};

/* *at: the argument of x by which the kernel gets the mask. */
static bool polled_by(struct call *x, struct polled *p, long **at)
{
	switch (x->nr) {
	case SYS_ppoll:
		*at = &x->d;
		*p = (struct polled){ (const sigset_t *)x->d, (size_t)x->e, (const struct timespec *)x->c };
		return true;
	case SYS_pselect6:
		*at = &x->f;
		p->time = (const struct timespec *)x->e;
		return x->a >= 0 && x->a <= FD_SETSIZE && x->f &&
		       user_get(p, (const void *)x->f, offsetof(struct polled, time));
	default:
		*at = &x->e;
		*p = (struct polled){ (const sigset_t *)x->e, (size_t)x->f,
				      x->nr == SYS_epoll_pwait2 ? (const struct timespec *)x->d : NULL };
		return true;
	}
}

/*
 * With a mask the call is a region of it, as libc's function of that name: of the signals that are kept for the G the
 * kernel knows nothing.  The kernel waits, and writes the time that is left; no cancellation point.
 */
long polls_by_number(const struct call *x)
{
	bool epoll = x->nr == SYS_epoll_pwait || x->nr == SYS_epoll_pwait2;
	struct pollhow h = { .nr = x->nr };
	struct timespec asked;
	struct call y = *x;
	struct polled p;
	long r, *mask;

	if (!polled_by(&y, &p, &mask) || !p.mask || p.bytes != SIGSET_BYTES || !pollhow_masked(&h, p.mask))
		return call_blocks(x);
	if (p.time && !(user_get(&asked, p.time, sizeof(asked)) && pollhow_until(&h, &asked)))
		return call_blocks(x);
	if (x->nr == SYS_epoll_pwait)
		pollhow_ms(&h, (int)x->d);
	r = ready_now(x);
	if (r == -EFAULT) /* what cannot be written alone is an error after the wait */
		return call_blocks(x);
	if (r || (epoll && h.now)) /* poll and select look at signals even without a wait */
		return r;
	p.mask = waitmask();
	*mask = x->nr == SYS_pselect6 ? (long)&p : (long)p.mask;
	WAITMASK_REGION(h.mask);
	/* Of epoll_wait's family as in wait_epoll(): what waited and turns out to be ignored ends it, too. */
	if (waitmask_hit() || (epoll && self_thread.maskedtook))
		return -EINTR;
	return call_blocks(&y);
}
