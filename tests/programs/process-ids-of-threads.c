/*
 * getpid is the same in all threads; gettid is main's process id in main, its own and constant in
 * every other thread across all kinds of blocking, and never that of another live thread.
 */
#include "check.h"
#include <sys/syscall.h>

enum { THREADS = 50 };

static pid_t ids[THREADS];
static pthread_barrier_t bar;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	pid_t id = gettid();

	CHECK_EQ(getpid(), syscall(SYS_getpid));
	CHECK_EQ(syscall(SYS_gettid), id);
	CHECK(id != getpid());
	ids[(long)arg] = id;
	pthread_barrier_wait(&bar);
	for (int i = 0; i < 20; i++) {
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK_OK(pthread_mutex_unlock(&mu));
		if (i % 5 == 0)
			CHECK_SYS(usleep(200));
		CHECK_EQ(gettid(), id);
		CHECK_EQ(syscall(SYS_gettid), id);
	}
	pthread_barrier_wait(&bar);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK_EQ(gettid(), getpid());
	CHECK_OK(pthread_barrier_init(&bar, NULL, THREADS));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < i; k++)
			CHECK(ids[i] != ids[k]);
	CHECK_EQ(gettid(), getpid());
	passed("%d threads, each with an id of its own", THREADS);
	return 0;
}
