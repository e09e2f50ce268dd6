/*
 * socket: what waits on a socket, all of it cancellation points.
 *
 * A call with MSG_DONTWAIT cannot wait, so it keeps its P.  EINTR is no danger there: with nothing
 * done such a call ends in EAGAIN before it looks at signals, with something done in a count.
 */
#include "shim/netio.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* A call that cannot wait. */
static long sock_now(long nr, int fd, long b, long c, long d, long e, long f)
{
	testcancel();
	return direct(nr, fd, b, c, d, e, f);
}

#define now6(nr, fd, b, c, d, e, f)                                                                \
	sock_now(nr, fd, (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define now3(nr, fd, b, c) now6(nr, fd, b, c, 0, 0, 0)

EXPORT ssize_t recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from,
			socklen_t *len)
{
	if (!on_g())
		return real.recvfrom(fd, buf, n, flags, from, len);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now6(SYS_recvfrom, fd, buf, n, flags, from, len));
	return syscall_ret(net_recv(fd, buf, n, flags, from, len));
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
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now6(SYS_recvfrom, fd, buf, n, flags, NULL, NULL));
	return syscall_ret(net_recv(fd, buf, n, flags, NULL, NULL));
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
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now3(SYS_recvmsg, fd, msg, flags));
	return syscall_ret(net_recvmsg(fd, msg, flags));
}

/* The kernel writes the time that is left into timeout; so does glibc's. */
EXPORT int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout)
{
	if (!on_g())
		return real.recvmmsg(fd, msgs, n, flags, timeout);
	if (flags & MSG_DONTWAIT)
		return (int)syscall_ret(now6(SYS_recvmmsg, fd, msgs, n, flags, timeout, 0));
	return (int)syscall_ret(net_recvmmsg(fd, msgs, n, flags, timeout));
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		      socklen_t len)
{
	if (!on_g())
		return real.sendto(fd, buf, n, flags, to, len);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now6(SYS_sendto, fd, buf, n, flags, to, len));
	return syscall_ret(net_send(fd, buf, n, flags, to, len));
}

EXPORT ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	if (!on_g())
		return real.send(fd, buf, n, flags);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now6(SYS_sendto, fd, buf, n, flags, NULL, 0));
	return syscall_ret(net_send(fd, buf, n, flags, NULL, 0));
}
ALIAS(__send, send);

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (!on_g())
		return real.sendmsg(fd, msg, flags);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now3(SYS_sendmsg, fd, msg, flags));
	return syscall_ret(net_sendmsg(fd, msg, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	if (!on_g())
		return real.sendmmsg(fd, msgs, n, flags);
	if (flags & MSG_DONTWAIT)
		return (int)syscall_ret(now6(SYS_sendmmsg, fd, msgs, n, flags, 0, 0));
	return (int)syscall_ret(net_sendmmsg(fd, msgs, n, flags));
}

EXPORT int accept4(int fd, struct sockaddr *peer, socklen_t *len, int flags)
{
	if (!on_g())
		return real.accept4(fd, peer, len, flags);
	return netfd_made((int)syscall_ret(net_accept(fd, peer, len, flags, true)));
}

EXPORT int accept(int fd, struct sockaddr *peer, socklen_t *len)
{
	if (!on_g())
		return real.accept(fd, peer, len);
	return netfd_made((int)syscall_ret(net_accept(fd, peer, len, 0, false)));
}

/*
 * What a park depends on is asked for again after it was set, on whatever number of the same
 * socket.
 */
EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int r = real.setsockopt(fd, level, name, value, len);

	if (!weft_on || r)
		return r;
	if (level == SOL_SOCKET && name == SO_RCVLOWAT)
		netfd_lowat_used();
	else if (level == SOL_SOCKET && (name == SO_RCVTIMEO_NEW || name == SO_RCVTIMEO_OLD ||
					 name == SO_SNDTIMEO_NEW || name == SO_SNDTIMEO_OLD))
		netfd_changed();
	else if (level == IPPROTO_TCP && name == TCP_ULP)
		netfd_records(fd);
	return r;
}

/* Waits for nothing. */
EXPORT int shutdown(int fd, int how)
{
	int r = real.shutdown(fd, how);

	if (weft_on && r == 0)
		netfd_shut();
	return r;
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (!on_g())
		return real.connect(fd, to, len);
	return (int)syscall_ret(block3(SYS_connect, fd, to, len));
}
ALIAS(__connect, connect);
