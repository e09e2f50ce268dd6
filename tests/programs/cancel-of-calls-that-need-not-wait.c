/*
 * A thread that is to be cancelled: sem_wait and sem_timedwait act on it also when there is a value,
 * sem_clockwait does not, and sleeping does whatever the time is.
 */
#include "check.h"
#include <stdbool.h>
#include <semaphore.h>

static sem_t sem;
static const struct timespec bad = { 1, -1 };

static void *waits(void *arg)
{
	CHECK_OK(pthread_cancel(pthread_self()));
	CHECK_SYS(sem_wait(&sem));
	return arg;
}

static void *waits_timed(void *arg)
{
	struct timespec late = after_ms(CLOCK_REALTIME, 20000);

	CHECK_OK(pthread_cancel(pthread_self()));
	CHECK_SYS(sem_timedwait(&sem, &late));
	return arg;
}

static void *waits_clock(void *arg)
{
	struct timespec late = after_ms(CLOCK_MONOTONIC, 20000);

	CHECK_OK(pthread_cancel(pthread_self()));
	CHECK_SYS(sem_clockwait(&sem, CLOCK_MONOTONIC, &late));
	return arg;
}

static void *waits_clock_long(void *arg)
{
	struct timespec late = after_ms(CLOCK_MONOTONIC, 20000);

	CHECK_OK(pthread_cancel(pthread_self()));
	CHECK_SYS(sem_clockwait(&sem, CLOCK_MONOTONIC, &late));
	return arg;
}

static void *sleeps(void *arg)
{
	CHECK_OK(pthread_cancel(pthread_self()));
	nanosleep(&bad, NULL);
	return arg;
}

static void *sleeps_till(void *arg)
{
	CHECK_OK(pthread_cancel(pthread_self()));
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &bad, NULL);
	return arg;
}

static bool cancelled(void *(*f)(void *), int value)
{
	CHECK_SYS(sem_init(&sem, 0, (unsigned int)value));
	return join(spawn(f, "a")) == PTHREAD_CANCELED;
}

int main(void)
{
	CHECK(cancelled(waits, 1));
	CHECK(cancelled(waits_timed, 1));
	passed("sem_wait, sem_timedwait");
	CHECK(!cancelled(waits_clock, 1));
	CHECK(cancelled(waits_clock_long, 0));
	passed("sem_clockwait, only if it must wait");
	CHECK(cancelled(sleeps, 0));
	CHECK(cancelled(sleeps_till, 0));
	passed("sleeps for times that there are not");
	return 0;
}
