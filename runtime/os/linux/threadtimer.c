/*
 * threadtimer: a timer of the kernel's that sends a signal to one thread.
 *
 * Must never: use libc's timers, which have threads and numbers of their own.
 */
#include "runtime/os/os.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

unsigned long os_alarm_limit(void)
{
	struct rlimit rl;

	return os_syscall(SYS_prlimit64, 0, RLIMIT_SIGPENDING, 0, (long)&rl, 0, 0) ? 0 : rl.rlim_cur;
}

int os_alarm_make(int tid, int sig, int *timer)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };

	ev._sigev_un._tid = tid;
	return (int)os_syscall(SYS_timer_create, CLOCK_MONOTONIC, (long)&ev, (long)timer, 0, 0, 0);
}

int os_alarm_set(int timer, uint64_t when)
{
	struct itimerspec at = { { 0, 0 }, { (time_t)(when / 1000000000), (long)(when % 1000000000) } };

	return (int)os_syscall(SYS_timer_settime, timer, TIMER_ABSTIME, (long)&at, 0, 0, 0);
}

void os_alarm_delete(int timer)
{
	os_syscall(SYS_timer_delete, timer, 0, 0, 0, 0, 0);
}
