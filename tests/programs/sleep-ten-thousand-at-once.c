/*
 * 10,000 threads asleep at the same time, each five times for 1 to 20 ms; none wakes early.
 */
#include "check.h"

enum { SLEEPERS = 10000 };

static void *sleeper(void *arg)
{
	long n = (long)arg;

	for (int i = 0; i < 5; i++) {
		long long ns = 1000000 + (n * 31 + i * 7) % 19 * 1000000;
		struct timespec ts = { 0, ns };
		long long began = now_ns(CLOCK_MONOTONIC);

		CHECK_SYS(nanosleep(&ts, NULL));
		CHECK(now_ns(CLOCK_MONOTONIC) - began >= ns);
	}
	return arg;
}

int main(void)
{
	static pthread_t t[SLEEPERS];
	pthread_attr_t attr;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, 64 * 1024));
	for (long i = 0; i < SLEEPERS; i++)
		CHECK_OK(pthread_create(&t[i], &attr, sleeper, (void *)i));
	for (long i = 0; i < SLEEPERS; i++)
		CHECK_EQ((long)join(t[i]), i);
	passed("%d sleepers, five sleeps each", SLEEPERS);
	return 0;
}
