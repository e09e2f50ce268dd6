/*
 * 20,000 live threads parked in one condition variable, then woken by one broadcast and joined. The
 * count of live threads is proved by a counter that each raises under the mutex before it waits.
 */
#include "check.h"

enum { THREADS = 20000 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, all_in = PTHREAD_COND_INITIALIZER;
static int inside, released, woken;

static void *park(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	if (++inside == THREADS)
		CHECK_OK(pthread_cond_signal(&all_in));
	while (!released)
		CHECK_OK(pthread_cond_wait(&go, &mu));
	woken++;
	CHECK_OK(pthread_mutex_unlock(&mu));
	return arg;
}

int main(void)
{
	static pthread_t t[THREADS];
	pthread_attr_t attr;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, 64 * 1024));
	for (long i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], &attr, park, (void *)i));
	CHECK_OK(pthread_mutex_lock(&mu));
	while (inside != THREADS)
		CHECK_OK(pthread_cond_wait(&all_in, &mu));
	CHECK_EQ(woken, 0);
	released = 1;
	CHECK_OK(pthread_cond_broadcast(&go));
	CHECK_OK(pthread_mutex_unlock(&mu));
	passed("20000 threads live and waiting");

	for (long i = 0; i < THREADS; i++)
		CHECK_EQ((long)join(t[i]), i);
	CHECK_EQ(woken, THREADS);
	passed("20000 threads woken and joined");
	return 0;
}
