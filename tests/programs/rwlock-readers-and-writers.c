/*
 * Readers share, writers exclude: 100 threads mix reads and writes (some by try and timed calls) on
 * two counters that must always be equal; readers are seen together inside, writers never.
 */
#include "check.h"
#include <stdatomic.h>

enum { THREADS = 100, STEPS = 200 };

static pthread_rwlock_t rw;
static long a, b;
static atomic_int readers, writers;

static void read_once(int i)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 50000);

	if (i % 3 == 0)
		CHECK_OK(pthread_rwlock_rdlock(&rw));
	else if (i % 3 == 1)
		CHECK_OK(pthread_rwlock_timedrdlock(&rw, &ts));
	else
		while (pthread_rwlock_tryrdlock(&rw) != 0)
			sched_yield();
	atomic_fetch_add(&readers, 1);
	CHECK_EQ(writers, 0);

	long seen = a;

	if (i % 8 == 0)
		sched_yield();
	CHECK_EQ(b, seen);
	atomic_fetch_sub(&readers, 1);
	CHECK_OK(pthread_rwlock_unlock(&rw));
}

static void write_once(int i)
{
	struct timespec ts = after_ms(CLOCK_MONOTONIC, 50000);

	if (i % 2 == 0)
		CHECK_OK(pthread_rwlock_wrlock(&rw));
	else
		CHECK_OK(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &ts));
	CHECK_EQ(atomic_fetch_add(&writers, 1), 0);
	CHECK_EQ(readers, 0);
	a++;
	if (i % 4 == 0)
		sched_yield();
	b++;
	atomic_fetch_sub(&writers, 1);
	CHECK_OK(pthread_rwlock_unlock(&rw));
}

static void *work(void *arg)
{
	for (int i = 0; i < STEPS; i++) {
		if ((i + (long)arg) % 10 == 0)
			write_once(i / 10);
		else
			read_once(i);
	}
	return NULL;
}

static void with_kind(int kind, const char *name)
{
	pthread_rwlockattr_t attr;
	pthread_t t[THREADS];
	int got;

	CHECK_OK(pthread_rwlockattr_init(&attr));
	CHECK_OK(pthread_rwlockattr_setkind_np(&attr, kind));
	CHECK_OK(pthread_rwlockattr_getkind_np(&attr, &got));
	CHECK_EQ(got, kind);
	CHECK_OK(pthread_rwlock_init(&rw, &attr));
	CHECK_OK(pthread_rwlockattr_destroy(&attr));
	a = b = 0;
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(a, THREADS * STEPS / 10);
	CHECK_EQ(b, a);
	CHECK_OK(pthread_rwlock_destroy(&rw));
	passed("%s: %ld writes", name, a);
}

int main(void)
{
	with_kind(PTHREAD_RWLOCK_PREFER_READER_NP, "prefers readers");
	with_kind(PTHREAD_RWLOCK_PREFER_WRITER_NP, "prefers writers");
	with_kind(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, "prefers writers, not recursive");
	return 0;
}
