/*
 * os: the whole boundary between the runtime and the kernel.
 *
 * Every function is a raw system call (or the vDSO): libc's wrappers are cancellation points, set
 * errno and may be interposed, by us among others.  Results are 0/positive or -errno; errno is
 * never touched.  Must never: call libc, know a G.
 */
#ifndef WEFT_OS_H
#define WEFT_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/arch/cpu.h"

/* Libc's; its other name is interposed. */
unsigned long __getauxval(unsigned long type);

long os_syscall(long nr, long a, long b, long c, long d, long e, long f)
	__attribute__((visibility("hidden")));

/* ---- what is not there (faultinject.c) -------------------------------------------------------------- */
/*
 * What is used of kernel and CPU where it is there; each has a fallback.  The words of the option
 * `without`.
 *
 *	guard       mprotect for each guard page
 *	wrfsbase    arch_prctl at each switch
 *	vdso        a system call to read a clock
 *	peek        process_vm_readv: dumps read plainly
 *	proc        /proc: no cgroup limit, no names in dumps, no look at a blocked kernel thread
 *	membarrier  fences where it would have been implied
 *	cpuclock    the kernel's word on what is blocked, and membarrier; without that, too, weft does
 *	            not start
 *	pwait2      epoll_pwait2: timeouts in milliseconds
 *	preadv2     reads of files give the P away
 *	tries       calls on descriptors are not tried: each waits on a kernel thread
 *	hints       nothing: names, slices, huge pages, yielding; guards and pages one at a time
 *	naps        sleeps by futex
 *	altstack    signal stacks are told to the kernel by sigreturn
 *	pick        signals that came twice are taken twice
 *	cpus        the number of Ps stays what it was
 *	discard     new pages are mapped over old ones
 *	kick        no G is preempted
 *	tsync       a filter of the only thread is its M's alone, and its threads' Ms'
 *	privs       a thread that asked for no_new_privs keeps its M, though all have asked
 */
#define OS_FEATURES(F)                                                                             \
	F(guard) F(wrfsbase) F(vdso) F(peek) F(proc) F(membarrier) F(cpuclock) F(pwait2) F(preadv2)    \
	F(tries) F(hints) F(naps) F(altstack) F(pick) F(cpus) F(discard) F(kick) F(tsync) F(privs)
enum os_feature {
#define FEATURE(name) OS_##name,
	OS_FEATURES(FEATURE)
#undef FEATURE
};
/*
 * Once, before anything is probed: without the features 1 << enum os_feature; the nth fault() is
 * one (0: none).
 */
void os_faultinject(unsigned features, unsigned nth);
/* the option does not deny it; the kernel may still lack it */
bool os_has(enum os_feature f);
/*
 * What a filter forbids (filtered.c): features of which it does not allow a call, so that weft must not
 * make it; the first call without which nothing works.
 */
enum { OS_CALL_WORDS = 2 };    /* a bit for each line of own.def */
struct os_forbidden {
	unsigned features;         /* 1 << enum os_feature */
	uint64_t calls[OS_CALL_WORDS]; /* lines of own.def */
	bool start;                /* what weft's start needs */
	bool threads;              /* libc's way to make one */
	bool never;                /* each way to make one, by an error or the end, and nobody is asked */
	const char *all;           /* NULL: none of those that libc makes, too */
};
/* The program's struct sock_fprog; false: it cannot be read, and the kernel will say so. */
bool os_filter_ask(const void *prog, struct os_forbidden *out);
/*
 * From now on weft does without; also before os_faultinject().  everywhere: the filter is upon all kernel
 * threads; else upon those that os_isapart() tells.
 */
void os_forbid(const struct os_forbidden *what, bool everywhere);
extern bool (*os_isapart)(void) __attribute__((visibility("hidden"))); /* the calling thread is behind one */
/* A call that can fail for want of something asks here first: true, then it must fail now. */
bool os_fault(const char *what);
extern bool os_missing_any __attribute__((visibility("hidden")));
long os_missing(long nr, long a, long b, long c); /* 0 or the -errno that system call must return */

/* ---- memory: zero-filled, never NULL-mapped; NULL when the kernel has none ------------------- */
void *os_alloc(size_t n);                /* committed, read-write */
void *os_reserve(size_t n);              /* read-write on touch, never huge pages */
void *os_reserve_dense(size_t n);        /* the same for what will be touched as a whole */
void os_populate(void *p, size_t n);     /* pages that are touched soon; without memory for them nothing */
int os_free(void *p, size_t n);          /* 0, or -errno and all is as it was */
/*
 * A file of n bytes, which the disk has, read-write and shared; it begins with len bytes of head, and is empty beyond.
 * NULL: *err is a -errno; -EBUSY: taken() says so of what it began with, or another is claiming it.
 */
enum { OS_CLAIM_HEAD = 256 };            /* len at most */
void *os_claim_file(const char *path, size_t n, const void *head, size_t len, bool (*taken)(const void *there),
		    long *err);
bool os_memory_is_limited(void);         /* to so many mapped bytes, touched or not (RLIMIT_AS, _DATA) */
int os_guard(void *p, size_t n);         /* makes [p, p+n) fault: MADV_GUARD_INSTALL or mprotect */
/*
 * The same at p, p + each and so on, by one system call.  False: some may be missing; a guard may be made
 * twice.
 */
enum { OS_GUARDS_MAX = 16 };
bool os_guards(char *p, size_t each, unsigned count, size_t n);
int os_executable(void *p, size_t n);    /* what is there may be run as code; 0 or -errno */
void os_guard_init(void);                /* probes which */
bool os_guard_is_cheap(void);            /* guards need no mapping of their own */
void os_discard(void *p, size_t n);      /* gives pages back; they read as zero */

/* ---- time ------------------------------------------------------------------------------------ */
void os_time_notsc(void);
void os_time_init(void);                 /* finds the vDSO; before it nanotime is a system call */
uint64_t os_nanotime(void);              /* CLOCK_MONOTONIC, ns */
int os_clock_gettime(int clock, uint64_t *ns);
enum { OS_CLOCK_REALTIME = 0 };
void os_usleep(uint32_t us);
void os_osyield(void);

/* ---- kernel threads -------------------------------------------------------------------------- */
int os_gettid(void);
int os_getpid(void);
/*
 * Sleeps while *w == v, until deadline (CLOCK_MONOTONIC ns; 0: none). 0, -EAGAIN, -ETIMEDOUT,
 * -EINTR.
 */
int os_futex_wait(uint32_t *w, uint32_t v, uint64_t deadline);
/* The same until CLOCK_REALTIME, which may be set meanwhile, shows at (ns, not 0). */
int os_futex_wait_realtime(uint32_t *w, uint32_t v, uint64_t at);
void os_futex_wake(uint32_t *w, int n);
int os_tgkill(int pid, int tid, int sig);
unsigned long os_alarm_limit(void);      /* RLIMIT_SIGPENDING, soft; 0: the kernel does not say */
/*
 * A timer that sends sig to a kernel thread of this process at when (CLOCK_MONOTONIC ns; 0: no more).
 * 0 or -errno; each is one of RLIMIT_SIGPENDING.  A fork child has none.
 */
int os_alarm_make(int tid, int sig, int *timer);
int os_alarm_set(int timer, uint64_t when);
void os_alarm_delete(int timer);
/*
 * Where a kernel thread of this process is blocked. 1: here; 0: nowhere, it runs or could; -errno.
 */
struct os_where {
	long nr;                         /* system call, -1: none (a page fault, say), OS_UNKNOWN */
	uintptr_t sp, pc;                /* of its user code; 0: unknown */
};
enum { OS_UNKNOWN = -2 };
int os_blocked(int tid, struct os_where *w);
const char *os_syscall_name(long nr);    /* of those that block; NULL: another */
int os_thread_cpu(int tid, uint64_t *ns); /* its CPU clock; 0: that of the caller */
/*
 * This thread gets a table of descriptors of its own, with those that were kept alone; 0 or -errno.  A close in
 * this process ends a notice of mq_notify(2), though the descriptor is another thread's too: such a one is kept.
 */
int os_files_leave(void);
void os_file_keep(int fd);               /* by any thread */
uint64_t os_own_waits(void);             /* how often the kernel has made this thread wait (0: it does not say) */
uint64_t os_own_systime(void);           /* ns that this thread has used in the kernel */
uint64_t os_own_cpu(void);               /* ns of CPU that this thread has used (0: the kernel does not say) */
uint64_t os_process_cpu(void);           /* the same of all threads */
bool os_has_children(void);              /* of this very thread: not waited for, or traced by it */
int os_membarrier_start(void);
int os_membarrier(void);                 /* every thread of the process passes a full fence: 0 */
/* Kernel signal mask of this thread: sets all 64 bits, returns the old ones. */
uint64_t os_sigmask(uint64_t mask);
uint64_t os_sigmask_get(void);
void os_sigunblock(int sig);
/* Alternate signal stack of this kernel thread; sp NULL: none. */
int os_sigaltstack(void *sp, size_t size, int flags);
void os_timerslack(uint64_t ns);         /* of this kernel thread; 0 restores the default */
/*
 * Where others compute this kernel thread gets its CPU sooner, for ns at a time; its share is the
 * same.
 */
void os_cpuslice(uint64_t ns);
void os_setname(const char *name);
void os_nonewprivs(void); /* PR_SET_NO_NEW_PRIVS, of the calling kernel thread, for good */
bool os_is_log(int fd); /* a terminal, /dev/null and the like, or a file that is only appended to */
int os_tasks(void); /* kernel threads of this process; below 1: nothing tells */
void os_rename(int tid, const char *name); /* the same of another thread of this process */

/* ---- waiting for descriptors: the kernel's own event bits ------------------------------------ */
enum {
	OS_POLLIN = 0x1,
	OS_POLLPRI = 0x2,
	OS_POLLOUT = 0x4,
	OS_POLLERR = 0x8,
	OS_POLLHUP = 0x10,
	OS_POLLRDHUP = 0x2000,
};
#define OS_POLLEDGE 0x80000000u          /* told once per change, not as long as it lasts */
#define OS_POLLONCE 0x40000000u          /* told once, until the registration is changed */
struct os_event {
	uint32_t events;
	uint64_t data;
} ARCH_EPOLL_PACKED;
int os_poll_create(void);                /* an epoll instance; all descriptors here close on exec */
int os_poll_add(int ep, int fd, uint32_t events, uint64_t data); /* or changes what is there */
/* Of one that is there; what is ready by now is told. */
int os_poll_change(int ep, int fd, uint32_t events, uint64_t data);
int os_poll_del(int ep, int fd);
/*
 * Events, 0 at the deadline (CLOCK_MONOTONIC ns; 0: none) or -errno; OS_NOWAIT: only looks.  mask: the
 * signals kept out meanwhile; NULL: as they are.
 */
int os_poll_wait(int ep, struct os_event *ev, int n, uint64_t deadline, const uint64_t *mask);
#define OS_NOWAIT UINT64_MAX
int os_eventfd(void);                    /* a counter that never blocks */
int os_clockfd(void);                    /* with an edge each time that CLOCK_REALTIME is set */
int os_dup_above(int fd, int lowest);    /* a second number for it */
int os_close(int fd);
int os_fileid(int fd, uint64_t id[2]);    /* device and inode */
unsigned long os_fdlimit(void);          /* RLIMIT_NOFILE, soft */

/* ---- machine --------------------------------------------------------------------------------- */
unsigned os_ncpu(void);                  /* CPUs in the affinity mask, bounded by the cgroup quota */
/* Bytes that are free, and ours, which the caller has of it already; bounded by the cgroup limit. */
size_t os_memory(size_t ours);
/*
 * The halves.  CPUs or bytes that the cgroups found below root ("": the real ones) grant, -1: no
 * limit.
 */
enum os_granted { OS_CPU, OS_MEMORY };
long os_cgroup_limit(const char *root, enum os_granted what);
unsigned os_ncpu_of(unsigned cpus, long quota);
size_t os_pagesize(void);
size_t os_stacklimit(void);              /* RLIMIT_STACK soft limit; 0: unlimited */

/* ---- looking --------------------------------------------------------------------------------- */
/* The whole file, terminated, as far as it fits; bytes or -errno. */
ssize_t os_slurp(const char *path, char *buf, size_t n);
/* Copies memory that may not be there; false: it is not. */
bool os_peek(const void *from, void *to, size_t n);
/*
 * The same unasked: by no call that a sandbox, which the process was started in, may end it for.  There what is
 * unmapped at this very moment is not found out.
 */
bool os_peek_gently(const void *from, void *to, size_t n);

/* ---- output, exit ---------------------------------------------------------------------------- */
ssize_t os_write(int fd, const void *p, size_t n);
ssize_t os_read(int fd, void *p, size_t n);
void os_exit(int code) __attribute__((noreturn));
void os_abort(void) __attribute__((noreturn));

#endif
