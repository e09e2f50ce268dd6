/*
 * socket: what waits on a socket, all of it cancellation points.
 *
 * A call with MSG_DONTWAIT cannot wait, so it keeps its P.  EINTR is no danger there: with nothing
 * done such a call ends in EAGAIN before it looks at signals, with something done in a count.
 */
#include "shim/fd/credentials.h"
#include "shim/fd/fdevents.h"
#include "shim/fd/nonblock.h"

/* A call that cannot wait. */
static long sock_now(long nr, int fd, long b, long c, long d, long e, long f)
{
	testcancel();
	return direct(nr, fd, b, c, d, e, f);
}

/* The same that sends. */
static long sock_send(long nr, int fd, long b, long c, long d, long e, long f)
{
	return fdpeer_wrote(fdslot_known(fd), sock_now(nr, fd, b, c, d, e, f));
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
	return syscall_ret(fd_recv(fd, buf, n, flags, from, len));
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
	return syscall_ret(fd_recv(fd, buf, n, flags, NULL, NULL));
}
TWIN(recv);

EXPORT ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
	if (n > room)
		__chk_fail();
	return shim_recv(fd, buf, n, flags);
}

static long receive_message(int fd, struct msghdr *msg, int flags)
{
	if (!on_g())
		return real.recvmsg(fd, msg, flags);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now3(SYS_recvmsg, fd, msg, flags));
	return syscall_ret(fd_recvmsg(fd, msg, flags));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return FD_NOTED(recvmsg, receive_message(fd, msg, flags), fd, (long)msg);
}

/* The kernel writes the time that is left into timeout; so does glibc's. */
static long receive_messages(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			     struct timespec *timeout)
{
	if (!on_g())
		return real.recvmmsg(fd, msgs, n, flags, timeout);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(now6(SYS_recvmmsg, fd, msgs, n, flags, timeout, 0));
	return syscall_ret(fd_recvmmsg(fd, msgs, n, flags, timeout));
}

EXPORT int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout)
{
	return (int)FD_NOTED(recvmmsg, receive_messages(fd, msgs, n, flags, timeout), fd, (long)msgs);
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
		      socklen_t len)
{
	if (!on_g())
		return real.sendto(fd, buf, n, flags, to, len);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(sock_send(SYS_sendto, fd, (long)buf, (long)n, flags, (long)to, len));
	return syscall_ret(fd_send(fd, buf, n, flags, to, len));
}

EXPORT ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	if (!on_g())
		return real.send(fd, buf, n, flags);
	if (flags & MSG_DONTWAIT)
		return syscall_ret(sock_send(SYS_sendto, fd, (long)buf, (long)n, flags, 0, 0));
	return syscall_ret(fd_send(fd, buf, n, flags, NULL, 0));
}
ALIAS(__send, send);

static long send_on_g(int fd, const struct msghdr *msg, int flags)
{
	if (flags & MSG_DONTWAIT)
		return sock_send(SYS_sendmsg, fd, (long)msg, flags, 0, 0, 0);
	return fd_sendmsg(fd, msg, flags);
}

static long send_message(int fd, const struct msghdr *msg, int flags)
{
	long r;

	if (!on_g())
		return real.sendmsg(fd, msg, flags);
	r = send_on_g(fd, msg, flags);
	if (unlikely(r == -ESRCH))
		r = credentials_again(fd, msg, flags, send_on_g);
	return syscall_ret(r);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return FD_NOTED(sendmsg, send_message(fd, msg, flags), fd, (long)msg);
}

static long send_messages(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	long r;

	if (!on_g())
		return real.sendmmsg(fd, msgs, n, flags);
	r = flags & MSG_DONTWAIT ? sock_send(SYS_sendmmsg, fd, (long)msgs, n, flags, 0, 0)
				 : fd_sendmmsg(fd, msgs, n, flags);
	if (likely(r != -ESRCH))
		return syscall_ret(r);
	/* The first was refused; the caller sends the others by another call, as after any short count. */
	r = credentials_again(fd, &msgs[0].msg_hdr, flags, send_on_g);
	if (r < 0)
		return syscall_ret(r);
	msgs[0].msg_len = (unsigned int)r;
	return 1;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	return (int)FD_NOTED(sendmmsg, send_messages(fd, msgs, n, flags), fd, (long)msgs);
}

EXPORT int accept4(int fd, struct sockaddr *peer, socklen_t *len, int flags)
{
	if (!on_g())
		return (int)FD_NOTED(accept4, real.accept4(fd, peer, len, flags), fd);
	return (int)FD_NOTED(accept4, syscall_ret(fd_accept(fd, peer, len, flags, true)), fd);
}

EXPORT int accept(int fd, struct sockaddr *peer, socklen_t *len)
{
	if (!on_g())
		return (int)FD_NOTED(accept, real.accept(fd, peer, len), fd);
	return (int)FD_NOTED(accept, syscall_ret(fd_accept(fd, peer, len, 0, false)), fd);
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)FD_NOTED(setsockopt, real.setsockopt(fd, level, name, value, len), fd, level, name);
}

/* Waits for nothing. */
EXPORT int shutdown(int fd, int how)
{
	return (int)FD_NOTED(shutdown, real.shutdown(fd, how), fd, how);
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (!on_g())
		return real.connect(fd, to, len);
	return (int)syscall_ret(block3(SYS_connect, fd, to, len));
}
ALIAS(__connect, connect);
