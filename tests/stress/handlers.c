/*
 * handlers: threads that lock, wait and switch while signal handlers run on them that may block,
 * post semaphores and write; a handler may meet any instruction.
 *
 *	handlers [STEPS]
 *
 * The workers' invariants are those of mutexes and of a ping-pong that never loses a ball.  The
 * handlers count themselves: each signal sent is at most one run, and at least one came.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

enum { WORKERS = 6 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER, ballmu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned long a, b;
static unsigned ball; /* whose turn it is */
static sem_t posted;
static int pipefd[2];
static atomic_ulong sent, ran, drained;
static atomic_int left;
static unsigned steps = 40000;
static __thread unsigned long self_check;

static void on_signal(int sig)
{
	int saved = errno;

	ran++;
	sem_post(&posted);
	/* A pipe that is read all the time: the write may have to wait. */
	if (write(pipefd[1], "x", 1) != 1)
		_exit(3);
	errno = saved;
}

static void *worker(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	self_check = me;
	for (unsigned i = 0; i < steps; i++) {
		CHECK(pthread_mutex_lock(&mu) == 0);
		CHECK(a == b);
		a++;
		if (i % 8 == 0)
			sched_yield();
		b++;
		CHECK(pthread_mutex_unlock(&mu) == 0);
		if (i % 4 == 0) {
			CHECK(pthread_mutex_lock(&ballmu) == 0);
			while (ball != me)
				CHECK(pthread_cond_wait(&turn, &ballmu) == 0);
			ball = (ball + 1) % WORKERS;
			CHECK(pthread_cond_broadcast(&turn) == 0);
			CHECK(pthread_mutex_unlock(&ballmu) == 0);
		}
		errno = (int)me + 1;
		sched_yield();
		CHECK(errno == (int)me + 1);
		CHECK(self_check == me);
	}
	left--;
	return arg;
}

static void *drain(void *arg)
{
	char buf[256];
	ssize_t n;

	while ((n = read(pipefd[0], buf, sizeof(buf))) != 0) {
		CHECK(n > 0 || errno == EINTR);
		if (n > 0)
			drained += (unsigned long)n;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t t[WORKERS], d;
	sigset_t usr;
	int v;

	if (argc > 1)
		steps = (unsigned)atoi(argv[1]);
	CHECK(pipe(pipefd) == 0);
	CHECK(sem_init(&posted, 0, 0) == 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	/*
	 * Main and the drain take none: a handler there could wait for the pipe that nobody
	 * empties.
	 */
	pthread_sigmask(SIG_BLOCK, &usr, NULL);
	CHECK(pthread_create(&d, NULL, drain, NULL) == 0);
	pthread_sigmask(SIG_UNBLOCK, &usr, NULL);
	left = WORKERS;
	for (size_t i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&t[i], NULL, worker, (void *)i) == 0);
	pthread_sigmask(SIG_BLOCK, &usr, NULL);
	for (unsigned i = 0; left > 0; i++) {
		/* Directed at one, and at whoever takes it. */
		sent++;
		if (i % 4)
			CHECK(kill(getpid(), SIGUSR1) == 0);
		else
			CHECK(pthread_kill(t[i % WORKERS], SIGUSR1) == 0);
		usleep(1);
	}
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	signal(SIGUSR1, SIG_IGN);
	close(pipefd[1]);
	CHECK(pthread_join(d, NULL) == 0);
	CHECK(a == b && a == (unsigned long)WORKERS * steps);
	CHECK(sem_getvalue(&posted, &v) == 0);
	CHECK(ran > 0 && ran <= sent);
	CHECK((unsigned long)v == ran && drained == ran);
	puts("ok handlers ran in the midst of everything, and nothing was lost");
	return 0;
}
