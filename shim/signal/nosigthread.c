/*
 * nosigthread: signals in a process that has no signal thread: the child of a fork (or a process
 * that made threads by clone(2) alone) until its G parks or makes a thread.
 *
 * Most children exec, and some ask the kernel for what it grants to a single kernel thread alone
 * (unshare(CLONE_NEWUSER)); so none is made before it is needed.  A park needs one: no thread would
 * run the G's handler while its kernel thread is in the scheduler (hooks.attend).  While the G
 * runs, its kernel thread gets the signals; one that comes while it is inside the runtime is
 * deferred into the ring (sigring.c), and a timer of the kernel's sends signal 32 from then on,
 * until its handler finds the G outside and takes what the ring has.
 *
 * Must never: make a kernel thread; take from the ring what the signal thread takes.
 */
#include "runtime/process.h"
#include "runtime/sched/policy.h"
#include "shim/signal/sigroute.h"

#include <sys/syscall.h>
#include <time.h>

enum { ARM_NONE, ARM_CHANGING, ARM_SET };

/*
 * seq_cst with the state of a slot in the ring: nosigthread_drain() writes this one, then reads that; a
 * producer fills its slot, then arms
 */
static _Atomic int arm_state;
static int timer; /* the kernel's number, while ARM_SET */

/* From a handler, on any kernel thread. */
void nosigthread_arm(void)
{
	struct itimerspec often = { { 0, ARM_EVERY }, { 0, ARM_EVERY } };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGWEFT };
	int was = ARM_NONE;

	if (!cas_seqcst(&arm_state, &was, ARM_CHANGING))
		return;
	/* The G's thread, or the one that will run it; main's, if this is a native thread. */
	ev._sigev_un._tid = (int)(runtime_on_m() ? direct3(SYS_gettid, 0, 0, 0)
							   : direct3(SYS_getpid, 0, 0, 0));
	if (own3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &timer)) {
		store_release(&arm_state, ARM_NONE); /* no memory: at the next signal, or park */
		return;
	}
	if (own4(SYS_timer_settime, timer, 0, &often, NULL)) {
		own3(SYS_timer_delete, timer, 0, 0);
		store_release(&arm_state, ARM_NONE);
		return;
	}
	store_release(&arm_state, ARM_SET);
}

void nosigthread_disarm(void)
{
	int was = ARM_SET;

	if (!cas_acq_rel(&arm_state, &was, ARM_CHANGING))
		return;
	own3(SYS_timer_delete, timer, 0, 0);
	store_seqcst(&arm_state, ARM_NONE);
}

bool nosigthread_armed(void)
{
	return unlikely(load_relaxed(&arm_state) != ARM_NONE);
}

/*
 * On the G, outside the runtime: what the ring has is queued on it, for the caller to deliver.
 * Meanwhile no handler of the program runs here (taking): it might never return, or come here again.
 */
void nosigthread_drain(void)
{
	if (sigroute_started())
		return; /* it is the signal thread's */
	self_thread.taking = true;
	fence_compiler();
	nosigthread_disarm(); /* first: what is deferred from here on starts the timer again */
	if (!sigroute_drain())
		nosigthread_arm();
	fence_compiler();
	taking_ends(~UINT64_C(0));
}

void nosigthread_fork_child(void)
{
	store_relaxed(&arm_state, ARM_NONE); /* timers stay with the parent */
}
