/*
 * fd: what makes, moves and ends descriptors, and their controls.
 *
 * close() and the dup family may wait (a lingering socket, a tape, a network file), so they leave
 * their P. The table of descriptors (netfd.c) hangs on exactly these functions: a number that is
 * closed or replaced here means another file from then on.  It is told before the call: afterwards
 * the number may be somebody else's.
 *
 * The poller's own descriptors are not there for the program: it cannot close them, and gets their
 * numbers when it names one as a target.
 *
 * Must never: retry close(); the number is free after EINTR too, and may be somebody else's
 * already.
 */
#include "shim/netfd.h"
#include "shim/sigroute.h"

#include <limits.h>
#include <linux/close_range.h>

static bool not_open(int fd)
{
	if (!unlikely(netpoll_owns(fd)) || is_apart(APART_FILES))
		return false;
	errno = EBADF;
	return true;
}

EXPORT int close(int fd)
{
	if (likely(weft_on)) {
		if (not_open(fd))
			return -1;
		netfd_closing(fd);
	}
	if (!on_g())
		return real.close(fd);
	return (int)syscall_ret(block1(SYS_close, fd));
}
ALIAS(__close, close);

/* libc knows how to do without the system call on older kernels. */
static int close_part(unsigned int from, unsigned int to, int flags)
{
	if (from > to)
		return 0;
	if (!on_g())
		return real.close_range(from, to, flags);
	return HANDOFF(real.close_range(from, to, flags));
}

/* Around our own: each piece up to the next of them. */
static int close_between(unsigned int from, unsigned int to, int flags)
{
	unsigned int at = from;

	for (unsigned int fd = from; fd <= to && netpoll_owns_above((int)fd, (int *)&fd); fd++) {
		if (fd > to)
			break;
		if (close_part(at, fd - 1, flags) < 0)
			return -1;
		at = fd + 1;
	}
	return close_part(at, to, flags);
}

EXPORT int close_range(unsigned int from, unsigned int to, int flags)
{
	if (!weft_on || from > to || from > INT_MAX)
		return real.close_range(from, to, flags);
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		netfd_closing_range(from, to);
	return close_between(from, to, flags);
}

EXPORT void closefrom(int from)
{
	if (from < 0)
		from = 0;
	if (!weft_on) {
		real.closefrom(from);
	} else {
		netfd_closing_range((unsigned int)from, UINT_MAX);
		close_between((unsigned int)from, UINT_MAX, 0);
	}
}

EXPORT int dup(int fd)
{
	/* Takes a free number: nothing is closed, nothing waits. */
	return weft_on ? netfd_made(real.dup(fd)) : real.dup(fd);
}

/*
 * What makes descriptors that can be waited for.  Nothing waits; but a number that was closed out
 * of our sight (by libc's fclose, or its resolver) is known to be another from here on.
 */
#define MAKES(name, params, args)                                                                  \
	EXPORT int name params                                                                     \
	{                                                                                          \
		int fd = real.name args;                                                           \
                                                                                                   \
		return weft_on ? netfd_made(fd) : fd;                                              \
	}
MAKES(eventfd, (unsigned int count, int flags), (count, flags))
MAKES(timerfd_create, (clockid_t clock, int flags), (clock, flags))
MAKES(inotify_init, (void), ())
MAKES(inotify_init1, (int flags), (flags))
MAKES(epoll_create, (int size), (size))
MAKES(epoll_create1, (int flags), (flags))
MAKES(socket, (int domain, int type, int protocol), (domain, type, protocol))

/* fd names one that is there already, or -1. */
EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	int r = real.signalfd(fd, mask, flags);

	if (r >= 0)
		signals_described(sigs_of(mask));
	return weft_on && fd == -1 ? netfd_made(r) : r;
}

#define MAKES_TWO(name, params, args)                                                              \
	EXPORT int name params                                                                     \
	{                                                                                          \
		int r = real.name args;                                                            \
                                                                                                   \
		if (r == 0 && weft_on) {                                                           \
			netfd_made(fds[0]);                                                        \
			netfd_made(fds[1]);                                                        \
		}                                                                                  \
		return r;                                                                          \
	}
MAKES_TWO(pipe, (int fds[2]), (fds))
ALIAS(__pipe, pipe);
MAKES_TWO(pipe2, (int fds[2], int flags), (fds, flags))
MAKES_TWO(socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))

EXPORT int dup2(int from, int to)
{
	if (likely(weft_on))
		netfd_replacing(from, to);
	if (!on_g())
		return real.dup2(from, to);
	return (int)syscall_ret(nocp2(SYS_dup2, from, to));
}
ALIAS(__dup2, dup2);

EXPORT int dup3(int from, int to, int flags)
{
	if (likely(weft_on))
		netfd_replacing(from, to);
	if (!on_g())
		return real.dup3(from, to, flags);
	return (int)syscall_ret(nocp3(SYS_dup3, from, to, flags));
}

/*
 * Only the waiting locks are cancellation points.  The commands that event loops use all the time
 * never wait; libc's own function turns F_GETOWN into its unambiguous form, hence not the bare
 * system call.
 */
static int fcntl_arg(int fd, int cmd, void *arg)
{
	switch (cmd) {
	case F_SETLKW:
	case F_OFD_SETLKW:
		return (int)syscall_ret(file_lockw(fd, cmd, arg));
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return netfd_made(real.fcntl(fd, cmd, arg));
	case F_GETFD:
	case F_SETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_SETOWN:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		return real.fcntl(fd, cmd, arg);
	default:
		return HANDOFF(real.fcntl(fd, cmd, arg));
	}
}

EXPORT int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (cmd == F_SETFL && weft_on) {
		int r = real.fcntl(fd, cmd, arg);

		netfd_changed();
		return r;
	}
	if (!on_g())
		return real.fcntl(fd, cmd, arg);
	return fcntl_arg(fd, cmd, arg);
}
ALIAS(fcntl64, fcntl);
ALIAS(__fcntl, fcntl);

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int r;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!on_g())
		return real.ioctl(fd, request, arg);
	switch (request) {
	case FIONBIO:
		r = (int)syscall_ret(direct3(SYS_ioctl, fd, request, arg));
		netfd_changed();
		return r;
	case FIONREAD:
	case FIOCLEX:
	case FIONCLEX:
		return (int)syscall_ret(direct3(SYS_ioctl, fd, request, arg));
	default:
		return (int)syscall_ret(nocp3(SYS_ioctl, fd, request, arg));
	}
}

/* Waits until the terminal has sent everything: TCSBRK with a nonzero argument only drains. */
EXPORT int tcdrain(int fd)
{
	if (!on_g())
		return real.tcdrain(fd);
	return (int)syscall_ret(block3(SYS_ioctl, fd, TCSBRK, 1));
}

EXPORT int tcsendbreak(int fd, int duration)
{
	if (!on_g())
		return real.tcsendbreak(fd, duration);
	return HANDOFF(real.tcsendbreak(fd, duration));
}

EXPORT int tcsetattr(int fd, int when, const struct termios *t)
{
	if (!on_g())
		return real.tcsetattr(fd, when, t);
	return HANDOFF(real.tcsetattr(fd, when, t));
}
