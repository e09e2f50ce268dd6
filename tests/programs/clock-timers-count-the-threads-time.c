/*
 * Timers on a thread's CPU time, by its clock's number and as CLOCK_THREAD_CPUTIME_ID: one that
 * computes is told, one that sleeps is not, though others compute meanwhile.  A sleep on the clock
 * of a thread that computes comes to its end.
 */
#include "check.h"
#include <signal.h>
#include <sys/syscall.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static _Atomic int stop, fired;

static void on_signal(int sig)
{
	(void)sig;
	fired++;
}

static void *computes(void *arg)
{
	(void)arg;
	while (!stop)
		sched_yield();
	return NULL;
}

static timer_t timer_on(clockid_t clock)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec in = { .it_value = { 0, 20000000 } };
	timer_t t;

	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	CHECK_SYS(timer_create(clock, &ev, &t));
	CHECK_SYS(timer_settime(t, 0, &in, NULL));
	return t;
}

static void *with_timer(void *arg)
{
	clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
	timer_t t;

	if (arg)
		CHECK_OK(pthread_getcpuclockid(pthread_self(), &clock));
	fired = 0;
	t = timer_on(clock);
	for (int i = 0; i < 20; i++)
		usleep(5000);
	CHECK_EQ(fired, 0);
	while (!fired)
		CHECK(now_ns(CLOCK_THREAD_CPUTIME_ID) > 0);
	CHECK_EQ(fired, 1);
	CHECK_SYS(timer_delete(t));
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct timespec ts = { 0, 30000000 };
	long long before, now;
	pthread_t a, b;
	clockid_t clock;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	a = spawn(computes, NULL);
	b = spawn(computes, NULL);
	join(spawn(with_timer, NULL));
	passed("the caller's time");
	join(spawn(with_timer, ""));
	passed("the caller's time, by the number of its clock");

	CHECK_OK(pthread_getcpuclockid(a, &clock));
	before = now_ns(clock);
	CHECK_OK(clock_nanosleep(clock, 0, &ts, NULL));
	now = now_ns(clock);
	CHECK(now - before >= 30000000);
	ts = (struct timespec){ (now + 30000000) / 1000000000, (now + 30000000) % 1000000000 };
	CHECK_OK(clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL));
	CHECK(now_ns(clock) >= now + 30000000);
	CHECK_OK(pthread_getcpuclockid(pthread_self(), &clock));
	CHECK_EQ(clock_nanosleep(clock, 0, &ts, NULL), EINVAL);
	passed("a sleep on another's time");
	stop = 1;
	join(a);
	join(b);
	return 0;
}
