/*
 * The four kinds of mutex, each with what it promises: normal excludes (trylock says EBUSY even to
 * the owner), recursive counts, errorcheck tells of relocking (EDEADLK) and of unlocking what is
 * not yours (EPERM), adaptive is a normal one that spins.
 */
#include "check.h"
#include <limits.h>

static void make(pthread_mutex_t *mu, int kind)
{
	pthread_mutexattr_t attr;
	int got;

	CHECK_OK(pthread_mutexattr_init(&attr));
	CHECK_OK(pthread_mutexattr_settype(&attr, kind));
	CHECK_OK(pthread_mutexattr_gettype(&attr, &got));
	CHECK_EQ(got, kind);
	CHECK_OK(pthread_mutex_init(mu, &attr));
	CHECK_OK(pthread_mutexattr_destroy(&attr));
}

static void *try_it(void *mu)
{
	int err = pthread_mutex_trylock(mu);

	if (err == 0)
		CHECK_OK(pthread_mutex_unlock(mu));
	return (void *)(long)err;
}

static void *unlock_it(void *mu)
{
	return (void *)(long)pthread_mutex_unlock(mu);
}

static long elsewhere(void *(*fn)(void *), pthread_mutex_t *mu)
{
	return (long)join(spawn(fn, mu));
}

static void excludes(pthread_mutex_t *mu)
{
	CHECK_OK(pthread_mutex_lock(mu));
	CHECK_EQ(pthread_mutex_trylock(mu), EBUSY);
	CHECK_EQ(elsewhere(try_it, mu), EBUSY);
	CHECK_OK(pthread_mutex_unlock(mu));
	CHECK_EQ(elsewhere(try_it, mu), 0);
	CHECK_OK(pthread_mutex_trylock(mu));
	CHECK_EQ(pthread_mutex_destroy(mu), EBUSY);
	CHECK_OK(pthread_mutex_unlock(mu));
}

static void recursive(pthread_mutex_t *mu)
{
	for (int i = 0; i < 1000; i++)
		CHECK_OK(i % 2 ? pthread_mutex_lock(mu) : pthread_mutex_trylock(mu));
	CHECK_EQ(elsewhere(try_it, mu), EBUSY);
	CHECK_EQ(elsewhere(unlock_it, mu), EPERM);
	for (int i = 0; i < 999; i++)
		CHECK_OK(pthread_mutex_unlock(mu));
	CHECK_EQ(elsewhere(try_it, mu), EBUSY);
	CHECK_OK(pthread_mutex_unlock(mu));
	CHECK_EQ(elsewhere(try_it, mu), 0);
	CHECK_EQ(pthread_mutex_unlock(mu), EPERM);
}

static void errorcheck(pthread_mutex_t *mu)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 10000);

	CHECK_EQ(pthread_mutex_unlock(mu), EPERM);
	CHECK_OK(pthread_mutex_lock(mu));
	CHECK_EQ(pthread_mutex_lock(mu), EDEADLK);
	CHECK_EQ(pthread_mutex_timedlock(mu, &soon), EDEADLK);
	CHECK_EQ(pthread_mutex_trylock(mu), EBUSY);
	CHECK_EQ(elsewhere(unlock_it, mu), EPERM);
	CHECK_EQ(elsewhere(try_it, mu), EBUSY);
	CHECK_OK(pthread_mutex_unlock(mu));
	CHECK_EQ(pthread_mutex_unlock(mu), EPERM);
}

int main(void)
{
	static pthread_mutex_t static_normal = PTHREAD_MUTEX_INITIALIZER,
			       static_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
			       static_errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
			       static_adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	pthread_mutex_t mu;

	make(&mu, PTHREAD_MUTEX_NORMAL);
	excludes(&mu);
	CHECK_OK(pthread_mutex_destroy(&mu));
	make(&mu, PTHREAD_MUTEX_DEFAULT);
	excludes(&mu);
	CHECK_OK(pthread_mutex_destroy(&mu));
	excludes(&static_normal);
	passed("normal");
	make(&mu, PTHREAD_MUTEX_RECURSIVE);
	recursive(&mu);
	CHECK_OK(pthread_mutex_destroy(&mu));
	recursive(&static_recursive);
	passed("recursive");
	make(&mu, PTHREAD_MUTEX_ERRORCHECK);
	errorcheck(&mu);
	CHECK_OK(pthread_mutex_destroy(&mu));
	errorcheck(&static_errorcheck);
	passed("errorcheck");
	make(&mu, PTHREAD_MUTEX_ADAPTIVE_NP);
	excludes(&mu);
	CHECK_OK(pthread_mutex_destroy(&mu));
	excludes(&static_adaptive);
	passed("adaptive");
	return 0;
}
