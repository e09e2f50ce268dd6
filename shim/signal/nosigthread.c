/*
 * nosigthread: signals in a process that has no signal thread: the child of a fork (or a process
 * that made threads by clone(2) alone) until its G parks or makes a thread.
 *
 * Most children exec, and some ask the kernel for what it grants to a single kernel thread alone
 * (unshare(CLONE_NEWUSER)); so none is made before it is needed.  A park needs one: no thread would
 * run the G's handler while its kernel thread is in the scheduler (hooks.attend).  While the G
 * runs, its kernel thread gets the signals; one that comes while it is inside the runtime is
 * deferred into the ring of sigroute.c, and a timer of the kernel's sends signal 32 from then on,
 * until its handler finds the G outside and takes what the ring has.
 *
 * Must never: make a kernel thread; take from the ring what the signal thread takes.
 */
#include "shim/signal/sigroute.h"

#include <sys/syscall.h>
#include <time.h>

enum { EVERY = 100000 }; /* ns */
enum { NONE, CHANGES, RINGS };

static _Atomic int alarm_state;
static int timer; /* the kernel's number, while it RINGS */

/* From a handler, on any kernel thread. */
void sigalone_alarm(void)
{
	struct itimerspec often = { { 0, EVERY }, { 0, EVERY } };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGKICK };
	int was = NONE;

	if (!atomic_compare_exchange_strong(&alarm_state, &was, CHANGES))
		return;
	/* The G's thread, or the one that will run it; main's, if this is foreign. */
	ev._sigev_un._tid = (int)(on_g() || runtime_mtls() ? direct3(SYS_gettid, 0, 0, 0)
							   : direct3(SYS_getpid, 0, 0, 0));
	if (own3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &timer)) {
		atomic_store(&alarm_state, NONE); /* no memory: at the next signal, or park */
		return;
	}
	direct4(SYS_timer_settime, timer, 0, &often, NULL);
	atomic_store(&alarm_state, RINGS);
}

void sigalone_silence(void)
{
	int was = RINGS;

	if (!atomic_compare_exchange_strong(&alarm_state, &was, CHANGES))
		return;
	direct3(SYS_timer_delete, timer, 0, 0);
	atomic_store(&alarm_state, NONE);
}

bool sigalone_rings(void)
{
	return unlikely(atomic_load_explicit(&alarm_state, memory_order_relaxed) != NONE);
}

/*
 * On the G, outside the runtime: what the ring has is queued on it, for the caller to deliver.
 * Meanwhile no handler of the program runs here (taking): it might never return, or come here again.
 */
void sigalone_take(void)
{
	if (sigroute_started())
		return; /* it is the signal thread's */
	self_thread.taking = true;
	atomic_signal_fence(memory_order_seq_cst);
	sigalone_silence(); /* first: what is deferred from here on starts the timer again */
	if (!sigroute_drain())
		sigalone_alarm();
	atomic_signal_fence(memory_order_seq_cst);
	taking_ends(~UINT64_C(0));
}

void sigalone_fork_child(void)
{
	atomic_store(&alarm_state, NONE); /* timers stay with the parent */
}
