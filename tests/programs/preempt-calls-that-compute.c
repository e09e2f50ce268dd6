/*
 * Threads that make call after call, each of which computes in the kernel, short or long, leave the CPU to others:
 * to one that sleeps, to one that computes outside of calls, and to those that pass a mutex on.
 */
#include "check.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 2, LONG = 2, ROUNDS = 40, PASSES = 20, LONG_BYTES = 8 << 20, SHORT_BYTES = 128 << 10 };

static char bytes[LONG_BYTES];
static _Atomic int over;
static _Atomic long calls, loops;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *draws(void *arg)
{
	while (!over) {
		CHECK(getrandom(bytes, (size_t)(intptr_t)arg, 0) > 0);
		calls++;
	}
	return NULL;
}

static void *loop(void *arg)
{
	while (!over)
		loops++;
	return arg;
}

static void *passes(void *arg)
{
	for (int i = 0; i < PASSES; i++) {
		CHECK(pthread_mutex_lock(&mutex) == 0);
		usleep(1000);
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	}
	return arg;
}

int main(void)
{
	pthread_t t[SHORT + LONG + 1], p[2];
	long before;
	int n = 0;

	while (n < SHORT)
		CHECK(pthread_create(&t[n++], NULL, draws, (void *)SHORT_BYTES) == 0);
	while (n < SHORT + LONG)
		CHECK(pthread_create(&t[n++], NULL, draws, (void *)LONG_BYTES) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&p[i], NULL, passes, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++)
		usleep(1000);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(p[i], NULL) == 0);
	CHECK(calls > 0);
	CHECK(pthread_create(&t[n++], NULL, loop, NULL) == 0);
	before = calls;
	while (loops < 100000 || calls < before + SHORT + LONG)
		usleep(1000);
	over = 1;
	while (n)
		CHECK(pthread_join(t[--n], NULL) == 0);
	return 0;
}
