/*
 * epoll: epoll and what belongs to it.
 *
 * Waits are in ns (epoll_pwait2, Linux 5.11); an older kernel gets whole milliseconds, rounded up,
 * so that a timer is never early.  The choice is made by the first wait that is refused.
 */
#include "runtime/base/atomic.h"
#include "runtime/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>

#include "runtime/os/linux/newer.h"

_Static_assert(sizeof(struct os_event) == sizeof(struct epoll_event), "the kernel's layout");

int os_poll_create(void)
{
	return (int)os_syscall(SYS_epoll_create1, O_CLOEXEC, 0, 0, 0, 0, 0);
}

int os_poll_add(int ep, int fd, uint32_t events, uint64_t data)
{
	struct os_event ev = { events, data };
	int r = (int)os_syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, fd, (long)&ev, 0, 0);

	if (r == -EEXIST)
		r = (int)os_syscall(SYS_epoll_ctl, ep, EPOLL_CTL_MOD, fd, (long)&ev, 0, 0);
	return r;
}

int os_poll_change(int ep, int fd, uint32_t events, uint64_t data)
{
	struct os_event ev = { events, data };

	return (int)os_syscall(SYS_epoll_ctl, ep, EPOLL_CTL_MOD, fd, (long)&ev, 0, 0);
}

int os_poll_del(int ep, int fd)
{
	struct os_event none = { 0, 0 };

	return (int)os_syscall(SYS_epoll_ctl, ep, EPOLL_CTL_DEL, fd, (long)&none, 0, 0);
}

static int wait_ms(int ep, struct os_event *ev, int n, uint64_t ns, bool until,
		   const uint64_t *mask)
{
	int64_t ms = until ? (int64_t)(ns / 1000000 + (ns % 1000000 != 0)) : -1;

	if (ms > INT32_MAX)
		ms = INT32_MAX;
	return (int)os_syscall(SYS_epoll_pwait, ep, (long)ev, n, ms, (long)mask, sizeof(*mask));
}

int os_poll_wait(int ep, struct os_event *ev, int n, uint64_t deadline, const uint64_t *mask)
{
	static _Atomic bool no_ns;
	uint64_t now = deadline && deadline != OS_NOWAIT ? os_nanotime() : 0;
	uint64_t ns = deadline != OS_NOWAIT && deadline > now ? deadline - now : 0;
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	int r;

	if (load_relaxed(&no_ns))
		return wait_ms(ep, ev, n, ns, deadline != 0, mask);
	r = (int)os_syscall(SYS_epoll_pwait2, ep, (long)ev, n, deadline ? (long)&ts : 0, (long)mask,
			    sizeof(*mask));
	if (r == -ENOSYS || r == -EPERM) { /* an old kernel, or a filter that does not know it */
		store_relaxed(&no_ns, true);
		r = wait_ms(ep, ev, n, ns, deadline != 0, mask);
	}
	return r;
}

int os_eventfd(void)
{
	return (int)os_syscall(SYS_eventfd2, 0, O_CLOEXEC | O_NONBLOCK, 0, 0, 0, 0);
}

/*
 * A timer that never comes to its end.  The kernel looks through those that are to be cancelled when
 * the clock is set.
 */
int os_clockfd(void)
{
	struct itimerspec never = { .it_value = { .tv_sec = INT64_MAX } };
	int fd = (int)os_syscall(SYS_timerfd_create, CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK, 0,
				 0, 0, 0);
	int err;

	if (fd < 0)
		return fd;
	err = (int)os_syscall(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
			      (long)&never, 0, 0, 0);
	if (err) {
		os_close(fd);
		return err;
	}
	return fd;
}

int os_dup_above(int fd, int lowest)
{
	return (int)os_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest, 0, 0, 0);
}

int os_close(int fd)
{
	return (int)os_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

int os_fileid(int fd, uint64_t id[2])
{
	struct stat st;
	int r = (int)os_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0);

	if (r == 0) {
		id[0] = st.st_dev;
		id[1] = st.st_ino;
	}
	return r;
}

unsigned long os_fdlimit(void)
{
	struct rlimit rl;

	if (os_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&rl, 0, 0))
		return 1024;
	return rl.rlim_cur;
}
