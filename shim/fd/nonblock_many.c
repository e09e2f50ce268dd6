/*
 * nonblock_many: recvmmsg, sendmmsg and accept, of which a try is not always the call.
 *
 * Must never: cut a message in two.
 */
#include "shim/fd/nonblock.h"
#include "shim/fd/nonblock_try.h"

#include <poll.h>

#include "shim/sync/sync.h"

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
	return nonblock_run(&op, try_recvmmsg, NULL);
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

	if (fdask5(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0 || domain == AF_UNIX)
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
	r = fdpeer_wrote(s, direct4(SYS_sendmmsg, fd, msgs, n, flags | MSG_DONTWAIT));
	if (r == -EAGAIN)
		return fdwait_call(&op);
	if (r <= 0 || (unsigned long)r >= n || stopped_by_error(fd))
		return fdwait_tried(&op, r);
	op.b = (long)(msgs + r);
	op.c = (long)n - r;
	rest = fdpeer_wrote(s, fdwait_call(&op));
	return rest > 0 ? r + rest : r;
}

/* One that does not listen never becomes ready; accept says at once what is wrong with it. */
static bool listens(int fd)
{
	int on = 0;
	socklen_t n = sizeof(on);

	return fdask5(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) == 0 && on;
}

long fd_accept(int fd, struct sockaddr *peer, socklen_t *len, int flags, bool with_flags)
{
	struct fdop op = { .fd = fd, .dir = NETPOLL_IN };
	struct fdslot *s = op.s = fdslot_of(fd);
	enum fdkind kind = s ? fdslot_kind(s, fd) : FDK_FILE;

	SET_CALL(&op, with_flags ? SYS_accept4 : SYS_accept, peer, len, flags, 0, 0);
	/* The call itself does not wait: an event loop's listener, and what it says of it is the kernel's. */
	if (nonblock_is_stream(kind) && fdslot_nonblocking(s, fd, NETPOLL_IN))
		return fdwait_call(&op);
	/* Flags that the kernel refuses are refused before a connection is there. */
	if ((!nonblock_is_stream(kind) && kind != FDK_SEQ) ||
	    (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) || !listens(fd))
		return fdwait_call(&op);
	return fdwait_ask_and_call(&op);
}
