/*
 * The CPU time of another thread never becomes less, however often that thread gives way.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { LOOKS = 400000, THREADS = 3 };

static _Atomic bool enough;
static _Atomic unsigned yields;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static unsigned turn;

/* They hand a turn around, and so leave their CPU all the time. */
static void *gives_way(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	pthread_mutex_lock(&m);
	while (!enough) {
		while (turn % THREADS != me && !enough)
			pthread_cond_wait(&c, &m);
		turn++;
		pthread_cond_broadcast(&c);
		yields++;
	}
	pthread_mutex_unlock(&m);
	return NULL;
}

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	pthread_t t[THREADS];
	clockid_t clock[THREADS];
	long long last[THREADS] = { 0 };
	unsigned less = 0;

	for (size_t i = 0; i < THREADS; i++) {
		pthread_create(&t[i], NULL, gives_way, (void *)i);
		pthread_getcpuclockid(t[i], &clock[i]);
	}
	for (unsigned i = 0; i < LOOKS; i++) {
		long long is = now(clock[i % THREADS]);

		less += is < last[i % THREADS];
		last[i % THREADS] = is;
	}
	pthread_mutex_lock(&m);
	enough = true;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("less: %u\n", less);
	return 0;
}
