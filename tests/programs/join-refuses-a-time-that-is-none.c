/*
 * pthread_timedjoin_np and pthread_clockjoin_np with a time that is none: since 2.41 EINVAL at once, of a thread that
 * runs, that has ended, and of the caller itself; and the thread can be joined afterwards.
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

static void *ends(void *arg)
{
	return arg;
}

static void refused(pthread_t t)
{
	static const long none[] = {-1, 1000000000};
	struct timespec ts;

	for (int i = 0; i < 2; i++) {
		ts = after_ms(CLOCK_REALTIME, 20000);
		ts.tv_nsec = none[i];
		CHECK_EQ(pthread_timedjoin_np(t, NULL, &ts), EINVAL);
		ts = after_ms(CLOCK_MONOTONIC, 20000);
		ts.tv_nsec = none[i];
		CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &ts), EINVAL);
		ts.tv_sec = 1; /* over, were it one */
		CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &ts), EINVAL);
	}
}

int main(void)
{
	pthread_t t;

	if (libc_minor() < 41) {
		puts("libc waits for such a time for ever before 2.41");
		return 77;
	}
	CHECK_SYS(sem_init(&hold, 0, 0));
	t = spawn(held, NULL);
	refused(t);
	CHECK_SYS(sem_post(&hold));
	join(t);
	passed("of a thread that runs");

	t = spawn(ends, NULL);
	let_others_block();
	refused(t);
	join(t);
	passed("of one that has ended");

	refused(pthread_self());
	passed("of the caller");
	return 0;
}
