/*
 * task: what the kernel knows of another thread of this process.
 *
 * os_blocked() reads /proc/self/task/TID/syscall.  It says "running" for a thread that runs or
 * could, "-1 SP PC" for one that is blocked elsewhere than in a system call, and else "NR ARG... SP
 * PC" (six arguments).  A process that gave up its privileges (a server started by root) may not
 * read that file of its own; the state letter in the file stat may be read by all.
 *
 * Must never: need memory, keep a descriptor.
 */
#include "runtime/base/atomic.h"
#include "runtime/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "runtime/os/linux/newer.h"

enum { PERTHREAD_SCHED = 6 };
enum { MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

int os_thread_cpu(int tid, uint64_t *ns)
{
	if (!os_has(OS_cpuclock))
		return -EINVAL;
	return os_clock_gettime((int)(~(uint32_t)tid << 3 | PERTHREAD_SCHED), ns);
}

/* The kernel's struct rusage. */
struct usage {
	int64_t user[2], system[2], rest[12], waits, preemptions;
};

enum { OF_THE_PROCESS = 0, OF_THIS_THREAD = 1 };

static struct usage usage_of(int what)
{
	struct usage ru = { .waits = 0 };

	os_syscall(SYS_getrusage, what, (long)&ru, 0, 0, 0, 0);
	return ru;
}

/* Seconds and microseconds, in ns. */
static uint64_t ns_of(const int64_t t[2])
{
	return (uint64_t)t[0] * 1000000000 + (uint64_t)t[1] * 1000;
}

static uint64_t cpu_of(int what)
{
	struct usage ru = usage_of(what);

	return ns_of(ru.user) + ns_of(ru.system);
}

uint64_t os_own_cpu(void)
{
	return cpu_of(OF_THIS_THREAD);
}

uint64_t os_process_cpu(void)
{
	return cpu_of(OF_THE_PROCESS);
}

uint64_t os_own_systime(void)
{
	return ns_of(usage_of(OF_THIS_THREAD).system);
}

uint64_t os_own_waits(void)
{
	return (uint64_t)usage_of(OF_THIS_THREAD).waits;
}

bool os_has_children(void)
{
	enum { P_ALL_ = 0, NOHANG = 1, STOPPED = 2, EXITED = 4, CONTINUED = 8 };
	enum { NOWAIT = 0x1000000, NOTHREAD = 0x20000000, ALL = 0x40000000 };

	return os_syscall(SYS_waitid, P_ALL_, 0, 0, NOHANG | STOPPED | EXITED | CONTINUED | NOWAIT | NOTHREAD | ALL,
			  0, 0) != -ECHILD;
}

static char *decimal(char *p, unsigned v)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *append(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

/* The field at *s, decimal or 0x and hexadecimal; moves past it and the blank behind. */
static uintptr_t field(const char **s)
{
	const char *p = *s;
	unsigned base = 10;
	uintptr_t v = 0;

	if (p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
	}
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			v = v * base + (uintptr_t)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			v = v * base + (uintptr_t)(*p - 'a' + 10);
		else
			break;
	}
	*s = *p ? p + 1 : p;
	return v;
}

static void path_of(int tid, const char *file, char path[64])
{
	char *p = append(path, "/proc/self/task/");

	p = decimal(p, (unsigned)tid);
	*append(p, file) = '\0';
}

static ssize_t slurp_of(int tid, const char *file, char *text, size_t size)
{
	char path[64];

	path_of(tid, file, path);
	return os_slurp(path, text, size);
}

void os_rename(int tid, const char *name)
{
	char path[64];
	long fd;

	path_of(tid, "/comm", path);
	fd = os_syscall(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return;
	os_syscall(SYS_write, fd, (long)name, (long)strlen(name), 0, 0, 0);
	os_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* "TID (NAME) STATE ..."; the name may hold anything. */
static int blocked_by_state(int tid)
{
	char text[512];
	ssize_t n = slurp_of(tid, "/stat", text, sizeof(text));
	const char *s = n > 0 ? strrchr(text, ')') : NULL;

	if (!s || s[1] != ' ')
		return n < 0 ? (int)n : -ENOENT;
	return s[2] == 'S' || s[2] == 'D';
}

int os_blocked(int tid, struct os_where *w)
{
	char text[256];
	const char *s = text;

	*w = (struct os_where){ .nr = OS_UNKNOWN };
	if (slurp_of(tid, "/syscall", text, sizeof(text)) <= 0)
		return blocked_by_state(tid);
	if (text[0] == 'r')
		return 0;
	if (text[0] == '-') {
		s++;
		field(&s);
		w->nr = -1;
	} else {
		w->nr = (long)field(&s);
		for (int i = 0; i < 6; i++)
			field(&s);
	}
	w->sp = field(&s);
	w->pc = field(&s);
	return 1;
}

const char *os_syscall_name(long nr)
{
	static const struct {
		long nr;
		const char *name;
	} names[] = {
#define NAME(x) { SYS_##x, #x }
		NAME(read),	     NAME(write),	   NAME(open),		NAME(openat),
		NAME(close),	     NAME(poll),	   NAME(ppoll),		NAME(select),
		NAME(pselect6),	     NAME(epoll_wait),	   NAME(epoll_pwait),	NAME(epoll_pwait2),
		NAME(readv),	     NAME(writev),	   NAME(pread64),	NAME(pwrite64),
		NAME(preadv),	     NAME(pwritev),	   NAME(preadv2),	NAME(pwritev2),
		NAME(recvfrom),	     NAME(recvmsg),	   NAME(recvmmsg),	NAME(sendto),
		NAME(sendmsg),	     NAME(sendmmsg),	   NAME(accept),	NAME(accept4),
		NAME(connect),	     NAME(futex),	   NAME(nanosleep),	NAME(clock_nanosleep),
		NAME(pause),	     NAME(wait4),	   NAME(waitid),	NAME(flock),
		NAME(fcntl),	     NAME(ioctl),	   NAME(fsync),		NAME(fdatasync),
		NAME(sync),	     NAME(syncfs),	   NAME(sync_file_range), NAME(msync),
		NAME(fallocate),     NAME(ftruncate),	   NAME(rename),	NAME(unlink),
		NAME(unlinkat),	     NAME(getdents64),	   NAME(sendfile),	NAME(splice),
		NAME(tee),	     NAME(vmsplice),	   NAME(copy_file_range), NAME(msgrcv),
		NAME(msgsnd),	     NAME(semop),	   NAME(semtimedop),	NAME(mq_timedreceive),
		NAME(mq_timedsend),  NAME(io_getevents),   NAME(io_uring_enter), NAME(io_destroy),
		NAME(rt_sigsuspend), NAME(rt_sigtimedwait), NAME(mmap),		NAME(munmap),
		NAME(mprotect),	     NAME(madvise),	   NAME(mremap),	NAME(clone),
		NAME(clone3),	     NAME(fork),	   NAME(vfork),		NAME(execve),
		NAME(ptrace),	     NAME(membarrier),	   NAME(getrandom),	NAME(userfaultfd),
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].nr == nr)
			return names[i].name;
	return NULL;
}

bool os_is_log(int fd)
{
	struct stat st;

	if (os_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0))
		return false;
	return S_ISCHR(st.st_mode) ||
	       (S_ISREG(st.st_mode) && os_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_APPEND);
}

/* A folder has a link from each folder in it, one from above and its own. */
int os_tasks(void)
{
	struct stat st;
	int r = (int)os_syscall(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0, 0, 0);

	return r ? r : (int)st.st_nlink - 2;
}

/* Numbers and 1, 0: free.  Programs have few; one with more has no thread that leaves the table. */
enum { KEPT = 32 };
static int kept[KEPT];
static bool kept_more;

void os_file_keep(int fd)
{
	for (int i = 0; i < KEPT; i++) {
		int free = 0;

		if (cas_acq_rel(&kept[i], &free, fd + 1) || free == fd + 1)
			return;
	}
	store_release(&kept_more, true);
}

/* The number may be another file's by now, whose other end waits for the last copy to be closed. */
static bool is_queue(unsigned fd)
{
	return os_syscall(SYS_mq_getsetattr, (long)fd, 0, 0, 0, 0, 0) == 0;
}

/* The lowest that is kept, of those from up; none: the number after all. */
static unsigned kept_from(unsigned from)
{
	unsigned least = ~0U;

	for (int i = 0; i < KEPT; i++) {
		unsigned fd = (unsigned)load_acquire(&kept[i]) - 1;

		if (fd >= from && fd < least && is_queue(fd))
			least = fd;
	}
	return least;
}

int os_files_leave(void)
{
	unsigned from = 0, flags = CLOSE_RANGE_UNSHARE;

	if (load_acquire(&kept_more))
		return -EMFILE;
	/* With none kept in one step: nothing of the program's is held open for a moment. */
	for (;;) {
		unsigned next = kept_from(from), to = next == ~0U ? next : next - 1;
		int r = next > from ? (int)os_syscall(SYS_close_range, from, to, flags, 0, 0, 0) : 0;

		if (r || next == ~0U)
			return r;
		if (next > from)
			flags = 0;
		from = next + 1;
	}
}

int os_membarrier_start(void)
{
	return (int)os_syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

int os_membarrier(void)
{
	return (int)os_syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}
