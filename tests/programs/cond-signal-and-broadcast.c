/*
 * Condition variables: a signal frees one waiter, a broadcast all of 1,000, neither is remembered
 * when nobody waits, and the mutex is held again when wait returns.
 */
#include "check.h"

enum { WAITERS = 1000 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER, progress = PTHREAD_COND_INITIALIZER;
static int waiting, tickets, served, inside;

static void *waiter(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	waiting++;
	CHECK_OK(pthread_cond_signal(&progress));
	while (tickets == 0) {
		CHECK_OK(pthread_cond_wait(&cv, &mu));
		/* Held again: nobody else is between here and the unlock or the next wait. */
		CHECK_EQ(inside++, 0);
		CHECK_EQ(pthread_mutex_trylock(&mu), EBUSY);
		inside--;
	}
	tickets--;
	served++;
	CHECK_OK(pthread_cond_signal(&progress));
	CHECK_OK(pthread_mutex_unlock(&mu));
	return arg;
}

static void wait_until(int *what, int value)
{
	while (*what < value)
		CHECK_OK(pthread_cond_wait(&progress, &mu));
}

int main(void)
{
	static pthread_t t[WAITERS];

	CHECK_OK(pthread_cond_signal(&cv));
	CHECK_OK(pthread_cond_broadcast(&cv));
	for (int i = 0; i < WAITERS; i++)
		t[i] = spawn(waiter, NULL);

	CHECK_OK(pthread_mutex_lock(&mu));
	wait_until(&waiting, WAITERS);
	CHECK_EQ(served, 0);
	passed("signals to nobody are forgotten, 1000 wait");

	for (int i = 1; i <= 200; i++) {
		tickets++;
		CHECK_OK(pthread_cond_signal(&cv));
		wait_until(&served, i);
		CHECK_EQ(served, i);
	}
	passed("200 signals served one waiter each");

	tickets = WAITERS - 200;
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
	for (int i = 0; i < WAITERS; i++)
		join(t[i]);
	CHECK_EQ(served, WAITERS);
	CHECK_EQ(tickets, 0);
	passed("a broadcast served the rest");
	return 0;
}
