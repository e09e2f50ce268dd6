/*
 * sys: raw system calls for compat/.
 *
 * Discovery runs before the scheduler exists, on kernel threads that libc made, and the setxid
 * wrapper runs inside a signal handler with either FS.  Neither may go through a libc wrapper: most
 * of those names are exported by our own library (they would call the shim), and all of them touch
 * errno.
 *
 * Invariants: results are -errno, errno is never read or written, nothing here blocks unless the
 * system call does.
 */
#ifndef WEFT_COMPAT_SYS_H
#define WEFT_COMPAT_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "runtime/arch/cpu.h"

#ifndef hidden
#define hidden __attribute__((visibility("hidden")))
#endif

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	return arch_syscall(nr, a, b, c, d, e, f);
}

#define SYS_PICK(a, b, c, d, e, f, n, ...) n
#define sys_1(nr, a) sys6(nr, (long)(a), 0, 0, 0, 0, 0)
#define sys_2(nr, a, b) sys6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys_3(nr, a, b, c) sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_4(nr, a, b, c, d) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

struct sys_timespec {
	int64_t sec;
	int64_t nsec;
};

#define SYS_FUTEX_WAIT_PRIVATE 128
#define SYS_FUTEX_WAKE_PRIVATE 129

/* Sleeps while *w == val, at most ns nanoseconds (0: for ever).  Returns early for any reason. */
static inline long sys_futex_wait(void *w, uint32_t val, uint64_t ns)
{
	struct sys_timespec ts = {(int64_t)(ns / 1000000000), (int64_t)(ns % 1000000000)};

	return sys_4(SYS_futex, w, SYS_FUTEX_WAIT_PRIVATE, val, ns ? &ts : NULL);
}

static inline long sys_futex_wake(void *w, int n)
{
	return sys_3(SYS_futex, w, SYS_FUTEX_WAKE_PRIVATE, n);
}

static inline void sys_sleep(uint64_t ns)
{
	struct sys_timespec ts = {(int64_t)(ns / 1000000000), (int64_t)(ns % 1000000000)};

	sys_2(SYS_nanosleep, &ts, NULL);
}

/*
 * Before the ith look, from 0 on, for what another thread is about to do: first it gives way alone, for a sleep of
 * 20 us takes three times that, and several times as long as what is waited for.
 */
static inline void sys_look_again(int i)
{
	enum { YIELDS = 64 };

	if (i < YIELDS)
		sys_1(SYS_sched_yield, 0);
	else
		sys_sleep(20000);
}

static inline uint64_t sys_now(void)
{
	struct sys_timespec ts = {0, 0};

	sys_2(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, &ts);
	return (uint64_t)ts.sec * 1000000000 + (uint64_t)ts.nsec;
}

/*
 * A limit of time for what the other side of a look does.  A process that is stopped, or gets no CPU, does not use it
 * up: of the time from one look to the next some counts at most, as the other side had no more of it.
 */
struct sys_patience {
	uint64_t left, last;
};

static inline struct sys_patience sys_patience(uint64_t ns)
{
	return (struct sys_patience){ns, sys_now()};
}

/* A look: is there any left? */
static inline bool sys_patient(struct sys_patience *p)
{
	enum { COUNTS_NS = 50000000 };
	uint64_t now = sys_now(), gone = now - p->last;

	if (gone > COUNTS_NS)
		gone = COUNTS_NS;
	p->last = now;
	p->left = gone < p->left ? p->left - gone : 0;
	return p->left != 0;
}

static inline int sys_gettid(void)
{
	return (int)sys_1(SYS_gettid, 0);
}

static inline int sys_getpid(void)
{
	return (int)sys_1(SYS_getpid, 0);
}

/* Private anonymous memory, or NULL. */
static inline void *sys_map(size_t n)
{
	long r = sys6(SYS_mmap, 0, (long)n, 3 /* read, write */, 0x22 /* private, anonymous */, -1,
		      0);

	return (unsigned long)r > -4096UL ? NULL : (void *)r;
}

static inline void sys_unmap(void *p, size_t n)
{
	sys_2(SYS_munmap, p, n);
}

/* Sets the calling kernel thread's signal mask (one 64-bit word) and returns the old one. */
static inline uint64_t sys_sigmask(uint64_t mask)
{
	uint64_t old = 0;

	sys_4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, &old, 8);
	return old;
}

/* Everything but libc's own 32 and 33: a thread that blocks those hangs cancellation and setuid. */
#define SYS_MASK_ALL (~((UINT64_C(1) << 31) | (UINT64_C(1) << 32)))

#endif
