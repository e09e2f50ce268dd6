/*
 * Threads fork and allocate while handlers, which sleep, come to each of them: no handler runs in the
 * middle of a fork, where the locks of malloc are held, and each signal that was queued is handled.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 4, FORKS = 60 };

static _Atomic int handled, working = THREADS;
static int sig;
static sem_t end;

static void sleeps(int signo)
{
	struct timespec ts = { 0, 1000 };
	int saved = errno;

	(void)signo;
	nanosleep(&ts, NULL);
	handled++;
	errno = saved;
}

static void *forks(void *arg)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();
		int status;

		CHECK_SYS(pid);
		if (pid == 0)
			_exit(0);
		for (int k = 0; k < 100; k++)
			free(malloc((size_t)(i * k)));
		while (waitpid(pid, &status, 0) != pid)
			CHECK_EQ(errno, EINTR);
		CHECK_EQ(status, 0);
	}
	working--;
	while (sem_wait(&end) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	int sent = 0;

	sig = SIGRTMIN + 1;
	CHECK_SYS(sem_init(&end, 0, 0));
	CHECK(signal(sig, sleeps) != SIG_ERR);
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(forks, NULL);
	while (working) {
		for (int i = 0; i < THREADS; i++) {
			int err = pthread_sigqueue(t[i], sig, (union sigval){ 0 });

			sent += err == 0;
			if (err)
				CHECK_EQ(err, EAGAIN);
		}
		while (handled < sent - 100)
			sched_yield();
		sched_yield();
	}
	while (handled < sent)
		sched_yield();
	for (int i = 0; i < THREADS; i++)
		CHECK_SYS(sem_post(&end));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(handled, sent);
	passed("each signal was handled, each child waited for");
	return 0;
}
