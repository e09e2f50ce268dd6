/*
 * sem_post is one of the few calls a signal handler may make: a handler that runs on the very
 * thread that waits, or on another, lets the waiter through; the wait itself returns EINTR or
 * restarts.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>

static sem_t sem, ready;

static void handler(int sig)
{
	int saved = errno;

	(void)sig;
	CHECK_SYS(sem_post(&sem));
	errno = saved;
}

static void *waiter(void *arg)
{
	for (int i = 0; i < 50; i++) {
		CHECK_SYS(sem_post(&ready));
		while (sem_wait(&sem) == -1)
			CHECK_EQ(errno, EINTR);
	}
	return arg;
}

static void await_ready(void)
{
	while (sem_wait(&ready) == -1)
		CHECK_EQ(errno, EINTR);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	int v;

	CHECK_SYS(sem_init(&sem, 0, 0));
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_flags = SA_RESTART;
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));

	pthread_t t = spawn(waiter, NULL);

	for (int i = 0; i < 50; i++) {
		await_ready();
		CHECK_OK(i % 5 == 0 ? raise(SIGUSR1) : pthread_kill(t, i % 2 ? SIGUSR1 : SIGUSR2));
	}
	join(t);
	CHECK_SYS(sem_getvalue(&sem, &v));
	CHECK_EQ(v, 0);
	passed("50 posts from handlers, 50 waits");
	return 0;
}
