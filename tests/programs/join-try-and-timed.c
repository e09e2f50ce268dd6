/*
 * pthread_tryjoin_np, pthread_timedjoin_np, pthread_clockjoin_np: busy, time-out (both clocks,
 * times in the past), and success while waiting.  (Times that are not times and unknown clocks are
 * left out: glibc's loop retries the kernel's EINVAL for ever.)
 */
#include "check.h"
#include <semaphore.h>

static sem_t hold;

static void *held(void *arg)
{
	while (sem_wait(&hold) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

static void *release_soon(void *arg)
{
	let_others_block();
	CHECK_SYS(sem_post(&hold));
	return arg;
}

int main(void)
{
	struct timespec ts;
	void *value = NULL;
	long long began;

	CHECK_SYS(sem_init(&hold, 0, 0));

	pthread_t t = spawn(held, "a");

	CHECK_EQ(pthread_tryjoin_np(t, &value), EBUSY);
	passed("tryjoin of a running thread is EBUSY");

	ts = after_ms(CLOCK_REALTIME, -1000);
	CHECK_EQ(pthread_timedjoin_np(t, &value, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, -1000);
	CHECK_EQ(pthread_clockjoin_np(t, &value, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	passed("times in the past");

	began = now_ns(CLOCK_MONOTONIC);
	ts = after_ms(CLOCK_REALTIME, 40);
	CHECK_EQ(pthread_timedjoin_np(t, &value, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, 40);
	CHECK_EQ(pthread_clockjoin_np(t, &value, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 70 * 1000000LL);
	CHECK(value == NULL);
	passed("time-outs wait and leave the thread joinable");

	pthread_t helper = spawn(release_soon, NULL);

	ts = after_ms(CLOCK_REALTIME, 20000);
	CHECK_OK(pthread_timedjoin_np(t, &value, &ts));
	CHECK_EQ(strcmp((char *)value, "a"), 0);
	join(helper);
	passed("timedjoin gets the value");

	t = spawn(held, "b");
	helper = spawn(release_soon, NULL);
	ts = after_ms(CLOCK_MONOTONIC, 20000);
	CHECK_OK(pthread_clockjoin_np(t, &value, CLOCK_MONOTONIC, &ts));
	CHECK_EQ(strcmp((char *)value, "b"), 0);
	join(helper);
	passed("clockjoin gets the value");

	t = spawn(held, "c");
	CHECK_SYS(sem_post(&hold));

	int err;

	while ((err = pthread_tryjoin_np(t, &value)) == EBUSY)
		sched_yield();
	CHECK_EQ(err, 0);
	CHECK_EQ(strcmp((char *)value, "c"), 0);
	passed("tryjoin of an ended thread gets the value");

	t = spawn(held, "d");
	CHECK_SYS(sem_post(&hold));
	CHECK_OK(pthread_timedjoin_np(t, &value, NULL));
	CHECK_EQ(strcmp((char *)value, "d"), 0);
	passed("timedjoin without a time waits for ever");
	return 0;
}
