/*
 * A mutex that nobody holds can be destroyed, whatever its kind is and however it was taken before:
 * at once, after waiting, after waiting with a time limit, by trying, twice, and by a wait for a condition.
 */
#define _GNU_SOURCE 1
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

enum { THREADS = 6, ROUNDS = 40 };

static pthread_mutex_t mu;
static pthread_cond_t cond;
static int turns, busy;

static void lock_in_some_way(int n)
{
	struct timespec ts;
	int err;

	switch (n % 3) {
	case 0:
		CHECK_EQ(pthread_mutex_lock(&mu), 0);
		break;
	case 1:
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_sec += 100;
		CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), 0);
		break;
	default:
		while ((err = pthread_mutex_trylock(&mu)) == EBUSY)
			sched_yield();
		CHECK_EQ(err, 0);
	}
}

static void *contender(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		lock_in_some_way(n + i);
		CHECK_EQ(busy, 0);
		busy = 1;
		sched_yield();
		busy = 0;
		turns++;
		if (turns == THREADS * ROUNDS)
			pthread_cond_broadcast(&cond);
		/* The last rounds wait for all: each comes back from the condition with the mutex. */
		while (i == ROUNDS - 1 && turns < THREADS * ROUNDS)
			CHECK_EQ(pthread_cond_wait(&cond, &mu), 0);
		CHECK_EQ(pthread_mutex_unlock(&mu), 0);
	}
	return NULL;
}

/* A mutex that one thread holds, twice if it can; another one's time for it is over since before 1970. */
static void *too_late(void *arg)
{
	struct timespec never = { .tv_sec = -1 };

	(void)arg;
	CHECK_EQ(pthread_mutex_timedlock(&mu, &never), ETIMEDOUT);
	return NULL;
}

static void held_by_one(int type, int protocol)
{
	struct timespec now;
	pthread_t t;
	int times = type == PTHREAD_MUTEX_RECURSIVE ? 2 : 1;

	for (int i = 0; i < times; i++)
		CHECK_EQ(pthread_mutex_lock(&mu), 0);
	/* The kernel calls such a time invalid where priority is inherited. */
	if (protocol == PTHREAD_PRIO_NONE) {
		CHECK_EQ(pthread_create(&t, NULL, too_late, NULL), 0);
		CHECK_EQ(pthread_join(t, NULL), 0);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	CHECK_EQ(pthread_cond_timedwait(&cond, &mu, &now), ETIMEDOUT);
	for (int i = 0; i < times; i++)
		CHECK_EQ(pthread_mutex_unlock(&mu), 0);
}

/* False: there is no such mutex here. */
static bool one_kind(int type, int shared, int protocol, int robust)
{
	pthread_t t[THREADS];
	int number[THREADS];
	pthread_mutexattr_t a;
	pthread_condattr_t ca;

	CHECK_EQ(pthread_mutexattr_init(&a), 0);
	CHECK_EQ(pthread_mutexattr_settype(&a, type), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&a, shared), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&a, protocol), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&a, robust), 0);
	if (pthread_mutex_init(&mu, &a))
		return false;
	CHECK_EQ(pthread_condattr_init(&ca), 0);
	CHECK_EQ(pthread_condattr_setpshared(&ca, shared), 0);
	CHECK_EQ(pthread_cond_init(&cond, &ca), 0);
	turns = 0;
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		CHECK_EQ(pthread_create(&t[i], NULL, contender, &number[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(turns, THREADS * ROUNDS);
	held_by_one(type, protocol);
	CHECK_EQ(pthread_cond_destroy(&cond), 0);
	CHECK_EQ(pthread_mutex_destroy(&mu), 0);
	return true;
}

int main(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ADAPTIVE_NP };
	int kinds = 0;

	for (int type = 0; type < 4; type++)
		for (int shared = 0; shared < 2; shared++)
			for (int robust = 0; robust < 2; robust++) {
				kinds += one_kind(types[type], shared, PTHREAD_PRIO_NONE, robust);
				kinds += one_kind(types[type], shared, PTHREAD_PRIO_INHERIT, robust);
			}
	passed("%d kinds of mutexes", kinds);
	return 0;
}
