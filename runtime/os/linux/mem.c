/*
 * mem: pages from the kernel, and guards.
 *
 * Stacks come from large reservations.  A guard inside one is MADV_GUARD_INSTALL (Linux 6.13): it
 * needs no mapping of its own, so a million stacks are a few thousand VMAs; elsewhere
 * mprotect(PROT_NONE) splits the mapping and vm.max_map_count bounds the threads near 32,000.
 */
#include "runtime/base/atomic.h"
#include "runtime/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "runtime/os/linux/newer.h"

#define likely(x) __builtin_expect(!!(x), 1)

static int guard_mode; /* 0 not probed, 1 install, 2 mprotect; written once at start */
/* process_madvise() said that it does not know how (Linux before 6.15); only ever becomes true */
static bool no_vector;

static void *map(size_t n, int flags)
{
	long r = os_syscall(SYS_mmap, 0, (long)n, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return (unsigned long)r > -4096UL ? NULL : (void *)r;
}

void *os_alloc(size_t n)
{
	return map(n, 0);
}

/*
 * Counted by the kernel as libc's stacks are: what can never be there is refused at once.  A page that
 * is not mapped keeps a reservation apart from the next: with guards that are no mappings of their own
 * the kernel would make one mapping of all of them, and fork() is refused (ENOMEM, while
 * vm.overcommit_memory is 0) when one mapping is larger than the machine's memory.  The page is above
 * where the kernel goes downwards, and below where it goes upwards (no limit of the stack).
 */
void *os_reserve(size_t n)
{
	size_t page = os_pagesize(), whole = (n + page - 1) & ~(page - 1);
	char *p = whole < SIZE_MAX / 2 ? map(whole + 2 * page, MAP_STACK) : NULL;

	if (!p)
		return NULL;
	os_free(p, page);
	p += page;
	os_free(p + whole, page);
	/* One touched page of a stack must not become a 2 MB page. */
	os_syscall(SYS_madvise, (long)p, (long)n, MADV_NOHUGEPAGE, 0, 0, 0);
	return p;
}

/*
 * Not apart from the next: what lies here is touched as a whole, so a mapping of all of it is no larger
 * than the memory that it has.
 */
void *os_reserve_dense(size_t n)
{
	void *p = map(n, 0);

	if (p)
		os_syscall(SYS_madvise, (long)p, (long)n, MADV_NOHUGEPAGE, 0, 0, 0);
	return p;
}

void os_populate(void *p, size_t n)
{
	os_syscall(SYS_madvise, (long)p, (long)n, MADV_POPULATE_WRITE, 0, 0, 0);
}

/* It is made empty, and is nobody's until it begins with head. */
static long claim(long fd, size_t n, const void *head, size_t len, bool (*taken)(const void *there))
{
	char there[OS_CLAIM_HEAD];
	long r = os_syscall(SYS_flock, fd, LOCK_EX | LOCK_NB, 0, 0, 0, 0);

	/* A filesystem or kernel without: two that begin at one moment are not told apart. */
	if (r == -EWOULDBLOCK)
		return -EBUSY;
	if (os_syscall(SYS_pread64, fd, (long)there, (long)len, 0, 0, 0) == (long)len && taken(there))
		return -EBUSY;
	r = os_syscall(SYS_ftruncate, fd, 0, 0, 0, 0, 0);
	/* Not only as long as that: a full disk would be a SIGBUS at some event. */
	if (!r)
		r = os_syscall(SYS_fallocate, fd, 0, 0, (long)n, 0, 0);
	if (!r)
		r = os_syscall(SYS_mmap, 0, (long)n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if ((unsigned long)r <= -4096UL)
		memcpy((void *)r, head, len);
	return r;
}

void *os_claim_file(const char *path, size_t n, const void *head, size_t len, bool (*taken)(const void *there),
		    long *err)
{
	long fd = os_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_CLOEXEC, 0600, 0, 0), r = fd;

	if (fd >= 0) {
		r = claim(fd, n, head, len, taken);
		os_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	*err = r;
	return (unsigned long)r > -4096UL ? NULL : (void *)r;
}

int os_free(void *p, size_t n)
{
	return (int)os_syscall(SYS_munmap, (long)p, (long)n, 0, 0, 0, 0);
}

void os_guard_init(void)
{
	void *p = map(os_pagesize(), 0);

	guard_mode = 2;
	if (!p)
		return;
	if (os_syscall(SYS_madvise, (long)p, (long)os_pagesize(), MADV_GUARD_INSTALL, 0, 0, 0) == 0)
		guard_mode = 1;
	os_free(p, os_pagesize());
}

bool os_guard_is_cheap(void)
{
	return guard_mode == 1;
}

int os_guard(void *p, size_t n)
{
	if (n == 0)
		return 0;
	if (guard_mode == 1 &&
	    os_syscall(SYS_madvise, (long)p, (long)n, MADV_GUARD_INSTALL, 0, 0, 0) == 0)
		return 0;
	return (int)os_syscall(SYS_mprotect, (long)p, (long)n, PROT_NONE, 0, 0, 0);
}

bool os_guards(char *p, size_t each, unsigned count, size_t n)
{
	struct iovec at[OS_GUARDS_MAX];
	long r;

	if (guard_mode != 1 || load_relaxed(&no_vector))
		return false;
	for (unsigned i = 0; i < count; i++)
		at[i] = (struct iovec){ p + i * each, n };
	r = os_syscall(SYS_process_madvise, PIDFD_SELF_THREAD, (long)at, count,
		       MADV_GUARD_INSTALL, 0, 0);
	if (r == -ENOSYS || r == -EBADF || r == -EPERM || r == -EINVAL)
		store_relaxed(&no_vector, true);
	return r == (long)(count * n);
}

int os_executable(void *p, size_t n)
{
	return (int)os_syscall(SYS_mprotect, (long)p, (long)n, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0);
}

void os_discard(void *p, size_t n)
{
	if (likely(os_has(OS_discard)))
		os_syscall(SYS_madvise, (long)p, (long)n, MADV_DONTNEED, 0, 0, 0);
	else
		os_syscall(SYS_mmap, (long)p, (long)n, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/*
 * By a call that reads the mask to be set before it finds that it does not know how: EFAULT or EINVAL,
 * and nothing changes.
 */
static bool readable(const void *from, size_t n)
{
	uintptr_t at = (uintptr_t)from & ~(uintptr_t)7, end = (uintptr_t)from + n;

	while (at < end) {
		if (os_syscall(SYS_rt_sigprocmask, -1, (long)at, 0, 8, 0, 0) == -EFAULT)
			return false;
		at = (at | (os_pagesize() - 1)) + 1;
	}
	return true;
}

static bool peek_plainly(const void *from, void *to, size_t n)
{
	if (!readable(from, n))
		return false;
	memcpy(to, from, n);
	return true;
}

bool os_peek(const void *from, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)from, n };
	long pid = os_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long r = os_syscall(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);

	if (r != -ENOSYS && r != -EPERM)
		return r == (long)n;
	/* A sandbox without it: what is gone by now is found out, what goes this moment is not. */
	return peek_plainly(from, to, n);
}

/* 1: none, 2: there is one, or nobody knows; 0: not asked yet.  The answer is the same for all that ask. */
static int inherited;

/* The program's own filters have been asked about process_vm_readv (filtered.c), one that it began with has not. */
static bool filter_is_inherited(void)
{
	enum { STATUS = 4096 };
	static const char none[] = "\nSeccomp:\t0\n";
	char text[STATUS];

	if (!load_relaxed(&inherited)) {
		ssize_t got = os_slurp("/proc/self/status", text, sizeof(text));

		store_relaxed(&inherited, got > 0 && memmem(text, (size_t)got, none, sizeof(none) - 1) ? 1 : 2);
	}
	return load_relaxed(&inherited) == 2;
}

bool os_peek_gently(const void *from, void *to, size_t n)
{
	return filter_is_inherited() ? peek_plainly(from, to, n) : os_peek(from, to, n);
}

size_t os_pagesize(void)
{
	static size_t size; /* asked for with every thread that is made */

	if (!size)
		size = __getauxval(AT_PAGESZ);
	return size;
}

/* Soft limit; 0: none. */
static size_t limit_of(int what)
{
	struct rlimit rl = { 0, 0 };

	os_syscall(SYS_prlimit64, 0, what, 0, (long)&rl, 0, 0);
	return rl.rlim_cur == RLIM_INFINITY ? 0 : rl.rlim_cur;
}

size_t os_stacklimit(void)
{
	return limit_of(RLIMIT_STACK);
}

bool os_memory_is_limited(void)
{
	return limit_of(RLIMIT_AS) || limit_of(RLIMIT_DATA);
}
