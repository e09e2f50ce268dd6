/*
 * fdwait: the one loop in which a G waits for a descriptor.
 *
 * Whether a call may wait is asked of fdflags.c.  How a wait ends when nothing is held any more is fdended.c's;
 * what writers at local streams need beside the poller is fdlocal.c's; calls that are made all the same are
 * fdcall.c's.
 *
 * Must never: act on a signal or a cancellation while holding.
 */
#include "shim/sync/eintr.h"
#include "shim/fd/fdwait.h"

#include <poll.h>

#include "shim/signal/waitmask.h"
#include "shim/sync/sync.h"

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

	op->sure = false;
	switch (op->plain ? MAY_PARK : fdslot_may_park(s, fd, op->dir, &timeout)) {
	case PARKS_FOR_SURE:
		op->sure = true;
		/* fall through */
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
	if (fdlocal_writes(op))
		fdlocal_restart_clock(op, w->fd);
	return FDWAIT_PARK;
}

/* Of a try that ended the call, or would have blocked: what it tells of what is left there. */
static bool took_all(const struct fdop *op, const struct netwait *w, long r)
{
	bool pipe = op->kind == FDK_PIPE;

	if (!op->hints || !w->pd)
		return false;
	if (pipe && (r == -EAGAIN || op->ends_short))
		netpoll_found_none(w);
	return op->ends_short || (pipe && r > 0 && netpoll_took(w, (uint64_t)r));
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
	r = fdwait_try(op, w->fd, op->attempt);
	self_thread.catches_sigpipe = false;
	if (r != -EAGAIN)
		return r;
	took_all(op, w, r);
	return waits_on(op, w);
}

/*
 * As the kernel, which looks once more when a signal wakes it: what was there before the signal comes first.  Pinned,
 * so no handler has run.  -EINTR: there is nothing, or a cancellation goes first.
 */
static long try_cut(struct fdop *op, struct netwait *w)
{
	long r;

	if (waitmask_hit() || cancel_due())
		return -EINTR;
	r = try_held(op, w);
	/* An error of the file is told once, and a SIGPIPE is noted by now: neither may be lost. */
	if (r <= FDWAIT_PARK || r == -EAGAIN || r == -EINTR || r == -EOPNOTSUPP)
		return -EINTR;
	op->cut = true;
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
	uint64_t again = 0; /* fdlocal_park()'s */
	long r = FDWAIT_PARK;

	if (!parks) {
		netpoll_next(w);
		r = try_held(op, w);
	}
	while (r == FDWAIT_PARK) {
		/*
		 * No handler runs from here on: we are pinned.  One that ran since the last try may have come after an
		 * event.  (In the region of a mask it ends the call whatever is ready: else the program sees no EINTR.)
		 */
		if (waitmask_hit() || eintr_ran(op->mark)) {
			if (!w->trying)
				netpoll_next(w);
			return try_cut(op, w);
		}
		waitmask_parks();
		r = fdlocal_writes(op) ? fdlocal_park(op, w, &again) : netpoll_park(w, op->deadline, WaitIO);
		if (r < 0 && (r != -ETIMEDOUT || op->late))
			return r == -EINTR ? try_cut(op, w) : r;
		op->late = r < 0;
		r = try_held(op, w);
	}
	return r;
}

static long run_held(struct fdop *op, struct netwait *w, bool parks)
{
	long r;

	if (!fdlocal_writes(op))
		return try_and_park(op, w, parks);
	fdlocal_begin();
	r = try_and_park(op, w, false);
	fdlocal_end();
	return r;
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

/* Before a try.  True: the last read has told that there is nothing, and this one waits *timeout. */
static bool look(struct fdop *op, struct netwait *w, uint64_t *timeout)
{
	bool read;

	op->gen = fdslot_gen(op->s);
	read = netpoll_look(w, &op->s->poll, op->dir);
	w->oneway = op->plain;
	return read && op->hints && fdslot_short_read_tells(op->s, op->fd, timeout);
}

void fdwait_look(struct fdop *op, struct netwait *before)
{
	uint64_t timeout;

	look(op, before, &timeout);
	op->looked = before;
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
		if (op->done)
			return op->done;
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
	kept = netpoll_release(w, took_all(op, w, r), keeps_untried(op, w, r));
	return fdwait_ended(op, r, kept);
}

/*
 * The call may take several steps.  They must all be on one file, so it is held from the first.  One that does not
 * wait is over with its first step: an event loop's sockets need not be watched, and each event of theirs would wake
 * the poller for nothing.  (That is asked only where the file is not watched yet: thereafter it is known to wait; and
 * once a file, for each answer that an event loop sends by sendmsg or writev would cost a system call more.  Where it
 * was so and is no more, the rest goes to the same file, or the call ends with what it has.)
 *
 * Rejected: to try all by the number first.  Between that step and the hold the number may become another file's: a
 * write that waits then ended with a part, which natively none does.
 */
static bool in_steps(const struct fdop *op)
{
	enum { SMALL = 4096 };

	if (!op->all || (op->dir == NETPOLL_OUT && !op->vector && op->n <= SMALL))
		return false;
	return load_relaxed(&op->s->poll.pd) || !fdslot_was_nonblocking(op->s, op->fd, op->dir);
}

/* Something is done, and the number is another file's by now, which must not get the rest. */
static bool is_cut_off(const struct fdop *op)
{
	return op->done && fdslot_gen(op->s) != op->gen;
}

/*
 * The file cannot be watched: a kernel thread waits between the tries, or makes the call if nothing
 * is done yet.
 */
static long run_without_poller(struct fdop *op)
{
	for (;;) {
		long r;

		if (is_cut_off(op))
			return op->done;
		if (unlikely(fdtable_tries_ended()))
			return op->done ? op->done : FDWAIT_FALLBACK;
		r = fdwait_try(op, op->fd, op->attempt);
		if (r != -EAGAIN)
			return r;
		r = wants_to_wait(op, NULL, op->fd);
		if (r != FDWAIT_PARK)
			return r;
		if (!op->done)
			return FDWAIT_FALLBACK;
		if (!fdcall_wait(op))
			return op->done;
	}
}

/* By the program's number; nothing is held, so handlers (SIGPIPE) run as in any system call. */
static long try_number(struct fdop *op, const struct netwait *w)
{
	bool empty;
	long r;

	op->once = true; /* the next step is on the file that is held */
	r = fdwait_try(op, op->fd, op->attempt);
	op->once = false;
	empty = took_all(op, w, r);
	if (r == -EAGAIN)
		return wants_to_wait(op, w, op->fd);
	if (empty)
		netpoll_note_empty(w);
	return r;
}

static long run_op(struct fdop *op)
{
	bool steps = in_steps(op);
	struct netwait w;
	uint64_t timeout;
	bool empty = false;

	if (op->looked)
		w = *op->looked;
	else
		empty = look(op, &w, &timeout);
	for (;;) {
		bool parks = !steps && !op->done;
		bool tries = parks && !empty && !op->looked;
		long r;

		if (empty)
			start_clock(op, timeout);
		if (tries) {
			r = try_number(op, &w);
			if (r != FDWAIT_PARK)
				return r;
		}
		r = hold_and_run(op, &w, parks, tries && !op->plain && !op->sure);
		/* The file is not held, and the call itself keeps to it for all its steps. */
		if (r == FDWAIT_FALLBACK)
			return steps && !op->done ? FDWAIT_FALLBACK : run_without_poller(op);
		if (r != FDWAIT_AGAIN)
			return r;
		if (!op->done)
			op->kind = fdslot_kind(op->s, op->fd); /* the number may name another file by now */
		op->looked = NULL;
		if (!steps && !op->done)
			empty = look(op, &w, &timeout);
	}
}

long fdwait_run(struct fdop *op)
{
	runtime_checkyield();
	testcancel_inline();
	if (runtime_waits_itself())
		return FDWAIT_FALLBACK;
	if (!op->mark)
		op->mark = eintr_mark();
	return fdwait_tried(op, run_op(op));
}
