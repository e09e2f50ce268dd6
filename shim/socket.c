/*
 * socket: what waits on a socket, all of it cancellation points.
 *
 * A call with MSG_DONTWAIT cannot wait, so it keeps its P.  EINTR is no danger there: with nothing
 * done such a call ends in EAGAIN before it looks at signals, with something done in a count.
 */
#include "shim/io.h"

/* One call; flags decides whether it may wait. */
static long sock_call(enum io_dir dir, int flags, long nr, int fd, long b, long c, long d, long e,
		      long f)
{
	if (flags & MSG_DONTWAIT) {
		testcancel();
		return direct(nr, fd, b, c, d, e, f);
	}
	return io_call(dir, nr, fd, b, c, d, e, f);
}

#define sock6(dir, flags, nr, fd, b, c, d, e, f)                                                   \
	sock_call(dir, flags, nr, fd, (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sock3(dir, flags, nr, fd, b, c) sock6(dir, flags, nr, fd, b, c, 0, 0, 0)

EXPORT ssize_t recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from,
			socklen_t *len)
{
	if (!on_g())
		return real.recvfrom(fd, buf, n, flags, from, len);
	return syscall_ret(sock6(IO_IN, flags, SYS_recvfrom, fd, buf, n, flags, from, len));
}
TWIN(recvfrom);

EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room, int flags,
			      struct sockaddr *from, socklen_t *len)
{
	if (n > room)
		__chk_fail();
	return shim_recvfrom(fd, buf, n, flags, from, len);
}

EXPORT ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	if (!on_g())
		return real.recv(fd, buf, n, flags);
	return syscall_ret(sock6(IO_IN, flags, SYS_recvfrom, fd, buf, n, flags, NULL, NULL));
}
TWIN(recv);

EXPORT ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
	if (n > room)
		__chk_fail();
	return shim_recv(fd, buf, n, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (!on_g())
		return real.recvmsg(fd, msg, flags);
	return syscall_ret(sock3(IO_IN, flags, SYS_recvmsg, fd, msg, flags));
}

/* The kernel writes the time that is left into timeout; so does glibc's. */
EXPORT int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout)
{
	if (!on_g())
		return real.recvmmsg(fd, msgs, n, flags, timeout);
	return (int)syscall_ret(sock6(IO_IN, flags, SYS_recvmmsg, fd, msgs, n, flags, timeout, 0));
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		      socklen_t len)
{
	if (!on_g())
		return real.sendto(fd, buf, n, flags, to, len);
	return syscall_ret(sock6(IO_OUT, flags, SYS_sendto, fd, buf, n, flags, to, len));
}

EXPORT ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	if (!on_g())
		return real.send(fd, buf, n, flags);
	return syscall_ret(sock6(IO_OUT, flags, SYS_sendto, fd, buf, n, flags, NULL, 0));
}
ALIAS(__send, send);

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (!on_g())
		return real.sendmsg(fd, msg, flags);
	return syscall_ret(sock3(IO_OUT, flags, SYS_sendmsg, fd, msg, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	if (!on_g())
		return real.sendmmsg(fd, msgs, n, flags);
	return (int)syscall_ret(sock6(IO_OUT, flags, SYS_sendmmsg, fd, msgs, n, flags, 0, 0));
}

EXPORT int accept4(int fd, struct sockaddr *peer, socklen_t *len, int flags)
{
	if (!on_g())
		return real.accept4(fd, peer, len, flags);
	return (int)syscall_ret(io4(IO_IN, SYS_accept4, fd, peer, len, flags));
}

EXPORT int accept(int fd, struct sockaddr *peer, socklen_t *len)
{
	if (!on_g())
		return real.accept(fd, peer, len);
	return (int)syscall_ret(io3(IO_IN, SYS_accept, fd, peer, len));
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (!on_g())
		return real.connect(fd, to, len);
	return (int)syscall_ret(io3(IO_OUT, SYS_connect, fd, to, len));
}
ALIAS(__connect, connect);
