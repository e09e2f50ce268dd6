/*
 * deny: makes the kernel look older, or short of something, for weft's own calls alone.
 *
 *	without   a feature is absent: its system call says what a kernel without it says
 *	fail      the Nth call that gets memory, a descriptor or a kernel thread fails
 *
 * Both exist to run the paths that nobody's machine takes.  They sit in os_syscall(), below
 * everybody, so that code which comes later is covered by being written in the usual way.
 *
 * Must never: deny what has no fallback; touch the calls of the program.
 */
#include "runtime/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#define SYS_close_range_ 436
#define CLOSE_RANGE_UNSHARE_ 2
#define MADV_GUARD_INSTALL_ 102
enum { EPOLL_CTL_ADD_ = 1 };

bool os_denying;
static unsigned denied; /* 1 << enum os_feature; written once at start, like failat */
static unsigned failat;
static unsigned ncalls; /* atomic */

bool os_has(enum os_feature f)
{
	return !(denied >> f & 1);
}

void os_deny(unsigned features, unsigned nth)
{
	denied = features;
	failat = nth;
	os_denying = features || nth;
}

static void tell(const char *what)
{
	static const char head[] = "weft: fail: ", tail[] = ": fails as asked\n";
	char line[96];
	size_t n = strlen(what);

	memcpy(line, head, sizeof(head) - 1);
	memcpy(line + sizeof(head) - 1, what, n);
	memcpy(line + sizeof(head) - 1 + n, tail, sizeof(tail) - 1);
	os_write(2, line, sizeof(head) - 1 + n + sizeof(tail) - 1);
}

bool os_fault(const char *what)
{
	if (!failat || __atomic_add_fetch(&ncalls, 1, __ATOMIC_RELAXED) != failat)
		return false;
	tell(what);
	return true;
}

/* The kernel of somebody who lacks it: 0 or -errno. */
static long lacking(long nr, long a, long b, long c)
{
	switch (nr) {
	case SYS_madvise:
		return c == MADV_GUARD_INSTALL_ && !os_has(OS_guard) ? -EINVAL : 0;
	case SYS_process_vm_readv:
		return os_has(OS_peek) ? 0 : -ENOSYS;
	case SYS_openat:
	case SYS_open:
		return !os_has(OS_proc) && !strncmp((const char *)(nr == SYS_open ? a : b), "/proc", 5)
			       ? -ENOENT
			       : 0;
	case SYS_membarrier:
		return os_has(OS_membarrier) ? 0 : -ENOSYS;
	case SYS_epoll_pwait2:
		return os_has(OS_pwait2) ? 0 : -ENOSYS;
	case SYS_preadv2:
	case SYS_pwritev2:
		return os_has(OS_preadv2) ? 0 : -EOPNOTSUPP;
	}
	return 0;
}

static long faulting(long nr, long b, long c)
{
	switch (nr) {
	case SYS_mmap:
		return os_fault("mmap") ? -ENOMEM : 0;
	case SYS_mprotect:
		return os_fault("mprotect") ? -ENOMEM : 0;
	case SYS_madvise:
		return c == MADV_GUARD_INSTALL_ && os_fault("madvise") ? -ENOMEM : 0;
	case SYS_epoll_create1:
		return os_fault("epoll_create1") ? -EMFILE : 0;
	case SYS_epoll_ctl:
		return b == EPOLL_CTL_ADD_ && os_fault("epoll_ctl") ? -ENOSPC : 0;
	case SYS_eventfd2:
		return os_fault("eventfd2") ? -EMFILE : 0;
	case SYS_openat:
		return os_fault("openat") ? -ENFILE : 0;
	case SYS_fcntl:
		return b == F_DUPFD_CLOEXEC && os_fault("fcntl") ? -EMFILE : 0;
	case SYS_close_range_: /* it leaves the table of descriptors, for one of its own */
		return c == CLOSE_RANGE_UNSHARE_ && os_fault("close_range") ? -ENOMEM : 0;
	}
	return 0;
}

long os_denied(long nr, long a, long b, long c)
{
	long r = denied ? lacking(nr, a, b, c) : 0;

	return r || !failat ? r : faulting(nr, b, c);
}
