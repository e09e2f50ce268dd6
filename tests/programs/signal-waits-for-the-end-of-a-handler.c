/*
 * A signal that comes while a handler's mask keeps it out is handled when that handler returns: one
 * directed at the thread before the code that was interrupted goes on, one sent to the process when
 * no other thread lets it in; and also when the handler leaves by siglongjmp.
 */
#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static pthread_t worker;
static atomic_int in_handler, sent, handled, jump;
static sigjmp_buf env;

static void inner(int sig)
{
	(void)sig;
	CHECK(pthread_equal(pthread_self(), worker));
	atomic_fetch_add(&handled, 1);
}

static void outer(int sig)
{
	(void)sig;
	atomic_store(&in_handler, 1);
	while (!atomic_load(&sent))
		usleep(10);
	CHECK(atomic_load(&handled) == 0);
	atomic_store(&in_handler, 0);
	if (atomic_load(&jump))
		siglongjmp(env, 1);
}

static void *work(void *arg)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGALRM);
	sigdelset(&set, SIGUSR1);
	sigdelset(&set, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&sent, 0);
		atomic_store(&handled, 0);
		if (sigsetjmp(env, 1) == 0) {
			if (i % 2) {
				/* By the kernel, wherever this thread is. */
				struct itimerval soon = { .it_value = { 0, 200 } };

				setitimer(ITIMER_REAL, &soon, NULL);
				while (!atomic_load(&sent) || atomic_load(&in_handler))
					usleep(50);
			} else {
				raise(SIGALRM);
			}
		}
		/* outer() is over: so is what it kept out. */
		while (i % 4 >= 2 && !atomic_load(&handled))
			sched_yield();
		CHECK_EQ(atomic_load(&handled), 1);
	}
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = outer };
	sigset_t set;

	sigfillset(&sa.sa_mask);
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = inner;
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (int j = 0; j < 2; j++) {
		atomic_store(&jump, j);
		atomic_store(&in_handler, 0);
		CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
		for (int i = 0; i < ROUNDS; i++) {
			while (!atomic_load(&in_handler))
				usleep(10);
			if (i % 4 < 2)
				pthread_kill(worker, SIGUSR1);
			else
				kill(getpid(), SIGUSR2);
			atomic_store(&sent, 1);
			while (atomic_load(&sent) && i + 1 < ROUNDS)
				usleep(10);
		}
		pthread_join(worker, NULL);
		printf("%s: each was handled after the handler\n", j ? "siglongjmp" : "return");
	}
	return 0;
}
