/*
 * sync: what every file about locks shares: the caller's id, when to stop waiting, where waiters
 * queue.
 *
 * Keys.  The lot queues by address alone.  A wake-up comes after the object was released, when
 * another thread may have destroyed it and put a different object at the same place: the wake-up is
 * then a stray.  Every waiter survives a stray wake-up, but a waker that hands ownership over
 * writes to the object.  So the low two bits of a key tell the families apart; all objects are
 * four-byte aligned.
 *
 * Must never: touch an object after the store that releases it, except under the lot's lock while
 * one of its waiters is known to exist.
 */
#ifndef WEFT_SHIM_SYNC_H
#define WEFT_SHIM_SYNC_H

#include "compat/tcb.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/shim.h"

#include <limits.h>

enum keykind {
	KEY_MUTEX = 0,  /* wakers hand over: plain mutexes only */
	KEY_COND = 1,
	KEY_RWLOCK = 2, /* wakers hand over */
	KEY_OTHER = 3,  /* semaphores, barriers, once, robust mutexes, futex words */
};

static inline const void *lot_key(const volatile void *obj, enum keykind kind)
{
	return (const char *)obj + kind;
}

/*
 * The id that libc's objects store as owner.  On a G weft_tls.owner and the id in its thread block
 * are the same number, so an object locked here may be unlocked inside libc and the other way
 * round.  Only valid while weft_on: before, libc's layout is unknown and libc's own functions do
 * the work.
 */
static inline int self_id(void)
{
	uint32_t id = weft_tls.owner;

	return (int)(likely(id) ? id : tcb_tid(tcb_self()));
}

/* Until when a call may wait. clock and abs are looked at only if it must: POSIX wants a free
 * lock taken whatever the time says. */
struct until {
	clockid_t clock;
	const struct timespec *abs; /* NULL: for ever */
};
#define FOREVER ((const struct until *)NULL)

static inline int until_park(const struct until *u, struct park *pk)
{
	return u ? park_until_shown(u->clock, u->abs, pk) : 0;
}

/* The clocks that libc's waits accept. */
static inline bool wait_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline bool bad_nsec(const struct timespec *ts)
{
	return ts->tv_nsec < 0 || ts->tv_nsec >= 1000000000;
}

/* A system call that does not block, so that it needs no handoff; usable while queued on the
 * lot.  Result or -errno. */
static inline long plain_syscall4(long nr, long a, long b, long c, long d)
{
	return direct(nr, a, b, c, d, 0, 0);
}

static inline long plain_syscall(long nr, long a, long b, long c)
{
	return direct(nr, a, b, c, 0, 0, 0);
}

/* once.c: in the child of any fork, weft running or not. */
void once_fork_child(void) hidden;

/* The caller owns a P or is a native thread.  Native: libc's own, its thread block is libc's. */
static inline bool cancel_due(void)
{
	return tcb_cancel_pending(tcb_self());
}

static inline void cancel_point(void)
{
	if (likely(!cancel_due()))
		return;
	if (on_g())
		testcancel();
	else
		pthread_testcancel();
}

/*
 * HANDOFF for a libc function that is known to wait, and may be left by cancellation: unwinding out
 * of it brings the P back before any handler of the program runs.  (Handlers that libc pushes
 * itself, to take a mutex again, run without one: they call only libc.)
 */
static inline void handoff_undo(const int *inside)
{
	if (*inside)
		syscall_reset();
}

#define HANDOFF_CP(call)                                                                           \
	({                                                                                         \
		int inside_ __attribute__((cleanup(handoff_undo))) = on_g();                       \
		entersyscallblock();                                                               \
		__typeof__(call) r_ = (call);                                                      \
		exitsyscall();                                                                     \
		inside_ = 0;                                                                       \
		r_;                                                                                \
	})

#endif
