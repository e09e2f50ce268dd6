/*
 * A thread that locks and unlocks in a tight loop must not shut others out for ever: with 8 greedy
 * threads that hold the lock nearly all the time, a ninth still gets 100 turns.
 */
#include "check.h"
#include <stdatomic.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stop;

static void *greedy(void *arg)
{
	while (!stop) {
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK_OK(pthread_mutex_unlock(&mu));
	}
	return arg;
}

static void *modest(void *arg)
{
	for (int i = 0; i < 100; i++) {
		CHECK_OK(pthread_mutex_lock(&mu));
		CHECK_OK(pthread_mutex_unlock(&mu));
		sched_yield();
	}
	stop = 1;
	return arg;
}

int main(void)
{
	pthread_t t[9];

	for (int i = 0; i < 8; i++)
		t[i] = spawn(greedy, NULL);
	t[8] = spawn(modest, NULL);
	for (int i = 0; i < 9; i++)
		join(t[i]);
	passed("the modest thread got its 100 turns");
	return 0;
}
