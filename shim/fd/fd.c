/*
 * fd: what makes, moves and ends descriptors, and their controls.
 *
 * close() and the dup family may wait (a lingering socket, a tape, a network file), so they leave
 * their P.  What each of them does to the table of descriptors is fdevents.c's.
 *
 * Must never: retry close(); the number is free after EINTR too, and may name another file already.
 */
#include "runtime/netpoll.h"
#include "shim/fd/fdevents.h"
#include "shim/fd/fdowner.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"

#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/ioctl.h>

EXPORT int close(int fd)
{
	if (!on_g())
		return (int)FD_NOTED(close, real.close(fd), fd);
	return (int)FD_NOTED(close, syscall_ret(block1(SYS_close, fd)), fd);
}
ALIAS(__close, close);

EXPORT int closedir(DIR *dir)
{
	FD_ENDS(weft_on ? dirfd(dir) : -1);
	return real.closedir(dir);
}

/* A queue is a descriptor, which may be polled. */
EXPORT int mq_close(mqd_t q)
{
	return (int)FD_NOTED(close, real.mq_close(q), q);
}

EXPORT int login_tty(int fd)
{
	setsid();
	if (real.ioctl(fd, TIOCSCTTY, NULL))
		return -1;
	for (int to = 0; to <= 2; to++)
		while (dup2(fd, to) < 0)
			if (errno != EBUSY) /* another thread is just opening that number */
				break;
	if (fd > 2)
		close(fd);
	return 0;
}

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

/* Its own table first, then the range in it: our numbers stay in each. */
static int close_unshared(unsigned int from, unsigned int to, int flags)
{
	if (!on_g())
		return real.close_range(from, to, flags);
	if (FD_NOTED(unshare, syscall_ret(by_table2(SYS_unshare, CLONE_FILES, 0)), CLONE_FILES) < 0)
		return -1;
	return close_between(from, to, flags & ~CLOSE_RANGE_UNSHARE);
}

static int range(unsigned int from, unsigned int to, int flags)
{
	if (!weft_on || from > to || from > INT_MAX)
		return real.close_range(from, to, flags);
	return flags & CLOSE_RANGE_UNSHARE ? close_unshared(from, to, flags)
					   : close_between(from, to, flags);
}

EXPORT int close_range(unsigned int from, unsigned int to, int flags)
{
	return (int)FD_NOTED(close_range, range(from, to, flags), from, to, flags);
}
TWIN(close_range);

static int from_on(unsigned int from)
{
	if (weft_on)
		return close_between(from, UINT_MAX, 0);
	real.closefrom((int)from);
	return 0;
}

EXPORT void closefrom(int from)
{
	unsigned int first = from < 0 ? 0 : (unsigned int)from;

	FD_NOTED(close_range, from_on(first), first, UINT_MAX);
}

EXPORT int dup(int fd)
{
	/* Takes a free number: nothing is closed, nothing waits. */
	return (int)FD_NOTED(dup, real.dup(fd), fd);
}

/* What makes descriptors that can be waited for.  Nothing waits. */
#define MAKES(name, params, args, ...)                                                             \
	EXPORT int name params                                                                     \
	{                                                                                          \
		return (int)FD_NOTED(name, real.name args, __VA_ARGS__);                           \
	}
MAKES(eventfd, (unsigned int count, int flags), (count, flags), 0)
MAKES(timerfd_create, (clockid_t clock, int flags), (clock, flags), 0)
MAKES(inotify_init, (void), (), 0)
MAKES(inotify_init1, (int flags), (flags), 0)
MAKES(epoll_create, (int size), (size), 0)
MAKES(epoll_create1, (int flags), (flags), 0)
MAKES(socket, (int domain, int type, int protocol), (domain, type, protocol), 0)
MAKES(pipe, (int fds[2]), (fds), (long)fds)
ALIAS(__pipe, pipe);
MAKES(pipe2, (int fds[2], int flags), (fds, flags), (long)fds, flags)
MAKES(socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds),
      domain, type, protocol, (long)fds)

MAKES(memfd_create, (const char *name, unsigned int flags), (name, flags), 0)

/* fd names one that is there already, or -1. */
EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	return (int)FD_NOTED(signalfd4, real.signalfd(fd, mask, flags), fd, (long)mask);
}

EXPORT int dup2(int from, int to)
{
	if (!on_g())
		return (int)FD_NOTED(dup2, real.dup2(from, to), from, to);
	return (int)FD_NOTED(dup2, syscall_ret(nocp2(SYS_dup2, from, to)), from, to);
}
ALIAS(__dup2, dup2);

EXPORT int dup3(int from, int to, int flags)
{
	if (!on_g())
		return (int)FD_NOTED(dup3, real.dup3(from, to, flags), from, to);
	return (int)FD_NOTED(dup3, syscall_ret(nocp3(SYS_dup3, from, to, flags)), from, to);
}

/*
 * Only the waiting locks are cancellation points.  The commands that event loops use all the time
 * never wait; libc's own function turns F_GETOWN into its unambiguous form, hence not the bare
 * system call.
 */
static int fcntl_arg(int fd, int cmd, void *arg)
{
	long r;

	if (fdowner_cmd(cmd) && fdowner_call(fd, cmd, arg, &r))
		return (int)syscall_ret(r);
	switch (cmd) {
	case F_SETLKW:
	case F_OFD_SETLKW:
		return (int)syscall_ret(file_lockw(fd, cmd, arg));
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETFL:
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
	if (!on_g())
		return (int)FD_NOTED(fcntl, real.fcntl(fd, cmd, arg), fd, cmd, (long)arg);
	return (int)FD_NOTED(fcntl, fcntl_arg(fd, cmd, arg), fd, cmd, (long)arg);
}
ALIAS(fcntl64, fcntl);
ALIAS(__fcntl, fcntl);

static long ioctl_arg(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case FIONBIO:
	case FIONREAD:
	case FIOCLEX:
	case FIONCLEX:
		return direct3(SYS_ioctl, fd, request, arg);
	default:
		return nocp3(SYS_ioctl, fd, request, arg);
	}
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!on_g())
		return (int)FD_NOTED(ioctl, real.ioctl(fd, request, arg), fd, (long)request);
	return (int)FD_NOTED(ioctl, syscall_ret(ioctl_arg(fd, request, arg)), fd, (long)request);
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
