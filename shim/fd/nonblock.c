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
 * Sending on message sockets is not parked for: a full queue of the receiver is no edge of the
 * sender.
 */
#include "runtime/netpoll.h"
#include "shim/fd/nonblock.h"

#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>

#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5 */
#endif
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

enum { WINDOW = 16 }; /* pieces of a vector that are tried again at once */

/* The kernel's MAX_RW_COUNT: what one call moves at most. */
#define MOST ((size_t)INT_MAX & ~(size_t)4095)

static size_t at_most(size_t n)
{
	return n < MOST ? n : MOST;
}

#define SET_CALL(op, nr_, b_, c_, d_, e_, f_)                                                      \
	((op)->nr = (nr_), (op)->b = (long)(b_), (op)->c = (long)(c_), (op)->d = (long)(d_),       \
	 (op)->e = (long)(e_), (op)->f = (long)(f_))

static size_t vector_size(const struct iovec *iov, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += iov[i].iov_len;
	return n;
}

/* Bytes of the op's vector, which the kernel has found good. */
static size_t size_of(const struct fdop *op)
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
	op->n = at_most(size_of(op));
	op->vector = op->n == 0;
	return op->vector && (plain || r < 0);
}

/* What a try's result means for the call: true: *r ends it. */
static bool counted(struct fdop *op, long *r)
{
	if (op->vector && no_bytes(op, *r))
		*r = FDWAIT_FALLBACK;
	if (*r < 0) {
		if (*r != -EAGAIN && op->done)
			*r = op->done;
		return true;
	}
	op->done += *r;
	if (op->all && *r > 0 && (size_t)op->done < op->n)
		return false;
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
	while (!counted(op, &r));
	return r;
}

/* Something that each message brings: then "it did not fit" says nothing of descriptors. */
static bool brings_more(int fd)
{
	static const int names[] = { SO_PASSCRED, SO_PASSSEC, SO_PASSPIDFD };
	int on = 0;
	socklen_t n = sizeof(on);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!direct5(SYS_getsockopt, fd, SOL_SOCKET, names[i], &on, &n) && on)
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
	} while (!counted(op, &r));
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
static long no_signal(const struct fdop *op)
{
	bool quiet = op->done || (op->started && on_local_stream(op));

	return quiet ? MSG_DONTWAIT | MSG_NOSIGNAL : MSG_DONTWAIT;
}

/*
 * A reader of a local stream that closes with bytes unread leaves ECONNRESET.  The kernel gives
 * that to a writer that sleeps for room.  A call that begins, as each try of weft's does, sees
 * EPIPE alone, and leaves the error for the next read.
 */
static long went(const struct fdop *op, int fd, long r)
{
	int err = 0;
	socklen_t n = sizeof(err);

	if (likely(r != -EPIPE) || !(op->done || op->started) || !on_local_stream(op) ||
	    direct5(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &n) || !err)
		return r;
	return -err;
}

static long try_send(struct fdop *op, int fd)
{
	long r;

	do {
		r = direct6(SYS_sendto, fd, op->b + op->done, op->n - (size_t)op->done,
			    op->d | no_signal(op), op->e, op->f);
		r = went(op, fd, r);
	} while (!counted(op, &r));
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

static long try_positionless(struct fdop *op, int fd, long nr)
{
	long r;

	do {
		struct iovec v = { (char *)op->b + op->done, op->n - (size_t)op->done };

		r = positionless(op, nr, fd, &v, 1);
	} while (!counted(op, &r));
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

/* ---- vectors --------------------------------------------------------------------------------- */

/* What is left of the op's vector after the bytes that are done, as far as it fits: pieces in w. */
static int rest(const struct fdop *op, const struct iovec *iov, size_t count, struct iovec w[WINDOW])
{
	size_t done = (size_t)op->done, left = op->n - done;
	int n = 0;

	for (; count && left && n < WINDOW; iov++, count--) {
		size_t len;

		if (done >= iov->iov_len) {
			done -= iov->iov_len;
			continue;
		}
		len = iov->iov_len - done < left ? iov->iov_len - done : left;
		w[n].iov_base = (char *)iov->iov_base + done;
		w[n++].iov_len = len;
		left -= len;
		done = 0;
	}
	return n;
}

/* Pieces, count for a pipe: the whole vector first, what is left of it later. */
static long try_vector(struct fdop *op, int fd, long nr)
{
	const struct iovec *iov = (const struct iovec *)op->b;
	struct iovec w[WINDOW];
	long r;

	do {
		long n = op->c;
		const struct iovec *v = iov;

		if (op->done) {
			n = rest(op, iov, (size_t)op->c, w);
			v = w;
		}
		r = positionless(op, nr, fd, v, n);
	} while (!counted(op, &r));
	return r;
}

static long try_readv(struct fdop *op, int fd)
{
	return try_vector(op, fd, SYS_preadv2);
}

static long try_writev(struct fdop *op, int fd)
{
	return try_vector(op, fd, SYS_pwritev2);
}

static long try_recvmsg(struct fdop *op, int fd)
{
	long r = direct3(SYS_recvmsg, fd, op->b, op->c | MSG_DONTWAIT);

	counted(op, &r);
	return r;
}

/* Address and control data went with the first bytes. */
static long try_sendmsg(struct fdop *op, int fd)
{
	const struct msghdr *msg = (const struct msghdr *)op->b;
	struct iovec w[WINDOW];
	long r;

	do {
		struct msghdr later = { .msg_iov = w };

		if (op->done)
			later.msg_iovlen = (size_t)rest(op, msg->msg_iov, msg->msg_iovlen, w);
		r = direct3(SYS_sendmsg, fd, op->done ? &later : msg, op->c | no_signal(op));
		r = went(op, fd, r);
	} while (!counted(op, &r));
	return r;
}

/*
 * A vector as a message, for readv and writev on sockets.  One without bytes is no empty message:
 * readv and writev return 0 and do not touch the socket.
 */
static long try_recv_vector(struct fdop *op, int fd)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)op->b, .msg_iovlen = (size_t)op->c };
	long r = direct3(SYS_recvmsg, fd, &msg, MSG_DONTWAIT);

	counted(op, &r);
	return r;
}

static long try_send_vector(struct fdop *op, int fd)
{
	struct iovec w[WINDOW];
	long r;

	do {
		struct msghdr msg = { .msg_iov = (struct iovec *)op->b,
				      .msg_iovlen = (size_t)op->c };

		if (op->done) {
			msg.msg_iovlen = (size_t)rest(op, msg.msg_iov, (size_t)op->c, w);
			msg.msg_iov = w;
		}
		r = went(op, fd, direct3(SYS_sendmsg, fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL));
		/* That remains so: once more, for the signal. */
		if (r == -EPIPE && (op->done || size_of(op)))
			r = direct3(SYS_sendmsg, fd, &msg, no_signal(op));
	} while (!counted(op, &r));
	return r;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static bool is_stream(enum fdkind kind)
{
	return kind == FDK_TCP || kind == FDK_STREAM;
}

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
static long run(struct fdop *op, long (*on_socket)(struct fdop *, int),
		long (*on_pipe)(struct fdop *, int))
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
	op->all |= op->dir == NETPOLL_OUT && (is_stream(kind) || kind == FDK_PIPE);
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
static bool parks_for_writing(struct fdslot *s, int fd)
{
	enum fdkind kind = s ? fdslot_kind(s, fd) : FDK_FILE;

	return is_stream(kind) || kind == FDK_PIPE || kind == FDK_ASKED;
}

/* The vector may be anywhere: the kernel has not seen it yet. */
static bool has_bytes(const struct iovec *iov, int count)
{
	struct iovec v = { NULL, 0 };

	while (count-- > 0 && v.iov_len == 0)
		if (!user_get(&v, iov++, sizeof(v)))
			return false;
	return v.iov_len != 0;
}

long fd_read(int fd, void *buf, size_t n)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN, .n = at_most(n), .hints = true };

	SET_CALL(&op, SYS_read, buf, n, 0, 0, 0);
	/* No bytes: a stream's answer is at once, and differs between the calls. */
	if ((ssize_t)n <= 0)
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	return run(&op, try_recv, try_read);
}

long fd_write(int fd, const void *buf, size_t n)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .n = at_most(n) };

	SET_CALL(&op, SYS_write, buf, n, 0, 0, 0);
	if ((ssize_t)n <= 0)
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	if (!parks_for_writing(op.s, fd))
		return fdwait_call(&op);
	return run(&op, try_send, try_write);
}

/* Without bytes it would take a message, or wait, all the same. */
static bool waits_without_bytes(enum fdkind kind)
{
	return kind == FDK_DGRAM || kind == FDK_SEQ || kind == FDK_ASKED || kind == FDK_EVENTS ||
	       kind == FDK_SIGNALS;
}

long fd_readv(int fd, const struct iovec *iov, int count)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN, .vector = true, .hints = true };
	struct fdslot *s = op.s = fdslot_of(fd);
	enum fdkind kind = s ? fdslot_kind(s, fd) : FDK_FILE;

	SET_CALL(&op, SYS_readv, iov, count, 0, 0, 0);
	if (count <= 0 || count > IOV_MAX)
		return fdwait_call(&op);
	if (waits_without_bytes(kind) && !has_bytes(iov, count))
		return fdwait_call(&op);
	return run(&op, try_recv_vector, try_readv);
}

long fd_writev(int fd, const struct iovec *iov, int count)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .vector = true };

	SET_CALL(&op, SYS_writev, iov, count, 0, 0, 0);
	if (count <= 0 || count > IOV_MAX)
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	if (!parks_for_writing(op.s, fd))
		return fdwait_call(&op);
	if (fdslot_kind(op.s, fd) == FDK_ASKED && !has_bytes(iov, count))
		return fdwait_call(&op);
	return run(&op, try_send_vector, try_writev);
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
	if (flags & MSG_WAITALL && s && is_stream(fdslot_kind(s, fd))) {
		if (flags & MSG_PEEK || from)
			return fdwait_call(&op);
		op.all = true;
	}
	return run(&op, op.all && fdslot_kindnow(s) == FDK_STREAM ? try_recv_all : try_recv, NULL);
}

/* One call, or a connection with it: the kernel keeps account of these. */
#define WHOLE_SEND (MSG_OOB | MSG_ZEROCOPY | MSG_FASTOPEN)

/* A message that cannot be sent at once waits in the kernel. */
static long send_message(struct fdop *op, long (*try)(struct fdop *, int))
{
	long r;

	runtime_checkyield();
	testcancel();
	r = try(op, op->fd);
	if (r == -EAGAIN)
		return fdwait_await(op);
	return r == FDWAIT_FALLBACK || r == -ENOSYS ? fdwait_call(op) : fdwait_tried(op, r);
}

static long sent(struct fdop *op, int flags, long (*try)(struct fdop *, int))
{
	struct fdslot *s = op->s = fdslot_of(op->fd);
	enum fdkind kind = s ? fdslot_kind(s, op->fd) : FDK_FILE;

	if (flags & WHOLE_SEND)
		return fdwait_call(op);
	if (kind == FDK_DGRAM || kind == FDK_SEQ)
		return send_message(op, try);
	return is_stream(kind) ? run(op, try, NULL) : fdwait_call(op);
}

long fd_send(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
	      socklen_t len)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .n = at_most(n) };

	SET_CALL(&op, SYS_sendto, buf, n, flags, to, len);
	return sent(&op, flags, try_send);
}

long fd_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN };
	struct fdslot *s = op.s = fdslot_of(fd);
	bool tcp = s && fdslot_kind(s, fd) == FDK_TCP;
	long r;

	op.vector = tcp; /* as with recv: are there bytes at all? */
	SET_CALL(&op, SYS_recvmsg, msg, flags, 0, 0, 0);
	if (flags & (MSG_ERRQUEUE | MSG_OOB | MSG_WAITALL))
		return fdwait_call(&op);
	r = run(&op, try_recvmsg, NULL);
	if (r == 0 && tcp && op.n == 0)
		testcancel(); /* as in nothing_of_tcp() */
	return r;
}

long fd_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .vector = true };

	SET_CALL(&op, SYS_sendmsg, msg, flags, 0, 0, 0);
	return sent(&op, flags, try_sendmsg);
}

static long try_recvmmsg(struct fdop *op, int fd)
{
	return direct5(SYS_recvmmsg, fd, op->b, op->c, op->d | MSG_DONTWAIT, NULL);
}

/*
 * Parked for when one message is enough.  More of them, and time, which counts from the call on,
 * are the kernel's, which has rules of its own for an error that comes between two.
 */
long fd_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags, struct timespec *timeout)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN };

	SET_CALL(&op, SYS_recvmmsg, msgs, n, flags, timeout, 0);
	if (n == 0 || (n > 1 && !(flags & MSG_WAITFORONE)) || timeout ||
	    flags & (MSG_ERRQUEUE | MSG_OOB | MSG_WAITALL))
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	return run(&op, try_recvmmsg, NULL);
}

/*
 * A try sent some of several messages: was it an error that stopped it, rather than a full buffer?
 * The kernel has forgotten the error by now and tells only how many were sent (Linux 6.18,
 * __sys_sendmmsg), as the call should.  A unix socket's errors are still there for the call that
 * sends the rest; its room is the receiver's, about which poll() does not ask when a message brings
 * its address.
 */
static bool stopped_by_error(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int domain = AF_UNSPEC;
	socklen_t n = sizeof(domain);

	if (direct5(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0 || domain == AF_UNIX)
		return false;
	return direct3(SYS_poll, &p, 1, 0) == 1 && p.revents & POLLOUT;
}

/*
 * Messages as many as there is room for, the rest in the kernel.  A try on a stream might cut one
 * in two.
 */
long fd_sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT };
	struct fdslot *s = op.s = fdslot_of(fd);
	enum fdkind kind = s ? fdslot_kind(s, fd) : FDK_FILE;
	long r, rest;

	SET_CALL(&op, SYS_sendmmsg, msgs, n, flags, 0, 0);
	if (kind != FDK_DGRAM && kind != FDK_SEQ)
		return fdwait_call(&op);
	runtime_checkyield();
	testcancel();
	r = direct4(SYS_sendmmsg, fd, msgs, n, flags | MSG_DONTWAIT);
	if (r == -EAGAIN)
		return fdwait_call(&op);
	if (r <= 0 || (unsigned long)r >= n || stopped_by_error(fd))
		return fdwait_tried(&op, r);
	op.b = (long)(msgs + r);
	op.c = (long)n - r;
	rest = fdwait_call(&op);
	return rest > 0 ? r + rest : r;
}

/* One that does not listen never becomes ready; accept says at once what is wrong with it. */
static bool listens(int fd)
{
	int on = 0;
	socklen_t n = sizeof(on);

	return direct5(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) == 0 && on;
}

long fd_accept(int fd, struct sockaddr *peer, socklen_t *len, int flags, bool with_flags)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN };
	struct fdslot *s = op.s = fdslot_of(fd);
	enum fdkind kind = s ? fdslot_kind(s, fd) : FDK_FILE;

	SET_CALL(&op, with_flags ? SYS_accept4 : SYS_accept, peer, len, flags, 0, 0);
	/* Flags that the kernel refuses are refused before a connection is there. */
	if ((!is_stream(kind) && kind != FDK_SEQ) ||
	    (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) || !listens(fd))
		return fdwait_call(&op);
	return fdwait_ask_and_call(&op);
}
