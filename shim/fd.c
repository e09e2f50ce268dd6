/*
 * fd: what makes, moves and ends descriptors, and their controls.
 *
 * close() and the dup family may wait (a lingering socket, a tape, a network file), so they leave
 * their P. A poller's table of descriptors hangs on exactly these functions: a number that is
 * closed or replaced here means another file from then on.
 *
 * Must never: retry close(); the number is free after EINTR too, and may be somebody else's
 * already.
 */
#include "shim/direct.h"

EXPORT int close(int fd)
{
	if (!on_g())
		return real.close(fd);
	return (int)syscall_ret(block1(SYS_close, fd));
}
ALIAS(__close, close);

/* libc knows how to do without the system call on older kernels. */
EXPORT int close_range(unsigned int from, unsigned int to, int flags)
{
	if (!on_g())
		return real.close_range(from, to, flags);
	return HANDOFF(real.close_range(from, to, flags));
}

EXPORT void closefrom(int from)
{
	if (!on_g())
		real.closefrom(from);
	else
		HANDOFF_VOID(real.closefrom(from));
}

EXPORT int dup(int fd)
{
	return real.dup(fd); /* takes a free number: nothing is closed, nothing waits */
}

EXPORT int dup2(int from, int to)
{
	if (!on_g())
		return real.dup2(from, to);
	return (int)syscall_ret(nocp2(SYS_dup2, from, to));
}
ALIAS(__dup2, dup2);

EXPORT int dup3(int from, int to, int flags)
{
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
		return (int)syscall_ret(block3(SYS_fcntl, fd, cmd, arg));
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_GETFD:
	case F_SETFD:
	case F_GETFL:
	case F_SETFL:
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

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!on_g())
		return real.ioctl(fd, request, arg);
	switch (request) {
	case FIONREAD:
	case FIONBIO:
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
