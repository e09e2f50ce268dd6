/*
 * A cancelled wait has either done nothing or was completed: a semaphore token or a ticket under a
 * condition variable is taken by a thread that then did not end in that wait, or left for the
 * others; the totals come out even.  (Bytes of a pipe are not tried: glibc before 2.41 loses them.)
 */
#include "check.h"
#include <semaphore.h>
#include <stdatomic.h>

enum { ROUNDS = 60, THREADS = 10 };

static sem_t sem;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static atomic_long sem_taken;
static long tickets, tickets_taken;

static void *takes_tokens(void *arg)
{
	for (;;) {
		if (sem_wait(&sem) == 0)
			sem_taken++;
	}
	return arg;
}

static void unlock(void *m)
{
	CHECK_OK(pthread_mutex_unlock(m));
}

static void *takes_tickets(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	pthread_cleanup_push(unlock, &mu);
	for (;;) {
		while (tickets == 0)
			CHECK_OK(pthread_cond_wait(&cv, &mu));
		tickets--;
		tickets_taken++;
	}
	pthread_cleanup_pop(1);
	return arg;
}

static void *takes_the_rest(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	while (tickets > 0) {
		tickets--;
		tickets_taken++;
	}
	CHECK_OK(pthread_mutex_unlock(&mu));
	return arg;
}

int main(void)
{
	long tokens = 0, given = 0;
	int value;

	CHECK_SYS(sem_init(&sem, 0, 0));
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t t[THREADS];

		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(i % 2 ? takes_tokens : takes_tickets, NULL);
		for (int i = 0; i < 20; i++) {
			CHECK_SYS(sem_post(&sem));
			tokens++;
			CHECK_OK(pthread_mutex_lock(&mu));
			tickets++;
			given++;
			CHECK_OK(pthread_cond_signal(&cv));
			CHECK_OK(pthread_mutex_unlock(&mu));
			if (i % 5 == round % 5)
				sched_yield();
			if (i >= 10)
				CHECK_OK(pthread_cancel(t[i - 10]));
		}
		for (int i = 0; i < THREADS; i++)
			CHECK(join(t[i]) == PTHREAD_CANCELED);
	}
	CHECK_SYS(sem_getvalue(&sem, &value));
	CHECK_EQ(sem_taken + value, tokens);
	passed("tokens: taken + left == given");
	join(spawn(takes_the_rest, NULL));
	CHECK_EQ(tickets_taken, given);
	CHECK_OK(pthread_mutex_trylock(&mu));
	passed("tickets: all were taken");
	return 0;
}
