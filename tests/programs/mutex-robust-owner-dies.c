/*
 * Robust mutexes: an owner that ends while holding gives EOWNERDEAD to the next, which repairs it
 * (consistent) or loses it for all (ENOTRECOVERABLE).  By lock, trylock and timedlock; with waiters
 * that were already parked; for an owner that returns, calls pthread_exit or is cancelled.
 */
#include "check.h"

static pthread_mutex_t mu;
static pthread_barrier_t held;

static void make(int kind)
{
	pthread_mutexattr_t attr;
	int robust;

	CHECK_OK(pthread_mutexattr_init(&attr));
	CHECK_OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	CHECK_OK(pthread_mutexattr_getrobust(&attr, &robust));
	CHECK_EQ(robust, PTHREAD_MUTEX_ROBUST);
	CHECK_OK(pthread_mutexattr_settype(&attr, kind));
	CHECK_OK(pthread_mutex_init(&mu, &attr));
}

static void *die_holding(void *how)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	if (how)
		pthread_exit(how);
	return how;
}

static void *hold_until_cancelled(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	pthread_barrier_wait(&held);
	for (;;)
		pause();
	return arg;
}

static void *heir(void *arg)
{
	int err = pthread_mutex_lock(&mu);

	if (err == EOWNERDEAD)
		CHECK_OK(pthread_mutex_consistent(&mu));
	else
		CHECK_EQ(err, 0);
	sched_yield();
	CHECK_OK(pthread_mutex_unlock(&mu));
	return (void *)(long)err;
}

static void *unrecoverable(void *arg)
{
	return (void *)(long)pthread_mutex_lock(&mu);
}

int main(void)
{
	static const int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };
	struct timespec ts = after_ms(CLOCK_REALTIME, 20000);
	pthread_t t[10];

	CHECK_OK(pthread_barrier_init(&held, NULL, 2));
	for (int k = 0; k < 3; k++) {
		make(kinds[k]);
		join(spawn(die_holding, NULL));
		CHECK_EQ(pthread_mutex_lock(&mu), EOWNERDEAD);
		CHECK_OK(pthread_mutex_consistent(&mu));
		CHECK_OK(pthread_mutex_unlock(&mu));
		join(spawn(die_holding, "exit"));
		CHECK_EQ(pthread_mutex_trylock(&mu), EOWNERDEAD);
		CHECK_OK(pthread_mutex_consistent(&mu));
		CHECK_OK(pthread_mutex_unlock(&mu));
		join(spawn(die_holding, NULL));
		CHECK_EQ(pthread_mutex_timedlock(&mu, &ts), EOWNERDEAD);
		CHECK_OK(pthread_mutex_consistent(&mu));
		CHECK_OK(pthread_mutex_unlock(&mu));
		CHECK_EQ(pthread_mutex_consistent(&mu), EINVAL);
		passed("kind %d: EOWNERDEAD by lock, trylock and timedlock", k);

		t[0] = spawn(hold_until_cancelled, NULL);
		pthread_barrier_wait(&held);
		for (int i = 1; i < 10; i++)
			t[i] = spawn(heir, NULL);
		let_others_block();
		CHECK_OK(pthread_cancel(t[0]));
		CHECK(join(t[0]) == PTHREAD_CANCELED);

		int told = 0;

		for (int i = 1; i < 10; i++)
			told += (long)join(t[i]) == EOWNERDEAD;
		CHECK_EQ(told, 1);
		passed("kind %d: of nine waiters one was told", k);

		join(spawn(die_holding, NULL));
		CHECK_EQ(pthread_mutex_lock(&mu), EOWNERDEAD);
		/* One waiter only: glibc wakes the first, who does not pass the news on. */
		t[0] = spawn(unrecoverable, NULL);
		let_others_block();
		CHECK_OK(pthread_mutex_unlock(&mu));
		CHECK_EQ((long)join(t[0]), ENOTRECOVERABLE);
		for (int i = 0; i < 5; i++)
			CHECK_EQ((long)join(spawn(unrecoverable, NULL)), ENOTRECOVERABLE);
		CHECK_EQ(pthread_mutex_trylock(&mu), ENOTRECOVERABLE);
		CHECK_OK(pthread_mutex_destroy(&mu));
		passed("kind %d: not recovered is not recoverable", k);
	}
	return 0;
}
