/*
 * running: where and when the calling G runs: yields, its M, calls that block in the kernel, children.
 *
 * Must never: have a G wait for another (park.h).
 */
#ifndef WEFT_RUNNING_H
#define WEFT_RUNNING_H

#include "runtime/runtime.h"

void gosched(void);    /* to the global tail, as Go's Gosched (sched_yield) */

void lockosthread(void); /* locks the calling G to its M until unlockosthread(); nests */
void unlockosthread(void);

/*
 * The calling G, which is locked, has a real-time policy with this priority (0: none any more) on its
 * kernel thread (realtime.c).
 */
void runtime_realtime(int priority);
void runtime_raised(int priority); /* one that has such a policy: another priority, for a time */
extern _Atomic bool realtime hidden; /* some G has, or had, such a policy */
bool realtime_self(void);

/* The calling G's kernel thread is its own, and is to wait for descriptors by itself. */
static inline bool runtime_waits_itself(void)
{
	return unlikely(load_relaxed(&realtime)) && realtime_self();
}

/*
 * Before the calling G is locked to its kernel thread for long, or changes it (and ends it at exit).  M0
 * cannot end, so any G but main goes on elsewhere.  And another M is made for the others first, if none
 * is idle: making one later may need a lock that one of them holds.  No-op when it is locked already.
 */
void leavem0(void);

/*
 * Around what makes a child process of the calling G, or asks for those that this very thread made
 * (home.c): the G is on the M that is their parent, and locked.  made: there is one more.  A child
 * that has the G's memory copied calls child_ends(false).  They nest.
 */
void runtime_child_begins(void);
void runtime_child_ends(bool made);
void runtime_child_gone(void); /* the caller has waited for one */

/*
 * Around a call that may block in the kernel: between the two the G owns no P (sysmon may take it),
 * so the code in between must not call the runtime, except lot_ functions, which take a P back
 * while they park.  Nests; costs one compare-and-swap each way when no M wanted the P.  No-ops off
 * a G.
 */
void entersyscall(void);
void entersyscallblock(void); /* the call certainly waits: the P goes to another M now */
void exitsyscall(void);
bool runtime_others_wait(void); /* for the caller's P */

/* After a longjmp or unwinding out of a system call region: back to a G that owns a P. */
void syscall_reset(void);

#endif
