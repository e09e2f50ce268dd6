/*
 * A destructor is ordinary code: it may lock, wait in a condition variable, sleep, create and join
 * a thread, print, and set values of other keys; the joiner waits for all of it.
 */
#include "check.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int waiting, released, ended;

static void *child(void *arg)
{
	sched_yield();
	return arg;
}

static void destroy(void *value)
{
	struct timespec ms = { 0, 1000000 };

	CHECK_OK(pthread_mutex_lock(&mu));
	if (++waiting == 20)
		CHECK_OK(pthread_cond_broadcast(&cv));
	while (!released)
		CHECK_OK(pthread_cond_wait(&cv, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_SYS(nanosleep(&ms, NULL));
	CHECK(join(spawn(child, value)) == value);
	CHECK_OK(pthread_mutex_lock(&mu));
	ended++;
	CHECK_OK(pthread_mutex_unlock(&mu));
}

static void *life(void *arg)
{
	CHECK_OK(pthread_setspecific(key, arg));
	return arg;
}

int main(void)
{
	pthread_t t[20];

	CHECK_OK(pthread_key_create(&key, destroy));
	for (long i = 0; i < 20; i++)
		t[i] = spawn(life, (void *)(i + 1));
	CHECK_OK(pthread_mutex_lock(&mu));
	while (waiting < 20)
		CHECK_OK(pthread_cond_wait(&cv, &mu));
	CHECK_EQ(ended, 0);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(pthread_tryjoin_np(t[i], NULL), EBUSY);
	released = 1;
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
	passed("20 threads in their destructors are not joinable yet");
	for (long i = 0; i < 20; i++)
		CHECK_EQ((long)join(t[i]), i + 1);
	CHECK_EQ(ended, 20);
	passed("join waited for the destructors");
	return 0;
}
