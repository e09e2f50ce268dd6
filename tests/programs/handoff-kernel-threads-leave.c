/*
 * Threads that wait for a process-shared condition variable wait in the kernel, each with a kernel
 * thread of its own.  When they have been woken and joined these go again, by themselves, while the
 * program goes on: the more there are the sooner.  Then as many may wait once more.
 */
#include "check.h"

enum { THREADS = 500, FEW = 100, ROUNDS = 3, PATIENCE = 3000 /* times 10 ms */ };

static pthread_mutex_t mu;
static pthread_cond_t cond;
static int waiting, go;

static void *waits(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	waiting++;
	while (!go)
		CHECK_OK(pthread_cond_wait(&cond, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	return arg;
}

static void shared(void)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;

	CHECK_OK(pthread_mutexattr_init(&ma));
	CHECK_OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_mutex_init(&mu, &ma));
	CHECK_OK(pthread_condattr_init(&ca));
	CHECK_OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_cond_init(&cond, &ca));
}

int main(void)
{
	pthread_t t[THREADS];
	int n;

	shared();
	for (int round = 0; round < ROUNDS; round++) {
		go = waiting = 0;
		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(waits, NULL);
		for (n = 0; n < THREADS;) {
			usleep(1000);
			CHECK_OK(pthread_mutex_lock(&mu));
			n = waiting;
			CHECK_OK(pthread_mutex_unlock(&mu));
		}
		CHECK(kernel_threads() >= THREADS);
		CHECK_OK(pthread_mutex_lock(&mu));
		go = 1;
		CHECK_OK(pthread_cond_broadcast(&cond));
		CHECK_OK(pthread_mutex_unlock(&mu));
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
		for (int i = 0; i < PATIENCE && kernel_threads() > FEW; i++)
			usleep(10000);
		CHECK(kernel_threads() <= FEW);
	}
	passed("%d kernel threads have gone, three times", THREADS);
	return 0;
}
