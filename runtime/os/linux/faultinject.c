/*
 * faultinject: makes the kernel look older, or short of something, for weft's own calls alone.
 *
 *	without   a feature is absent: its system call says what a kernel without it says
 *	fail      the Nth call that gets memory, a descriptor or a kernel thread fails
 *
 * Both exist to run paths that no test machine takes.  They are in os_syscall(), below all callers,
 * so that new code is covered without a line of its own.
 *
 * Must never: deny what has no fallback; touch the calls of the program.
 */
#include "runtime/os/linux/own.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/os/linux/newer.h"

enum { EPOLL_CTL_ADD_ = 1, NR_MAX = 512 };

#define unlikely(x) __builtin_expect(!!(x), 0)

bool os_missing_any;
bool (*os_isapart)(void);
static unsigned denied; /* 1 << enum os_feature; written at start and by os_forbid() */
/* Lines of own.def: for all; for some; by a filter. */
static uint64_t off[OS_CALL_WORDS], offapart[OS_CALL_WORDS], forbidden[OS_CALL_WORDS];
static bool anyapart; /* atomic */
static uint64_t concerned[NR_MAX / 64]; /* numbers of these */
static unsigned failat;
static unsigned ncalls; /* atomic */

bool os_has(enum os_feature f)
{
	return !(load_relaxed(&denied) >> f & 1);
}

/* The line is of these, and its number is looked up from now on. */
static void lack(uint64_t *calls, unsigned line)
{
	own_add(calls, line);
	fetch_or_relaxed(&concerned[own_calls[line].nr / 64],
			 UINT64_C(1) << own_calls[line].nr % 64);
	store_release(&os_missing_any, true);
}

static void deny(unsigned features)
{
	fetch_or_relaxed(&denied, features);
}

void os_forbid(const struct os_forbidden *what, bool everywhere)
{
	/* Of these it is no matter for the others that one thread may not. */
	enum { HERE = 1 << OS_proc | 1 << OS_cpuclock | 1 << OS_cpus | 1 << OS_tries | 1 << OS_privs };
	unsigned features = everywhere ? what->features : what->features & ~(unsigned)HERE;

	for (unsigned i = 0; i < own_ncalls; i++) {
		if (own_calls[i].feature < 0 || !own_has(what->calls, i))
			continue;
		own_add(forbidden, i);
		if (features >> own_calls[i].feature & 1) {
			lack(off, i);
		} else {
			lack(offapart, i);
			store_relaxed(&anyapart, true);
		}
	}
	deny(features);
}

void os_faultinject(unsigned features, unsigned nth)
{
	failat = nth;
	if (failat)
		store_release(&os_missing_any, true);
	/* Descriptors are the shim's: without tries it does not come here. */
	for (unsigned i = 0; i < own_ncalls; i++)
		if (own_calls[i].feature >= 0 && own_calls[i].feature != OS_tries &&
		    features >> own_calls[i].feature & 1)
			lack(off, i);
	deny(features);
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
	if (!failat || fetch_add_relaxed(&ncalls, 1) + 1 != failat)
		return false;
	tell(what);
	return true;
}

/* The -errno of a kernel that lacks the feature, or of a filter that forbids the call; else 0. */
static long lacking(long nr, long a, long b, long c)
{
	const long arg[] = { a, b, c };
	bool apart;

	if ((unsigned long)nr >= NR_MAX || !(concerned[nr / 64] >> nr % 64 & 1))
		return 0;
	apart = unlikely(load_relaxed(&anyapart)) && os_isapart && os_isapart();
	for (unsigned i = 0; i < own_ncalls; i++) {
		const struct own *o = &own_calls[i];

		if (o->nr != nr || !(own_has(off, i) || (apart && own_has(offapart, i))))
			continue;
		/* Of files only those are missing; under a filter none may be opened. */
		if (nr == SYS_openat && !own_has(forbidden, i) && strncmp((const char *)b, "/proc", 5))
			continue;
		if (o->arg < 0 || o->value == OWNPID || (nr == SYS_clock_gettime ? (int)arg[o->arg] < 0
							   : (int)arg[o->arg] == (int)o->value))
			return -o->answer;
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
		return c == MADV_GUARD_INSTALL && os_fault("madvise") ? -ENOMEM : 0;
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
	case SYS_close_range: /* it leaves the table of descriptors, for one of its own */
		return c == CLOSE_RANGE_UNSHARE && os_fault("close_range") ? -ENOMEM : 0;
	}
	return 0;
}

long os_missing(long nr, long a, long b, long c)
{
	long r = lacking(nr, a, b, c);

	return r || !failat ? r : faulting(nr, b, c);
}
