/*
 * Threads with the smallest stacks there are, which compute and wait, and are sent two signals all the
 * time, one on top of the other: what fits natively fits.
 */
#include "check.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 300 };

static atomic_int handled, stop;
static _Thread_local volatile long sum;

static void handler(int sig)
{
	volatile char room[256];

	room[0] = (char)sig;
	for (int i = 0; i < 200; i++)
		sum += room[0];
	atomic_fetch_add(&handled, 1);
}

static void *computes(void *arg)
{
	while (!atomic_load(&stop))
		for (int i = 0; i < 1000; i++)
			sum += i;
	return arg;
}

static void *waits(void *arg)
{
	while (!atomic_load(&stop))
		usleep(100);
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t t[THREADS];
	pthread_attr_t attr;
	long least = sysconf(_SC_THREAD_STACK_MIN);

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)(least > 16384 ? least : 16384)));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], &attr, i % 2 ? computes : waits, NULL));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++) {
			CHECK_OK(pthread_kill(t[i], SIGUSR1));
			CHECK_OK(pthread_kill(t[i], SIGUSR2));
		}
		if (round % 4 == 0)
			sched_yield();
	}
	while (atomic_load(&handled) < THREADS)
		sched_yield();
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads on the smallest stacks handled signals", THREADS);
	return 0;
}
