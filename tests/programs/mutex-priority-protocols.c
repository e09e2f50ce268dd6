/*
 * Mutexes with the priority inheritance and priority ceiling protocols: they exclude, wait, time
 * out and hand over like others.  (What they do to priorities needs real-time classes and is not
 * tried here.)
 */
#include "check.h"

enum { THREADS = 20, STEPS = 50 };

static pthread_mutex_t mu;
static long count;

static void make(int protocol, int kind)
{
	pthread_mutexattr_t attr;
	int got;

	CHECK_OK(pthread_mutexattr_init(&attr));
	CHECK_OK(pthread_mutexattr_setprotocol(&attr, protocol));
	CHECK_OK(pthread_mutexattr_getprotocol(&attr, &got));
	CHECK_EQ(got, protocol);
	CHECK_OK(pthread_mutexattr_settype(&attr, kind));
	CHECK_OK(pthread_mutex_init(&mu, &attr));
}

static void *work(void *arg)
{
	for (int i = 0; i < STEPS; i++) {
		struct timespec ts = after_ms(CLOCK_REALTIME, 50000);

		CHECK_OK(i % 2 ? pthread_mutex_lock(&mu) : pthread_mutex_timedlock(&mu, &ts));
		long seen = count;

		if (i % 8 == 0)
			sched_yield();
		count = seen + 1;
		CHECK_OK(pthread_mutex_unlock(&mu));
	}
	return arg;
}

static void *finds_it_held(void *arg)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 30);

	CHECK_EQ(pthread_mutex_trylock(&mu), EBUSY);
	CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), ETIMEDOUT);
	return arg;
}

static void exercise(const char *name)
{
	pthread_t t[THREADS];

	count = 0;
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(work, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(count, THREADS * STEPS);
	CHECK_OK(pthread_mutex_lock(&mu));
	join(spawn(finds_it_held, NULL));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_OK(pthread_mutex_destroy(&mu));
	passed("%s", name);
}

int main(void)
{
	make(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_NORMAL);
	exercise("priority inheritance, normal");
	make(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_RECURSIVE);
	CHECK_OK(pthread_mutex_lock(&mu));
	CHECK_OK(pthread_mutex_lock(&mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	exercise("priority inheritance, recursive");
	make(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ERRORCHECK);
	CHECK_OK(pthread_mutex_lock(&mu));
	CHECK_EQ(pthread_mutex_lock(&mu), EDEADLK);
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_EQ(pthread_mutex_unlock(&mu), EPERM);
	exercise("priority inheritance, errorcheck");

	/* A ceiling lets in only threads whose scheduling class may be raised to it. */
	make(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL);
	exercise("no protocol");
	return 0;
}
