/*
 * Waiters with very short time-outs race with signals: a waiter either takes a ticket or times out,
 * the sum is exact, and after all of it the condition variable still works.
 */
#include "check.h"

enum { WAITERS = 50, TRIES = 60 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static long tickets, taken, gave_up, finished;

static void *waiter(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	for (int i = 0; i < TRIES; i++) {
		struct timespec ts = after_ms(CLOCK_REALTIME, i % 4);
		int err = 0;

		while (tickets == 0 && err == 0)
			err = pthread_cond_timedwait(&cv, &mu, &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
		if (tickets > 0) {
			tickets--;
			taken++;
		} else {
			gave_up++;
		}
	}
	finished++;
	CHECK_OK(pthread_mutex_unlock(&mu));
	return arg;
}

int main(void)
{
	pthread_t t[WAITERS];
	long given = 0, done;

	for (int i = 0; i < WAITERS; i++)
		t[i] = spawn(waiter, NULL);
	do {
		CHECK_OK(pthread_mutex_lock(&mu));
		if (tickets < 3) {
			tickets++;
			given++;
			CHECK_OK(given % 5 ? pthread_cond_signal(&cv)
					   : pthread_cond_broadcast(&cv));
		}
		done = finished;
		CHECK_OK(pthread_mutex_unlock(&mu));
		sched_yield();
	} while (done < WAITERS);
	for (int i = 0; i < WAITERS; i++)
		join(t[i]);
	CHECK_EQ(given, taken + tickets);
	CHECK_EQ(taken + gave_up, WAITERS * TRIES);
	passed("every try took a ticket or gave up");

	tickets = 0;
	t[0] = spawn(waiter, NULL);
	join(t[0]);
	CHECK_OK(pthread_cond_destroy(&cv));
	CHECK_EQ(taken + gave_up, (WAITERS + 1) * TRIES);
	passed("nothing was left in the condition variable");
	return 0;
}
