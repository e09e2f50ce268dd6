/*
 * streams: descriptors as the workloads use them: what shim/fd/fdwait.c and pollset.c do, without the calls.
 */
#include "tests/sim/workloads.h"

#include <errno.h>

#include "runtime/os/os.h"
#include "runtime/netpoll.h"
#include "runtime/running.h"
#include "runtime/runtime.h"

void stream_open(struct stream *s)
{
	*s = (struct stream){ .fd = fd_stream(), .dawdle = sim_random(4) ? (unsigned)some(0, 10) : 0,
			      .hints = sim_random(2) };
	s->oneway = !s->hints && sim_random(2);
}

/* Under weft_tls.locks: the file is held. */
static int try_and_park(struct stream *s, struct netwait *w, unsigned most, uint64_t deadline)
{
	int n = -EAGAIN;

	if (w->moved)
		netpoll_next(w);
	while (n == -EAGAIN) {
		if (!w->moved) {
			int r = netpoll_park(w, deadline, WaitIO);

			if (r < 0)
				return r;
		}
		w->moved = false;
		n = w->fd < 0 ? -EBADF : fd_read(w->fd, most);
	}
	if (n > 0)
		fetch_add_seqcst(&s->got, (unsigned)n);
	return n;
}

/*
 * The kernel takes the CPU away between the try that found nothing and the wait, for as long as the poller
 * takes to wake.
 */
static void dawdle(const struct stream *s)
{
	enum { PIECE = 3000 }; /* ns */

	for (uint64_t i = s->dawdle ? some(0, s->dawdle) : 0; i > 0; i--) {
		sim_charge(some(0, PIECE));
		sim_yield();
		sim_point(POINT_WORK, "has lost its CPU");
	}
}

/* What it left is nothing, unless the end has come (netpoll_look() asks for that). */
static bool is_short(const struct stream *s, int n, unsigned most)
{
	return s->hints && n > 0 && (unsigned)n < most;
}

/*
 * A try by the number, unless the last read has told that it would find nothing; then the file is held until a
 * try has found something.
 */
int stream_read(struct stream *s, unsigned most, uint64_t deadline)
{
	struct netwait w;
	bool empty = netpoll_look(&w, &s->slot, NETPOLL_IN) && s->hints;
	int n = empty ? -EAGAIN : fd_read(s->fd, most);

	w.oneway = s->oneway;
	if (n != -EAGAIN) {
		if (n > 0)
			fetch_add_seqcst(&s->got, (unsigned)n);
		if (w.pd && is_short(s, n, most))
			netpoll_note_empty(&w);
		return n;
	}
	dawdle(s);
	if (netpoll_hold(&w, s->fd, !empty) != NETPOLL_HELD) {
		/* no memory, no descriptor, or another file by now */
		gosched();
		return load_seqcst(&s->closed) ? -EBADF : -EAGAIN;
	}
	n = try_and_park(s, &w, most, deadline);
	netpoll_release(&w, is_short(s, n, most), false);
	return n;
}

/* As poll(2): until one of n streams has something; -ETIMEDOUT, -EINTR, or which. */
int stream_poll(struct stream *const *s, unsigned n, uint64_t deadline)
{
	struct polllink links[4];
	struct pollset set = { 0 };
	int r;

	for (unsigned i = 0; i < n; i++)
		links[i] = (struct polllink){ .slot = &s[i]->slot, .fd = s[i]->fd, .events = OS_POLLIN };
	while (!netpoll_holdset(&set, links, n))
		gosched();
	do {
		store_seqcst(&set.fired, 0); /* before the question */
		r = -EAGAIN;
		for (unsigned i = 0; i < n && r == -EAGAIN; i++)
			if (fd_readable(s[i]->fd))
				r = (int)i;
		if (r != -EAGAIN)
			break;
		r = netpoll_parkset(&set, deadline, WaitPoll);
	} while (r == 0);
	netpoll_releaseset(links, n);
	return r;
}

void stream_write(struct stream *s, unsigned n)
{
	s->sent += n;
	fd_write(fd_file(s->fd), n);
}

void stream_end(struct stream *s)
{
	fd_shut(fd_file(s->fd));
}

void stream_close(struct stream *s)
{
	store_seqcst(&s->closed, true);
	netpoll_closing(&s->slot, s->fd);
	os_close(s->fd);
	netpoll_closed(&s->slot);
}
