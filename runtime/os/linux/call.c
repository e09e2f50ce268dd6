/*
 * call: the raw system calls that need no more than a line each.
 */
#include "runtime/os/os.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

long os_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = unlikely(os_missing_any) ? os_missing(nr, a, b, c) : 0;

	return unlikely(r) ? r : arch_syscall(nr, a, b, c, d, e, f);
}

#define sys6 os_syscall
#define sys4(n, a, b, c, d) os_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys3(n, a, b, c) sys4(n, a, b, c, 0)

int os_gettid(void)
{
	return (int)sys3(SYS_gettid, 0, 0, 0);
}

int os_getpid(void)
{
	return (int)sys3(SYS_getpid, 0, 0, 0);
}

int os_futex_wait(uint32_t *w, uint32_t v, uint64_t deadline)
{
	struct timespec ts = { (time_t)(deadline / 1000000000), (long)(deadline % 1000000000) };

	/* WAIT_BITSET takes an absolute CLOCK_MONOTONIC time: a restarted wait does not drift. */
	return (int)sys6(SYS_futex, (long)w, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, (long)v,
			 deadline ? (long)&ts : 0, 0, (long)FUTEX_BITSET_MATCH_ANY);
}

int os_futex_wait_realtime(uint32_t *w, uint32_t v, uint64_t at)
{
	struct timespec ts = { (time_t)(at / 1000000000), (long)(at % 1000000000) };

	return (int)sys6(SYS_futex, (long)w,
			 FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, (long)v,
			 (long)&ts, 0, (long)FUTEX_BITSET_MATCH_ANY);
}

void os_futex_wake(uint32_t *w, int n)
{
	sys3(SYS_futex, w, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n);
}

int os_tgkill(int pid, int tid, int sig)
{
	/* Nor one that the handler could not return from. */
	if (!os_has(OS_kick))
		return -ENOSYS;
	return (int)sys3(SYS_tgkill, pid, tid, sig);
}

uint64_t os_sigmask(uint64_t mask)
{
	uint64_t old = 0;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &old, sizeof(mask));
	return old;
}

uint64_t os_sigmask_get(void)
{
	uint64_t old = 0;

	sys4(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &old, sizeof(old));
	return old;
}

void os_sigunblock(int sig)
{
	uint64_t mask = UINT64_C(1) << (sig - 1);

	sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask));
}

int os_sigaltstack(void *sp, size_t size, int flags)
{
	struct {
		void *sp;
		int flags;
		size_t size;
	} ss = { sp, sp ? flags : 2 /* SS_DISABLE */, size };

	return (int)sys3(SYS_sigaltstack, &ss, NULL, 0);
}

void os_timerslack(uint64_t ns)
{
	sys3(SYS_prctl, PR_SET_TIMERSLACK, ns, 0);
}

/*
 * Since Linux 6.12; before, the field means nothing to a normal thread.  A real-time one has no use
 * for it.
 */
void os_cpuslice(uint64_t ns)
{
	struct sched_attr attr;

	if (sys4(SYS_sched_getattr, 0, &attr, SCHED_ATTR_SIZE_VER0, 0) || attr.sched_policy != 0)
		return;
	attr.size = SCHED_ATTR_SIZE_VER0;
	attr.sched_runtime = ns;
	sys3(SYS_sched_setattr, 0, &attr, 0);
}

void os_setname(const char *name)
{
	sys3(SYS_prctl, PR_SET_NAME, name, 0);
}

void os_nonewprivs(void)
{
	arch_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); /* whatever another thread's filter forbids */
}

void os_osyield(void)
{
	sys3(SYS_sched_yield, 0, 0, 0);
}

ssize_t os_write(int fd, const void *p, size_t n)
{
	return sys3(SYS_write, fd, p, n);
}

ssize_t os_read(int fd, void *p, size_t n)
{
	return sys3(SYS_read, fd, p, n);
}

void os_exit(int code)
{
	for (;;)
		sys3(SYS_exit_group, code, 0, 0);
}

void os_abort(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} dfl = { 0 };

	/* The program's handler for SIGABRT must not run inside a broken scheduler. */
	sys4(SYS_rt_sigaction, SIGABRT, &dfl, NULL, sizeof(dfl.mask));
	os_sigmask(0);
	os_tgkill(os_getpid(), os_gettid(), SIGABRT);
	os_exit(134);
}
