/*
 * running: where and when the calling G runs: yields, its M, calls that block in the kernel, children.
 *
 * Must never: have a G wait for another (park.h).
 *
 * Functions that are apart, and why: entersyscallblock(), for to hand a P over costs a wake-up, which a call that
 * may not wait does not pay; runtime_child_gone(), for a child may be waited for by another G than it was
 * made by; runtime_release(), for what runtime_hold() counts in line has to be given back by a switch;
 * runtime_others_wait(), for the queues of a P are the runtime's.
 */
#ifndef WEFT_RUNNING_H
#define WEFT_RUNNING_H

#include "runtime/g.h"

struct pollslot; /* netpoll.h */

void gosched(void);    /* to the global tail, as Go's Gosched (sched_yield) */

enum lockfor {
	LOCK_SHARED, /* what is of the kernel thread, as long as the G is locked */
	/*
	 * The G changes its kernel thread, which is to end with it; M0 cannot end, so any G but main goes on
	 * elsewhere first.
	 */
	LOCK_OWN,
	/* The G makes a child process, or asks for those that this very thread made: the M is their parent (home.c). */
	LOCK_CHILD,
};
enum { ASIDE_NOW = 1 }; /* a deadline that is over: for a caller with a lock that making a kernel thread may need */

/*
 * Locks the calling G to its M until unlockosthread(); nests.  It may wait until there is another M for the
 * others (aside.c): until the deadline, in ns of nanotime(); 0: as long as it takes.
 */
void lockosthread(enum lockfor what, uint64_t until);
/* made: a child more, to one that was locked for that.  A child that has the G's memory copied says false. */
void unlockosthread(bool made);

/* The calling G, which is locked, has a real-time policy on its kernel thread, or none any more (realtime.c). */
void runtime_realtime(bool has);
/* Some G has, or had, such a policy, or a lock whose waiters may have one. */
extern _Atomic bool realtime hidden;
/* Some thread has, or had, a policy that has an order; the shim sets it.  Before that no priority is inherited. */
extern _Atomic bool realtime_order hidden;
/* A thread that has such a policy waits for descriptors in the kernel, and so does a holder of such a lock. */
static inline bool runtime_waits_itself(void)
{
	const struct gshim *s = (const struct gshim *)(const void *)getg();

	return unlikely(load_relaxed(&realtime)) && s &&
	       (s->ownp || (load_relaxed(&realtime_order) && load_relaxed(&s->holds)));
}

/*
 * The calling G is about to take a lock whose holder inherits the priorities of its waiters: until
 * runtime_release() it stays on its M while it runs, and has its M and a P for itself while it does not.
 * stay: the caller may not switch; what it has for itself it has until the next release.
 */
static inline void runtime_hold(void)
{
	struct gshim *s = (struct gshim *)(void *)getg();

	if (!s)
		return;
	if (unlikely(!load_relaxed(&realtime)))
		store_relaxed(&realtime, true);
	store_relaxed(&s->holds, load_relaxed(&s->holds) + 1);
}
void runtime_release(bool stay);

static inline bool runtime_holds(struct g *gp, uint32_t more) /* more than so many such locks */
{
	return load_seqcst(&g_shim(gp)->holds) > more;
}

void runtime_child_gone(void); /* the caller has waited for a child process */

/*
 * Around a call that may block in the kernel: between the two the G owns no P (sysmon may take it),
 * so the code in between must not call the runtime, except lot_ functions, which take a P back
 * while they park.  Nests; costs one compare-and-swap each way when no M wanted the P.  No-ops off
 * a G.
 */
void entersyscall(void);
/*
 * The call certainly waits: the P goes to another M now.  With an epoll of the program's, which the call waits
 * for: false, the caller is to park for it instead, and nothing was done (sched/rest.c).
 */
bool entersyscallwait(struct pollslot *epoll, int fd);
static inline void entersyscallblock(void)
{
	entersyscallwait(NULL, -1);
}
void exitsyscall(void);
bool runtime_others_wait(void); /* for the caller's P */

/* After a longjmp or unwinding out of a system call region: back to a G that owns a P. */
static inline void syscall_reset(void)
{
	struct g *gp = getg();

	while (gp && g_seen(gp)->sysdepth)
		exitsyscall();
}

#endif
