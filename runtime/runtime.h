/*
 * runtime: what the shim may ask of the scheduler, and nothing more.
 *
 * This file has the words that all of it is said in: the caller, its locks, the clock.  The rest is in
 * headers of one concept each, which include this one:
 *
 *	g.h		threads: made, named, ended, found
 *	running.h	where the calling G runs: yields, its M, calls that block, children
 *	park.h		the parking lot: everything that waits
 *	netpoll.h	descriptors that are watched
 *	sigmask.h	signal masks, and which thread owns which
 *	preempt.h	signal 32: giving way, getting a P back, side stacks
 *	process.h	the process: start, fork, filters, what holds from now on, dumps
 *
 * Words: G a user-level thread, M a kernel thread, P the right to run Gs.  Code of the program
 * always runs on a G's stack with FS on that G's thread block; the scheduler runs on an M's g0
 * stack with FS on the M's own block.  A stack therefore never sees FS change under it, and
 * thread-local addresses may be cached by any compiler.
 *
 * Three kinds of callers reach these headers:
 *   - a G (getg() != NULL): may park;
 *   - a native thread (getg() == NULL, weft_on): made by libc's helpers or a raw clone; it may
 *     use every lot_ function, and then blocks in the kernel on a private futex;
 *   - anybody while weft_on == 0: no thread was made yet (or weft is disabled); the shim must pass
 *     through to libc and must not call the runtime.
 * Functions return 0 or -errno and never touch errno.
 *
 * Of the functions here these are apart, and why: runtime_denied_slow() and runtime_fault(), for WEFT=without stays for
 * good and WEFT=fail is one call.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/options.h"

#define hidden __attribute__((visibility("hidden")))

#define likely(x) __builtin_expect(!!(x), 1)

#define unlikely(x) __builtin_expect(!!(x), 0)
struct g;
struct m;
struct waiter;

/*
 * Lives in static TLS of every thread block.  On a G: g and tid are constant for a life.  On an M's
 * own block: g is NULL and m is set.  On a native thread all is zero.
 */
struct weft_tls {
	struct g *g;
	struct m *m;
	uint32_t locks; /* runtime locks held, and pins */
	uint32_t revoke; /* enum revoke: whether the P of the M was taken while the G was off (lock.h, blocked.c) */
	uint32_t depth; /* inside libc functions that hold a lock of libc's: not to be preempted */
	uint32_t need_resched; /* it was asked to give way, or to look, and could not: runtime_yieldhere() */
	uintptr_t handlersp; /* in the frame that called the innermost handler of the program here; 0: none runs */
	/*
	 * waiter of a thread that is no G, which is or was in the lot's queue (parkinglot_wait.c)
	 */
	struct waiter *waits;
	bool filtered;  /* behind a filter of its own: runtime/sched/filtered.c, and shim/syscall/seccomp.c */
	bool strict;    /* no G any more, and may make no call: shim/process/strict.c */
	uint32_t unshared; /* a process in our memory (clone.h); no G and no M has this */
#ifdef WEFT_DEBUG
	uint16_t held[32]; /* of each rank */
	const struct lock *heldlot[2]; /* the buckets of the lot among them */
#endif
	uint32_t tid; /* the thread's; never a kernel id, except main's */
	/* What glibc's objects store as owner: tid, but in a child of fork(2) by number its parent's.  0: ask libc. */
	uint32_t owner;
};

extern __thread struct weft_tls weft_tls hidden __attribute__((tls_model("initial-exec")));
extern int weft_on hidden; /* 1 once the scheduler runs; set once, on the only thread */

static inline struct g *getg(void)
{
	return weft_tls.g;
}

enum waitreason {
#define REASON(name, text, whom) Wait##name,
#include "runtime/sched/waitreason.def"
#undef REASON
	NWAITREASON
};

enum lockrank {
#define RANK(name) Rank##name,
#include "runtime/base/lockrank.def"
#undef RANK
	NLOCKRANK
};

/* The runtime's own kind (lock.h). */
struct lock {
	uint32_t word;     /* 0 free, 1 held; futex */
	uint32_t sleepers; /* threads in lock_slow()'s sleep, or about to be */
#ifdef WEFT_DEBUG
	uint8_t rank;
#endif
};

#ifdef WEFT_DEBUG
#define LOCK_INIT(r) { 0, 0, Rank##r }
#else
#define LOCK_INIT(r) { 0, 0 }
#endif

/*
 * The same for the shim's own data, and the only kind of lock that the shim has (check-locks):
 * ranked in lockrank.def, before all of the runtime's.  The holder of one is pinned: it is not
 * preempted, and no handler of the program runs on its thread, so a handler may take the lock too.
 * The holder may not park or make a system call that blocks; it may wake.  On a G the call may
 * switch before it returns.  Not for code that may have interrupted the runtime (runtime_busy()).
 * A fork child frees those that another thread may have held.  A shimlock lives in memory that is
 * never given back.
 */
struct shimlock {
	struct lock lock;
};

#define SHIMLOCK(rank) { LOCK_INIT(rank) }

void shimlock(struct shimlock *l) hidden;
void shimunlock(struct shimlock *l) hidden;

/* In a fork child: free, for no thread is left that may hold it. */
static inline void shimlock_fork_child(struct shimlock *l)
{
	l->lock.word = l->lock.sleepers = 0;
}

/*
 * The calling thread is inside the runtime (holds one of its locks, or runs on g0): a signal
 * handler that finds it so must not call the program.
 */
static inline bool runtime_busy(void)
{
	return weft_tls.locks != 0 || weft_tls.m != NULL;
}

/* The calling thread is an M of weft's, with a G or without. */
static inline bool runtime_on_m(void)
{
	return weft_tls.g != NULL || weft_tls.m != NULL;
}

/*
 * Between pin_m() and unpin() no handler of the program runs here and the calling G stays on its M.
 * The G may be without a P and is given none (pin() in lock.h does that).  For what concerns the M
 * alone: a pin() that has to get a P may leave this M before its caller noted anything.
 */
static inline void pin_m(void)
{
	weft_tls.locks++;
	fence_compiler();
}

static inline void unpin(void)
{
	fence_compiler();
	weft_tls.locks--;
}

uint64_t nanotime(void); /* CLOCK_MONOTONIC ns */

/*
 * ns from then to now, two times that two threads took: then may be the later one, for now is often from
 * before the caller came to the word that holds then.  0 in that case.
 */
static inline uint64_t since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

/*
 * 0, or the -errno that a system call of weft's own gets instead of being made: WEFT=without, or a
 * filter forbids it.
 */
extern bool os_missing_any __attribute__((visibility("hidden")));
long runtime_denied_slow(long nr, long a, long b, long c);

static inline long runtime_missing(long nr, long a, long b, long c)
{
	return __builtin_expect(os_missing_any, 0) ? runtime_denied_slow(nr, a, b, c) : 0;
}

/* True: what the caller is about to ask of kernel or libc must fail, as asked by WEFT=fail. */
bool runtime_fault(const char *what);

/* Copies n bytes; false: they are not there.  It does not fault where the kernel refuses the call that reads, too. */
typedef bool runtime_peek(const void *from, void *to, size_t n);

#endif
