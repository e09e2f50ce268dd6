/*
 * A thread that waits for a semaphore again and again is sent a signal, and straight after it the semaphore is
 * posted: when the wait returns the handler has run.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

enum { ROUNDS = 1500, PAUSE_NS = 20000 };

static sem_t sem, back;
static _Atomic int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK_OK(sem_wait(&sem));
		CHECK(handled >= i);
		CHECK_OK(sem_post(&back));
	}
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t t;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(sem_init(&sem, 0, 0));
	CHECK_OK(sem_init(&back, 0, 0));
	t = spawn(waits, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec pause = { 0, i % 3 * PAUSE_NS };

		if (i % 3)
			CHECK_SYS(nanosleep(&pause, NULL));
		CHECK_OK(pthread_kill(t, SIGUSR1));
		CHECK_OK(sem_post(&sem));
		CHECK_OK(sem_wait(&back));
	}
	join(t);
	passed("handled before");
	return 0;
}
