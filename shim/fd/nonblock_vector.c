/*
 * nonblock_vector: readv, writev, recvmsg and sendmsg, tried without blocking.
 *
 * What a try left of a vector is tried again as a vector of its own, a few pieces at a time.
 *
 * Must never: read the program's vector before the kernel has found it good, but by user_get().
 */
#include "shim/fd/nonblock.h"
#include "shim/fd/nonblock_try.h"

#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

enum { WINDOW = 16 }; /* pieces of a vector that are tried again at once */

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
		r = nonblock_positionless(op, nr, fd, v, n);
	} while (!nonblock_counted(op, &r));
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

	nonblock_counted(op, &r);
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
		r = direct3(SYS_sendmsg, fd, op->done ? &later : msg, op->c | nonblock_no_signal(op));
		r = nonblock_went(op, fd, r);
	} while (!nonblock_counted(op, &r));
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

	nonblock_counted(op, &r);
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
		r = nonblock_went(op, fd, direct3(SYS_sendmsg, fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL));
		/* That remains so: once more, for the signal. */
		if (r == -EPIPE && (op->done || nonblock_size_of(op)))
			r = direct3(SYS_sendmsg, fd, &msg, nonblock_no_signal(op));
	} while (!nonblock_counted(op, &r));
	return r;
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* The vector may be anywhere: the kernel has not seen it yet. */
static bool has_bytes(const struct iovec *iov, int count)
{
	struct iovec v = { NULL, 0 };

	while (count-- > 0 && v.iov_len == 0)
		if (!user_get(&v, iov++, sizeof(v)))
			return false;
	return v.iov_len != 0;
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
	return nonblock_run(&op, try_recv_vector, try_readv);
}

long fd_writev(int fd, const struct iovec *iov, int count)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .vector = true };

	SET_CALL(&op, SYS_writev, iov, count, 0, 0, 0);
	if (count <= 0 || count > IOV_MAX)
		return fdwait_call(&op);
	op.s = fdslot_of(fd);
	if (!nonblock_parks_for_writing(op.s, fd))
		return fdpeer_wrote(op.s, fdwait_call(&op));
	if (fdslot_kind(op.s, fd) == FDK_ASKED && !has_bytes(iov, count))
		return fdwait_call(&op);
	return nonblock_run(&op, try_send_vector, try_writev);
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
	r = nonblock_run(&op, try_recvmsg, NULL);
	if (r == 0 && tcp && op.n == 0)
		testcancel(); /* as in nothing_of_tcp() */
	return r;
}

long fd_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_OUT, .vector = true };

	SET_CALL(&op, SYS_sendmsg, msg, flags, 0, 0, 0);
	return nonblock_sent(&op, flags, try_sendmsg);
}
