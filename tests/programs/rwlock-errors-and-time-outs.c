/*
 * The answers of a read-write lock: EBUSY of the try calls, EDEADLK for the writer that comes
 * again, ETIMEDOUT not before the time, EINVAL for a time that is none, and many recursive readers.
 */
#include "check.h"

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

static void *against_writer(void *arg)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 20);
	long long began = now_ns(CLOCK_MONOTONIC);

	CHECK_EQ(pthread_rwlock_tryrdlock(&rw), EBUSY);
	CHECK_EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
	CHECK_EQ(pthread_rwlock_timedrdlock(&rw, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_REALTIME, 20);
	CHECK_EQ(pthread_rwlock_timedwrlock(&rw, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, 20);
	CHECK_EQ(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, 20);
	CHECK_EQ(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 70 * 1000000LL);
	ts.tv_nsec = 1000000000;
	CHECK_EQ(pthread_rwlock_timedrdlock(&rw, &ts), EINVAL);
	CHECK_EQ(pthread_rwlock_timedwrlock(&rw, &ts), EINVAL);
	ts.tv_nsec = 0;
	CHECK_EQ(pthread_rwlock_clockrdlock(&rw, CLOCK_PROCESS_CPUTIME_ID, &ts), EINVAL);
	return arg;
}

static void *against_readers(void *arg)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
	CHECK_EQ(pthread_rwlock_timedwrlock(&rw, &ts), ETIMEDOUT);
	CHECK_OK(pthread_rwlock_tryrdlock(&rw));
	CHECK_OK(pthread_rwlock_unlock(&rw));
	ts.tv_sec = 0;
	CHECK_OK(pthread_rwlock_timedrdlock(&rw, &ts));
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

static void *reader(void *arg)
{
	CHECK_OK(pthread_rwlock_rdlock(&rw));
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

static void *writer(void *arg)
{
	CHECK_OK(pthread_rwlock_wrlock(&rw));
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

int main(void)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 20000);
	pthread_t t[40];

	CHECK_OK(pthread_rwlock_wrlock(&rw));
	CHECK_EQ(pthread_rwlock_wrlock(&rw), EDEADLK);
	CHECK_EQ(pthread_rwlock_rdlock(&rw), EDEADLK);
	CHECK_EQ(pthread_rwlock_timedwrlock(&rw, &ts), EDEADLK);
	CHECK_EQ(pthread_rwlock_timedrdlock(&rw, &ts), EDEADLK);
	CHECK_EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
	passed("the writer that comes again is told");
	for (int i = 0; i < 10; i++)
		t[i] = spawn(against_writer, NULL);
	for (int i = 0; i < 10; i++)
		join(t[i]);
	passed("others are kept out and time out");
	for (int i = 0; i < 40; i++)
		t[i] = spawn(i % 4 ? reader : writer, NULL);
	let_others_block();
	CHECK_OK(pthread_rwlock_unlock(&rw));
	for (int i = 0; i < 40; i++)
		join(t[i]);
	passed("30 readers and 10 writers were let in after the writer left");

	for (int i = 0; i < 1000; i++)
		CHECK_OK(pthread_rwlock_rdlock(&rw));
	join(spawn(against_readers, NULL));
	for (int i = 0; i < 1000; i++)
		CHECK_OK(pthread_rwlock_unlock(&rw));
	CHECK_OK(pthread_rwlock_trywrlock(&rw));
	CHECK_OK(pthread_rwlock_unlock(&rw));
	passed("1000 read locks of one thread, each needs its unlock");
	return 0;
}
