/*
 * timedlock and clocklock: success at once when free whatever the time, ETIMEDOUT not before the
 * time when held, EINVAL for a time that is none, and success when the holder lets go while they
 * wait.
 */
#include "check.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *times_out(void *arg)
{
	long long began = now_ns(CLOCK_MONOTONIC);
	struct timespec ts = after_ms(CLOCK_REALTIME, 30);

	CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, 30);
	CHECK_EQ(pthread_mutex_clocklock(&mu, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_REALTIME, 30);
	CHECK_EQ(pthread_mutex_clocklock(&mu, CLOCK_REALTIME, &ts), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 80 * 1000000LL);

	ts = after_ms(CLOCK_REALTIME, -5000);
	CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), ETIMEDOUT);
	ts.tv_sec = -1;
	CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), ETIMEDOUT);
	ts.tv_sec = time(NULL) + 100;
	ts.tv_nsec = -1;
	CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), EINVAL);
	ts.tv_nsec = 1000000000;
	CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), EINVAL);
	CHECK_EQ(pthread_mutex_clocklock(&mu, CLOCK_MONOTONIC, &ts), EINVAL);
	return arg;
}

static void *gets_it(void *arg)
{
	struct timespec ts = after_ms(CLOCK_MONOTONIC, 30000);

	CHECK_OK(pthread_mutex_clocklock(&mu, CLOCK_MONOTONIC, &ts));
	sched_yield();
	CHECK_OK(pthread_mutex_unlock(&mu));
	return arg;
}

int main(void)
{
	struct timespec bad = { .tv_sec = 1, .tv_nsec = -5 }, past = { .tv_sec = 1, .tv_nsec = 0 };
	pthread_t t[40];

	CHECK_OK(pthread_mutex_timedlock(&mu, &bad));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_OK(pthread_mutex_clocklock(&mu, CLOCK_MONOTONIC, &past));
	passed("a free mutex is taken whatever the time says");
	for (int i = 0; i < 40; i++)
		t[i] = spawn(times_out, NULL);
	for (int i = 0; i < 40; i++)
		join(t[i]);
	CHECK_EQ(pthread_mutex_clocklock(&mu, CLOCK_THREAD_CPUTIME_ID, &past), EINVAL);
	passed("40 threads timed out and left nothing behind");
	for (int i = 0; i < 40; i++)
		t[i] = spawn(gets_it, NULL);
	let_others_block();
	CHECK_OK(pthread_mutex_unlock(&mu));
	for (int i = 0; i < 40; i++)
		join(t[i]);
	CHECK_OK(pthread_mutex_trylock(&mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_OK(pthread_mutex_destroy(&mu));
	passed("40 threads got it in time");
	return 0;
}
