/*
 * Threads that yield try, lock and unlock a shared mutex of each kind: a trylock() says EBUSY or that it has the
 * mutex, never that the caller holds it already, and a recursive one is not entered by two threads.
 */
#include "check.h"

enum { THREADS = 8, ROUNDS = 1500 };

static pthread_mutex_t mu;
static int inside;

static void *tries(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int err = pthread_mutex_trylock(&mu);

		if (err == EBUSY) {
			if (i % 8 == 0)
				sched_yield();
			continue;
		}
		CHECK_EQ(err, 0);
		CHECK_EQ(inside, 0);
		inside = 1;
		if (i % 2)
			sched_yield();
		inside = 0;
		CHECK_OK(pthread_mutex_unlock(&mu));
	}
	return arg;
}

static void kind(int type, int protocol, const char *name)
{
	pthread_t t[THREADS];
	pthread_mutexattr_t a;

	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_settype(&a, type));
	CHECK_OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_mutexattr_setprotocol(&a, protocol));
	CHECK_OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK_OK(pthread_mutex_init(&mu, &a));
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(tries, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_OK(pthread_mutex_destroy(&mu));
	passed("%s", name);
}

int main(void)
{
	kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, "error-checking");
	kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, "recursive");
	kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, "error-checking, inheriting");
	kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, "recursive, inheriting");
	return 0;
}
