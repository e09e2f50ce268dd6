/* Threads that wait until a handler of theirs has run, each signalled by its handle. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>

enum { THREADS = 4 };

static sem_t ready, caught;

static void on_signal(int sig)
{
	(void)sig;
	sem_post(&caught);
}

static void *run(void *arg)
{
	sigset_t set;

	/* The signal comes inside the call or not at all. */
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	sigdelset(&set, SIGUSR1);
	sem_post(&ready);
	sigsuspend(&set);
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	sigset_t set;

	sem_init(&ready, 0, 0);
	sem_init(&caught, 0, 0);
	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&ready);
	for (int i = 0; i < THREADS; i++)
		if (pthread_kill(t[i], SIGUSR1))
			puts("there is no such thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&caught);
	puts("each caught its signal");
	return 0;
}
