/*
 * A timer (SIGEV_THREAD_ID) and a descriptor (F_SETOWN_EX) that name a thread send it their signal.
 * When the thread has ended, no other thread gets that signal.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_int handled;
static timer_t timers[3];
static int ends[2];

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static timer_t timer_for(pid_t tid, long first_ms, long every_ms)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 2 };
	struct itimerspec it = { { 0, every_ms * 1000000L }, { 0, first_ms * 1000000L } };
	timer_t t;

	ev._sigev_un._tid = tid;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CHECK_SYS(timer_settime(t, 0, &it, NULL));
	return t;
}

/* Ends with the signals of two timers still to come, and one that waits for it, blocked. */
static void *names_itself(void *arg)
{
	struct f_owner_ex me = { .type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK_SYS(fcntl(ends[0], F_SETSIG, SIGRTMIN + 2));
	CHECK_SYS(fcntl(ends[0], F_SETOWN_EX, &me));
	CHECK_SYS(fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	timers[0] = timer_for(me.pid, 1, 0);
	timers[1] = timer_for(me.pid, 200, 10);
	timers[2] = timer_for(me.pid, 5, 10);
	let_others_block();
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct timespec ts = { .tv_nsec = 300000000 };

	CHECK_SYS(sigaction(SIGRTMIN + 2, &sa, NULL));
	CHECK_SYS(pipe(ends));
	spawn(waits, NULL);
	join(spawn(names_itself, NULL));
	CHECK_EQ(write(ends[1], "x", 1), 1);
	while (nanosleep(&ts, &ts) == -1)
		;
	CHECK_EQ(handled, 0);
	for (int i = 0; i < 3; i++)
		CHECK_SYS(timer_delete(timers[i]));
	passed("nobody gets the signals of a thread that has ended");
	return 0;
}
