/*
 * nonblock: how each kind of call is tried without blocking, and when a try is not the whole call.
 *
 *	socket		recvfrom, sendto, recvmsg, sendmsg, recvmmsg, sendmmsg with MSG_DONTWAIT
 *	pipe, eventfd	preadv2, pwritev2 with RWF_NOWAIT
 *	named pipe, accept, signalfd, inotify, the master of a pseudo-terminal
 *			ask with poll, then the call itself on a kernel thread
 *	terminal	waited for in the call: job control and VMIN are the kernel's
 *	the rest	the call itself on a kernel thread
 *
 * A blocking write to a stream returns when all bytes are queued, so a try that moved some is
 * followed by others; an error or a handler after the first bytes ends the call with their count,
 * as in the kernel.  A write of up to PIPE_BUF bytes to a pipe is whole or EAGAIN, as a try too.  A
 * message is never split.
 *
 * Here are the calls with one piece of memory; nonblock_vector.c and nonblock_many.c have the others.
 *
 * Sending on message sockets is not parked for: a full queue of the receiver is no edge of the
 * sender.
 */
#include "shim/fd/nonblock.h"
#include "shim/fd/nonblock_try.h"

#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>

#include "shim/sync/sync.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5 */
#endif
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

static size_t vector_size(const struct iovec *iov, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += iov[i].iov_len;
	return n;
}

/* Bytes of the op's vector, which the kernel has found good. */
size_t nonblock_size_of(const struct fdop *op)
{
	const struct msghdr *msg = (const struct msghdr *)op->b;

	if (op->nr == SYS_sendmsg || op->nr == SYS_recvmsg)
		return vector_size(msg->msg_iov, msg->msg_iovlen);
	return vector_size((const struct iovec *)op->b, (size_t)op->c);
}

/*
 * No bytes: readv and writev are 0 whatever the file is like, so its word of it does not count;
 * with messages the kernel does not wait, or not for bytes.  EFAULT: the kernel could not read the
 * vector, nor can we.
 */
static bool no_bytes(struct fdop *op, long r)
{
	bool plain = op->nr == SYS_readv || op->nr == SYS_writev;

	if (plain ? r == -EFAULT : r < 0 && r != -EAGAIN)
		return false;
	op->n = at_most(nonblock_size_of(op));
	op->vector = op->n == 0;
	return op->vector && (plain || r < 0);
}

/* What a try's result means for the call: true: *r ends it. */
bool nonblock_counted(struct fdop *op, long *r)
{
	if (op->vector && no_bytes(op, *r))
		*r = FDWAIT_FALLBACK;
	if (*r < 0) {
		if (*r != -EAGAIN && op->done)
			*r = op->done;
		return true;
	}
	op->done += *r;
	if (*r > 0)
		fdpeer_tell(op->peer, *r);
	if (op->all && *r > 0 && (size_t)op->done < op->n) {
		if (op->once)
			*r = -EAGAIN;
		return op->once;
	}
	op->ends_short = op->done > 0 && (size_t)op->done < op->n;
	*r = op->done;
	return true;
}

/* ---- one piece ------------------------------------------------------------------------------- */

static long try_recv(struct fdop *op, int fd)
{
	long r;

	do
		r = direct6(SYS_recvfrom, fd, op->b + op->done, op->n - (size_t)op->done,
			    op->d | MSG_DONTWAIT, op->e, op->f);
	while (!nonblock_counted(op, &r));
	return r;
}

/* Something that each message brings: then "it did not fit" says nothing of descriptors. */
static bool brings_more(int fd)
{
	static const int names[] = { SO_PASSCRED, SO_PASSSEC, SO_PASSPIDFD };
	int on = 0;
	socklen_t n = sizeof(on);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!fdask5(SYS_getsockopt, fd, SOL_SOCKET, names[i], &on, &n) && on)
			return true;
	return false;
}

/*
 * MSG_WAITALL on a local stream: the call ends behind bytes that came with descriptors.  There is
 * no room for these, and they are dropped as by recv(); that they were there is said.
 */
static long try_recv_all(struct fdop *op, int fd)
{
	long r;

	do {
		struct iovec v = { (char *)op->b + op->done, op->n - (size_t)op->done };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

		r = direct3(SYS_recvmsg, fd, &m, op->d | MSG_DONTWAIT);
		if (r > 0 && m.msg_flags & MSG_CTRUNC && !brings_more(fd))
			op->all = false;
	} while (!nonblock_counted(op, &r));
	return r;
}

static bool on_local_stream(const struct fdop *op)
{
	return fdslot_kindnow(op->s) == FDK_STREAM;
}

/*
 * The reader may go while we wait: after the first bytes that is no signal, and on a local socket
 * never.
 */
long nonblock_no_signal(const struct fdop *op)
{
	bool quiet = op->done || (op->started && on_local_stream(op));

	return quiet ? MSG_DONTWAIT | MSG_NOSIGNAL : MSG_DONTWAIT;
}

/*
 * A reader of a local stream that closes with bytes unread leaves ECONNRESET.  The kernel gives
 * that to a writer that sleeps for room.  A call that begins, as each try of weft's does, sees
 * EPIPE alone, and leaves the error for the next read.
 */
long nonblock_went(const struct fdop *op, int fd, long r)
{
	int err = 0;
	socklen_t n = sizeof(err);

	if (likely(r != -EPIPE) || !(op->done || op->started) || !on_local_stream(op) ||
	    fdask5(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &n) || !err)
		return r;
	return -err;
}

static long try_send(struct fdop *op, int fd)
{
	long r;

	do {
		r = direct6(SYS_sendto, fd, op->b + op->done, op->n - (size_t)op->done,
			    op->d | nonblock_no_signal(op), op->e, op->f);
		r = nonblock_went(op, fd, r);
	} while (!nonblock_counted(op, &r));
	return r;
}

/*
 * The call on a pipe begins with the pipe's lock, and splice() sleeps with that in hand: then a
 * try sleeps, too, and the P goes to others meanwhile.
 */
static __attribute__((noinline)) long on_pipe_lock(long nr, int fd, const struct iovec *v, long n)
{
	return runtime_others_wait() ? await_nocp(nr, fd, (long)v, n, -1, -1, RWF_NOWAIT)
				     : block_nocp(nr, fd, (long)v, n, -1, -1, RWF_NOWAIT);
}

/*
 * A kernel, or a filter, that knows no such call: the same answer as for a file that cannot be
 * tried.
 */
static inline __attribute__((always_inline)) long positionless(const struct fdop *op, long nr, int fd,
							       const struct iovec *v, long n)
{
	long r = runtime_missing(nr, fd, 0, 0);

	if (likely(!r))
		r = fdslot_is_spliced(op->s) ? on_pipe_lock(nr, fd, v, n)
					    : direct6(nr, fd, v, n, -1, -1, RWF_NOWAIT);
	return unlikely(r == -ENOSYS || r == -EPERM) ? -EOPNOTSUPP : r;
}

long nonblock_positionless(const struct fdop *op, long nr, int fd, const struct iovec *v, long n)
{
	return positionless(op, nr, fd, v, n);
}

static long try_positionless(struct fdop *op, int fd, long nr)
{
	long r;

	do {
		struct iovec v = { (char *)op->b + op->done, op->n - (size_t)op->done };

		r = positionless(op, nr, fd, &v, 1);
	} while (!nonblock_counted(op, &r));
	return r;
}

static long try_read(struct fdop *op, int fd)
{
	return try_positionless(op, fd, SYS_preadv2);
}

static long try_write(struct fdop *op, int fd)
{
	return try_positionless(op, fd, SYS_pwritev2);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static long terminal(const struct fdop *op)
{
	struct pollfd p = { .fd = op->fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };

	return direct3(SYS_poll, &p, 1, 0) == 0 ? fdwait_await(op) : fdwait_call(op);
}

/*
 * Runs the op, whose slot the caller has found, with the tries of its kind; NULL: cannot be tried.
 * What turns out to be another kind of file than the slot says, or a pipe that cannot be tried (a
 * named one; older kernels), is looked at once more.
 */
long nonblock_run(struct fdop *op, nonblock_try *on_socket, nonblock_try *on_pipe)
{
	struct fdslot *s = op->s;
	enum fdkind kind = s ? fdslot_kind(s, op->fd) : FDK_FILE;
	long r;

	op->kind = kind;
	op->attempt = kind == FDK_PIPE || kind == FDK_COUNTER ? on_pipe : on_socket;
	switch (kind) {
	case FDK_NEW:
	case FDK_FILE:
	case FDK_WATCHED:
	case FDK_EPOLL:
		return fdwait_call(op);
	case FDK_TERMINAL:
		return terminal(op);
	case FDK_SIGNALS:
		if (op->n < sizeof(struct signalfd_siginfo) && !op->vector)
			return fdwait_call(op);
		/* fall through */
	case FDK_ASKED:
	case FDK_EVENTS:
		return on_pipe ? fdwait_ask_and_call(op) : fdwait_call(op);
	default:
		if (!op->attempt)
			return fdwait_call(op);
	}
	if (op->dir == NETPOLL_OUT)
		op->peer = load_relaxed(&s->peer);
	op->all |= op->dir == NETPOLL_OUT && (nonblock_is_stream(kind) || kind == FDK_PIPE);
	r = fdwait_run(op);
	switch (r) {
	case -EOPNOTSUPP:
		if (op->attempt != on_pipe)
			return r;
		fdslot_setkind(s, FDK_ASKED);
		return fdwait_ask_and_call(op);
	case -ENOTSOCK:
		fdtable_made(op->fd, 0);
		return fdwait_call(op);
	case -ENOSYS: /* the try is not the call: a filter may refuse the one and allow the other */
	case -EPERM:
	case FDWAIT_FALLBACK:
		return fdwait_call(op);
	}
	return r;
}

/*
 * Writes to counters and to sockets of packets, and message sockets that are full: on a kernel
 * thread.
 */
bool nonblock_parks_for_writing(struct fdslot *s, int fd)
{
	enum fdkind kind = s ? fdslot_kind(s, fd) : FDK_FILE;

	return nonblock_is_stream(kind) || kind == FDK_PIPE || kind == FDK_ASKED;
}

long fd_read(int fd, void *buf, size_t n)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN, .n = at_most(n), .hints = true };

	SET_CALL(&op, SYS_read, buf, n, 0, 0, 0);
	/* No bytes: a stream's answer is at once, and differs between the calls. */
	if ((ssize_t)n <= 0)
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	return nonblock_run(&op, try_recv, try_read);
}

long fd_write(int fd, const void *buf, size_t n)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .n = at_most(n) };

	SET_CALL(&op, SYS_write, buf, n, 0, 0, 0);
	if ((ssize_t)n <= 0)
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	if (!nonblock_parks_for_writing(op.s, fd))
		return fdpeer_wrote(op.s, fdwait_call(&op));
	return nonblock_run(&op, try_send, try_write);
}

/*
 * No bytes of TCP: the kernel sleeps once, and whatever ends the sleep makes it 0, also the signal
 * of a cancellation: nothing was taken, so that is acted on.
 */
static long nothing_of_tcp(struct fdop *op)
{
	long r = fdwait_call(op);

	if (r == 0)
		testcancel();
	return r;
}

long fd_recv(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN, .n = at_most(n), .hints = flags == 0 };
	struct fdslot *s = op.s = fdslot_of(fd);

	SET_CALL(&op, SYS_recvfrom, buf, n, flags, from, len);
	if (flags & (MSG_ERRQUEUE | MSG_OOB))
		return fdwait_call(&op);
	if (n == 0 && s && fdslot_kind(s, fd) == FDK_TCP)
		return nothing_of_tcp(&op);
	if (flags & MSG_WAITALL && s && nonblock_is_stream(fdslot_kind(s, fd))) {
		if (flags & MSG_PEEK || from)
			return fdwait_call(&op);
		op.all = true;
	}
	return nonblock_run(&op, op.all && fdslot_kindnow(s) == FDK_STREAM ? try_recv_all : try_recv, NULL);
}

/* One call, or a connection with it: the kernel keeps account of these. */
#define WHOLE_SEND (MSG_OOB | MSG_ZEROCOPY | MSG_FASTOPEN)

/* A message that cannot be sent at once waits in the kernel. */
static long send_message(struct fdop *op, nonblock_try *try)
{
	long r;

	runtime_checkyield();
	testcancel();
	op->peer = load_relaxed(&op->s->peer);
	r = fdwait_try(op, op->fd, try);
	if (r == -EAGAIN)
		return fdpeer_wrote(op->s, fdwait_await(op));
	return r == FDWAIT_FALLBACK || r == -ENOSYS ? fdwait_call(op) : fdwait_tried(op, r);
}

long nonblock_sent(struct fdop *op, int flags, nonblock_try *try)
{
	struct fdslot *s = op->s = fdslot_of(op->fd);
	enum fdkind kind = s ? fdslot_kind(s, op->fd) : FDK_FILE;

	if (flags & WHOLE_SEND)
		return fdwait_call(op);
	if (kind == FDK_DGRAM || kind == FDK_SEQ)
		return send_message(op, try);
	return nonblock_is_stream(kind) ? nonblock_run(op, try, NULL) : fdwait_call(op);
}

long fd_send(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
	      socklen_t len)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .n = at_most(n) };

	SET_CALL(&op, SYS_sendto, buf, n, flags, to, len);
	return nonblock_sent(&op, flags, try_send);
}
