/*
 * Timers on a thread's own CPU time that name no thread: one that tells nothing (SIGEV_NONE) has nothing left when it
 * is over, and begins anew where it has an interval; what one has left never is more than it was set to; one that is
 * stopped sends no more; and none can be set once its thread has ended.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int handled;
static timer_t quiet, loud;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static int64_t used(void)
{
	struct timespec ts;

	CHECK_SYS(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void use(int64_t ns)
{
	int64_t end = used() + ns;

	while (used() < end)
		sched_yield();
}

static struct itimerspec left(timer_t timer)
{
	struct itimerspec it;

	CHECK_SYS(timer_gettime(timer, &it));
	return it;
}

static void set(timer_t timer, long first, long every)
{
	struct itimerspec it = { { 0, every }, { 0, first } };

	CHECK_SYS(timer_settime(timer, 0, &it, NULL));
}

static void *thread(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_NONE };

	CHECK_SYS(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &quiet));
	for (int i = 0; i < 20; i++) {
		set(quiet, 200000, 0);
		CHECK(left(quiet).it_value.tv_nsec <= 200000);
		use(250000);
		CHECK_EQ(left(quiet).it_value.tv_nsec, 0);
		set(quiet, 200000, 70000);
		use(250000);
		CHECK(left(quiet).it_value.tv_nsec > 0);
		CHECK(left(quiet).it_value.tv_nsec <= 70000);
		CHECK_EQ(left(quiet).it_interval.tv_nsec, 70000);
	}
	set(quiet, 0, 0);
	CHECK_EQ(left(quiet).it_value.tv_nsec, 0);
	ev.sigev_notify = SIGEV_SIGNAL;
	ev.sigev_signo = SIGRTMIN + 1;
	CHECK_SYS(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &loud));
	set(loud, 900000000, 0);
	use(1000000);
	set(loud, 0, 0);
	CHECK_EQ(left(loud).it_value.tv_nsec, 0);
	return arg;
}

/* A thread that was joined may be there for the kernel a moment longer. */
static void is_gone(timer_t timer)
{
	struct itimerspec it = { { 0, 0 }, { 1000, 0 } };

	while (timer_settime(timer, 0, &it, NULL) == 0)
		sched_yield();
	CHECK_EQ(errno, ESRCH);
	CHECK_EQ(left(timer).it_value.tv_sec, 0);
	CHECK_SYS(timer_delete(timer));
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGRTMIN + 1, &sa, NULL));
	join(spawn(thread, NULL));
	passed("one that tells nothing is read");
	is_gone(quiet);
	is_gone(loud);
	CHECK_EQ(handled, 0);
	passed("one of a thread that has ended cannot be set");
	return 0;
}
