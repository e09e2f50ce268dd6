/*
 * Every way to sleep lasts at least as long as asked, and 200 sleepers with steps of 5 ms wake in
 * about the order of their ends: none wakes after another whose end was half a second later.
 */
#include "check.h"

enum { SLEEPERS = 200 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long long order[SLEEPERS];
static int woken;

static void *sleeper(void *arg)
{
	int n = (int)(long)arg, ms = (n * 7 % SLEEPERS) * 5;
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L }, until;
	long long began = now_ns(CLOCK_MONOTONIC);

	switch (n % 4) {
	case 0:
		CHECK_SYS(nanosleep(&ts, NULL));
		break;
	case 1:
		CHECK_SYS(usleep(ms * 1000));
		break;
	case 2:
		CHECK_OK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
		break;
	case 3:
		until = after_ms(CLOCK_MONOTONIC, ms);
		CHECK_OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
		break;
	}
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= ms * 1000000LL);
	CHECK_OK(pthread_mutex_lock(&mu));
	order[woken++] = began + ms * 1000000LL;
	CHECK_OK(pthread_mutex_unlock(&mu));
	return NULL;
}

static void single_calls(void)
{
	struct timespec ts = { 0, 1000000000 }, ok = { 0, 0 }, until;
	long long began;

	CHECK_ERR(nanosleep(&ts, NULL), EINVAL);
	ts.tv_nsec = -1;
	CHECK_ERR(nanosleep(&ts, NULL), EINVAL);
	CHECK_EQ(clock_nanosleep(CLOCK_REALTIME, 0, &ts, NULL), EINVAL);
	CHECK_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ok, NULL), EINVAL);
	CHECK_SYS(nanosleep(&ok, NULL));
	CHECK_SYS(usleep(0));
	CHECK_EQ(sleep(0), 0);
	until = after_ms(CLOCK_REALTIME, -10000);
	CHECK_OK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL));
	began = now_ns(CLOCK_REALTIME);
	until = after_ms(CLOCK_REALTIME, 30);
	CHECK_OK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL));
	CHECK(now_ns(CLOCK_REALTIME) - began >= 30 * 1000000LL);
	began = now_ns(CLOCK_MONOTONIC);
	CHECK_EQ(sleep(1), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 1000 * 1000000LL);
}

int main(void)
{
	pthread_t t[SLEEPERS];

	single_calls();
	passed("bad times, no time, past times, a second");
	for (long i = 0; i < SLEEPERS; i++)
		t[i] = spawn(sleeper, (void *)i);
	for (int i = 0; i < SLEEPERS; i++)
		join(t[i]);
	for (int i = 0; i < SLEEPERS; i++)
		for (int k = i + 1; k < SLEEPERS; k++)
			CHECK(order[i] < order[k] + 500 * 1000000LL);
	passed("%d sleepers", SLEEPERS);
	return 0;
}
