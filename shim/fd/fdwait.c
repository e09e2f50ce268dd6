/*
 * fdwait: the one loop in which a G waits for a descriptor.
 *
 * What a number is, and whether a call on it may wait, are fdtable.c's questions.
 *
 * Must never: act on a signal or a cancellation while holding.
 */
#include "shim/fd/fdwait.h"

#include <poll.h>

#include "runtime/sched/policy.h"
#include "shim/signal/waitmask.h"
#include "shim/fd/fdevents.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"

/*
 * seq_cst with the stream's end: a writer counts itself, then asks; fdwait_shutdown() the other way
 */
static _Atomic uint32_t nlocal; /* writers at local streams that are about to park, or do */

static void retry_local(struct fdslot *s, int fd)
{
	if (fdslot_kindnow(s) == FDK_STREAM)
		netpoll_changed(&s->poll, fd, NETPOLL_RETRY_OUT);
}

void fdwait_shutdown(void)
{
	if (load_seqcst(&nlocal))
		fdtable_each(retry_local);
}

void fdwait_fork_child(void)
{
	store_relaxed(&nlocal, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool writes_locally(const struct fdop *op)
{
	return op->dir == NETPOLL_OUT && op->kind == FDK_STREAM;
}

static void start_clock(struct fdop *op, uint64_t ns)
{
	if (op->started)
		return;
	op->started = true;
	op->timed = ns != 0;
	op->timeout = ns;
	op->moved = op->done;
	if (ns)
		op->deadline = nanotime() + ns;
}

/*
 * A local stream waits for each buffer of a write as long as it may wait in all for the first: the
 * time begins anew.
 */
static void restart_clock(struct fdop *op, int fd)
{
	int domain = AF_UNSPEC;
	socklen_t n = sizeof(domain);

	if (!op->timeout || op->moved == op->done || !writes_locally(op) ||
	    direct5(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) || domain != AF_UNIX)
		return;
	op->moved = op->done;
	op->deadline = nanotime() + op->timeout;
	op->late = false;
}

/*
 * Nothing comes any more at a datagram socket that is shut down for reading.  A receive that may
 * block returns 0 there, but one with MSG_DONTWAIT, such as our tries, says that it would block,
 * for ever.  The end is an event: where events are told and there was none, there is nothing to
 * ask.
 */
static bool receives_no_more(const struct fdop *op, const struct netwait *w, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	long r;

	if (op->plain || op->dir != NETPOLL_IN || op->kind != FDK_DGRAM ||
	    (w && !netpoll_may_have_ended(w)))
		return false;
	do
		r = direct3(SYS_poll, &p, 1, 0);
	while (r == -EINTR);
	return r > 0 && (p.revents & POLLRDHUP);
}

/*
 * After a try on fd that would have blocked: FDWAIT_PARK, or the end of the call.  fd is the program's
 * number, or one of weft's for the held file.  w NULL: the file is not watched.
 */
static long wants_to_wait(struct fdop *op, const struct netwait *w, int fd)
{
	uint64_t timeout = 0;
	struct fdslot *s = fd == op->fd ? op->s : NULL;

	switch (op->plain ? MAY_PARK : fdslot_may_park(s, fd, op->dir, &timeout)) {
	case MAY_PARK:
		start_clock(op, timeout);
		if (!receives_no_more(op, w, fd))
			return FDWAIT_PARK;
		break; /* the call itself will not block */
	case NONBLOCKING:
		return op->done ? op->done : -EAGAIN;
	case OTHER_FILE:
		fdslot_setkind(op->s, FDK_NEW);
		break;
	case NOT_OPEN_FOR_IT:
		break;
	}
	return op->done ? op->done : FDWAIT_FALLBACK;
}

/* The same once it waits.  A flag that changes meanwhile is the next call's, but for a pipe. */
static long waits_on(struct fdop *op, const struct netwait *w)
{
	if (!op->started)
		return wants_to_wait(op, w, w->fd);
	if (receives_no_more(op, w, w->fd))
		return w->fd == op->fd ? FDWAIT_FALLBACK : FDWAIT_KEPT;
	if (!op->plain && fdslot_stops_waiting(op->s, w->fd, op->dir))
		return op->done ? op->done : -EAGAIN;
	restart_clock(op, w->fd);
	return FDWAIT_PARK;
}

/*
 * 0: an edge; 1: try again all the same; else -errno.  A writer at a full local socket is not told
 * when its half is shut down, by either side: the kernel wakes a thread that sleeps in the call,
 * but poll() does not report it, so neither epoll nor SIGIO nor io_uring does.  fdwait_shutdown() tells
 * of what this process shuts down.  For other processes the writer looks again, ever more rarely:
 * an idle process is to be silent.
 */
static long park_for(struct fdop *op, struct netwait *w, uint64_t *again)
{
	uint64_t until = op->deadline, soon;
	long r;

	if (!writes_locally(op))
		return netpoll_park(w, until, WaitIO);
	soon = nanotime() + *again;
	*again *= LOCAL_RETRY_RARER;
	if (until && until <= soon)
		return netpoll_park(w, until, WaitIO);
	r = netpoll_park(w, soon, WaitIO);
	return r == -ETIMEDOUT ? 1 : r;
}

/* A try on the number that the held file has now.  FDWAIT_PARK: nothing, and it waits. */
static long try_held(struct fdop *op, struct netwait *w)
{
	long r;

	if (unlikely(fdtable_tries_ended()))
		return op->done ? op->done : FDWAIT_FALLBACK;
	/*
	 * The trampoline notes a SIGPIPE (got_sigpipe): no handler may run here, and the signal is for
	 * this thread alone.
	 */
	self_thread.catches_sigpipe = true;
	r = op->attempt(op, w->fd);
	self_thread.catches_sigpipe = false;
	if (r == -EAGAIN)
		r = waits_on(op, w);
	if (r == FDWAIT_PARK)
		w->woken = false;
	return r;
}

/*
 * Tries and parks until it is over.  parks: a try would block.  The file is the same throughout,
 * whatever becomes of its number.
 *
 * When the time is over the call is tried once more, as the kernel looks once more: a local stream
 * has room for a buffer long before it tells of room, which it does at a quarter full.
 */
static long try_and_park(struct fdop *op, struct netwait *w, bool parks)
{
	uint64_t again = LOCAL_RETRY_NS;
	long r = FDWAIT_PARK;

	if (!parks) {
		netpoll_next(w);
		r = try_held(op, w);
	}
	while (r == FDWAIT_PARK) {
		if (waitmask_hit()) /* no handler runs from here on: we are pinned */
			return -EINTR;
		waitmask_parks();
		r = park_for(op, w, &again);
		if (r < 0 && (r != -ETIMEDOUT || op->late))
			return r;
		op->late = r < 0;
		r = try_held(op, w);
	}
	return r;
}

static long run_held(struct fdop *op, struct netwait *w, bool parks)
{
	long r;

	if (!writes_locally(op))
		return try_and_park(op, w, parks);
	/* Before a try: pairs with fdwait_shutdown(), which comes after a shutdown and reads it. */
	fetch_add_seqcst(&nlocal, 1);
	r = try_and_park(op, w, false);
	fetch_sub_seqcst(&nlocal, 1);
	return r;
}

/* Called with nothing held.  True: the call ends with *r. */
static bool interrupted(struct fdop *op, long *r)
{
	enum eintr what = eintr_deliver();

	if (op->done) {
		/*
		 * The count of bytes moved must be returned, so a cancellation waits for the next
		 * cancellation point.
		 */
		*r = op->done;
		return what != INTR_NONE || cancel_due();
	}
	cancel_point();
	*r = -EINTR;
	return what == INTR_ENDS || (what == INTR_RESTARTS && op->timed) || waitmask_hit();
}

static void kept_close(const int *kept)
{
	direct3(SYS_close, *kept, 0, 0);
}

/* The call itself, on a duplicate of its file, which it closes, however it is left. */
static long call_kept(const struct fdop *op, int fd)
{
	int kept __attribute__((cleanup(kept_close))) = fd;
	struct fdop other = *op;

	other.fd = kept;
	return fdwait_call(&other);
}

/*
 * The held file cannot be tried any more (splice() does that to a pipe), or nothing will come there (the call
 * itself then says all there is to say), and its number has been closed meanwhile: the call needs a duplicate.
 */
static bool keeps_untried(const struct fdop *op, const struct netwait *w, long r)
{
	return unlikely(r == -EOPNOTSUPP || r == FDWAIT_KEPT) && !op->done && w->trying && w->fd >= 0 &&
	       w->fd != op->fd;
}

/* How a wait on a held file ended, and nothing is held any more. */
static long ended(struct fdop *op, long r, int kept)
{
	if (unlikely(self_thread.got_sigpipe)) {
		self_thread.got_sigpipe = false;
		thread_kill(&self_thread, SIGPIPE, NULL);
	}
	if (unlikely(kept >= 0))
		return call_kept(op, kept);
	if (unlikely(r == FDWAIT_KEPT))
		return op->done; /* no number to be had */
	if (r == -EINTR)
		return interrupted(op, &r) ? r : FDWAIT_AGAIN;
	if (r == -ETIMEDOUT)
		return op->done ? op->done : -EAGAIN;
	return r;
}

/* Before a try.  True: the last read has told that there is nothing, and this one waits *timeout. */
static bool look(struct fdop *op, struct netwait *w, uint64_t *timeout)
{
	op->gen = fdslot_gen(op->s);
	return netpoll_look(w, &op->s->poll, op->dir) && op->hints &&
	       fdslot_short_read_tells(op->s, op->fd, timeout);
}

/* parks: what came before says that a try would block; tried: that was a try. */
static long hold_and_run(struct fdop *op, struct netwait *w, bool parks, bool tried)
{
	bool other;
	int kept;
	long r;

	switch (netpoll_hold(w, op->fd, tried)) {
	case NETPOLL_OTHER:
		fdslot_setkind(op->s, FDK_NEW);
		/* fall through */
	case NETPOLL_NONE:
		return FDWAIT_FALLBACK;
	case NETPOLL_HELD:
		break;
	}
	other = fdslot_gen(op->s) != op->gen;
	if (other && !op->done)
		op->kind = fdslot_kind(op->s, op->fd);
	if (op->done && other)
		r = op->done; /* the rest must not go to another file */
	else if (unlikely(fdtable_tries_ended())) /* since the try: after this, fdtable_tries_end() finds the caller */
		r = op->done ? op->done : FDWAIT_FALLBACK;
	else if (parks && (other || w->moved))
		r = FDWAIT_AGAIN; /* closed and made anew meanwhile */
	else
		/*
		 * Registered after the try: all it has seen came later, or is told by the
		 * registering.
		 */
		r = run_held(op, w, parks);
	kept = netpoll_release(w, op->hints && op->ends_short, keeps_untried(op, w, r));
	return ended(op, r, kept);
}

/* Where the poller cannot help and half is done: waits on a kernel thread for room or bytes. */
static bool wait_in_kernel(const struct fdop *op)
{
	struct pollfd p = { .fd = op->fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };

	call_timed(SYS_poll);
	return await_nocp(SYS_poll, (long)&p, 1, -1, 0, 0, 0) >= 0;
}

/*
 * The call may take several steps.  They must all be on one file, so it is held from the first.
 */
static bool in_steps(const struct fdop *op)
{
	enum { SMALL = 4096 };

	return op->all && (op->dir == NETPOLL_IN || op->vector || op->n > SMALL);
}

/*
 * The file cannot be watched: a kernel thread waits between the tries, or makes the call if nothing
 * is done yet.
 */
static long run_without_poller(struct fdop *op)
{
	for (;;) {
		long r;

		if (unlikely(fdtable_tries_ended()))
			return op->done ? op->done : FDWAIT_FALLBACK;
		r = op->attempt(op, op->fd);
		if (r != -EAGAIN)
			return r;
		r = wants_to_wait(op, NULL, op->fd);
		if (r != FDWAIT_PARK)
			return r;
		if (!op->done)
			return FDWAIT_FALLBACK;
		if (!wait_in_kernel(op))
			return op->done;
	}
}

/*
 * A blocked SIGPIPE is pending on the kernel thread, which will run other Gs: it is taken off and
 * sent to the calling thread.
 */
static long claim_sigpipe(struct fdop *op, long r)
{
	struct timespec none = { 0, 0 };
	uint64_t set = SIGBIT(SIGPIPE);

	if (r == -EPIPE && op->dir == NETPOLL_OUT && (sigmask_of(getg()) & set) &&
	    own4(SYS_rt_sigtimedwait, &set, NULL, &none, sizeof(set)) == SIGPIPE)
		thread_kill(&self_thread, SIGPIPE, NULL);
	return r;
}

/* By the program's number; nothing is held, so handlers (SIGPIPE) run as in any system call. */
static long try_number(struct fdop *op, const struct netwait *w)
{
	long r = op->attempt(op, op->fd);

	if (r == -EAGAIN)
		return wants_to_wait(op, w, op->fd);
	if (w->pd && op->hints && op->ends_short)
		netpoll_note_empty(w);
	return r;
}

static long run_op(struct fdop *op)
{
	bool steps = in_steps(op);
	struct netwait w;
	uint64_t timeout;
	bool empty = look(op, &w, &timeout);

	for (;;) {
		bool tries = !steps && !op->done && !empty;
		long r;

		if (empty)
			start_clock(op, timeout);
		if (tries) {
			r = try_number(op, &w);
			if (r != FDWAIT_PARK)
				return r;
		}
		r = hold_and_run(op, &w, !steps && !op->done, tries && !op->plain);
		if (r == FDWAIT_FALLBACK)
			return run_without_poller(op);
		if (r != FDWAIT_AGAIN)
			return r;
		if (!op->done)
			op->kind = fdslot_kind(op->s, op->fd); /* the number may name another file by now */
		if (!steps && !op->done)
			empty = look(op, &w, &timeout);
	}
}

/*
 * It failed and did nothing: a cancellation that came between the look and the try goes first.
 * What failed it (the other end of a pipe was closed, say) may have come after that, as in glibc's
 * tst-cancel2.  But first claim_sigpipe() takes a pending SIGPIPE off this kernel thread: a cancelled
 * thread does not return here, and the next G on the M would receive the signal.
 */
long fdwait_tried(struct fdop *op, long r)
{
	r = claim_sigpipe(op, r);
	if (r < 0)
		testcancel();
	return r;
}

long fdwait_run(struct fdop *op)
{
	runtime_checkyield();
	testcancel_inline();
	if (runtime_waits_itself())
		return FDWAIT_FALLBACK;
	return fdwait_tried(op, run_op(op));
}

/* ---- calls that cannot be tried -------------------------------------------------------------- */

long fdwait_call(const struct fdop *op)
{
	return block6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

long fdwait_await(const struct fdop *op)
{
	return await6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

static long ask(struct fdop *op, int fd)
{
	struct pollfd p = { .fd = fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };
	long r;

	/*
	 * Even without time it may say EINTR; taken for "not ready", the edge that was would be
	 * missed.
	 */
	do
		r = direct3(SYS_poll, &p, 1, 0);
	while (r == -EINTR);
	if (r == 0)
		return -EAGAIN;
	if (fd == op->fd) {
		op->ready = true;
		return 0;
	}
	/*
	 * Its number was closed while we waited, and ours lasts until we release it.  Somebody else may be
	 * faster, and while the call then waits handlers must run: it has a number of its own.
	 */
	op->own = (int)direct3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
	return op->own < 0 ? op->own : 0;
}

static void close_own(const int *fd)
{
	direct3(SYS_close, *fd, 0, 0);
}

/* (A handler that jumps out leaves the number behind.) */
static long call_by_own(const struct fdop *op)
{
	int fd __attribute__((cleanup(close_own))) = op->own;

	return block6(op->nr, fd, op->b, op->c, op->d, op->e, op->f);
}

long fdwait_ask_and_call(struct fdop *op)
{
	long r;

	op->attempt = ask;
	op->own = -1;
	r = fdwait_run(op);
	if (unlikely(op->own >= 0))
		return call_by_own(op);
	/* Another thread may be faster now: then this call waits on its kernel thread. */
	return op->ready || r == FDWAIT_FALLBACK ? fdwait_call(op) : r;
}
