/*
 * A thread waits for a signal.  That signal is sent to it, and straight after it another that has a handler:
 * the wait returns the first, for it was there before the handler ran.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>

enum { ROUNDS = 200, INFO, TIMED, PLAIN, WAYS };

static sigset_t set;
static volatile pid_t tid;
static _Atomic int handled;
static _Atomic int way;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	struct timespec hour = { 3600, 0 };
	int sig = 0;

	tid = gettid();
	if (way == PLAIN)
		CHECK_OK(sigwait(&set, &sig));
	else
		sig = way == TIMED ? sigtimedwait(&set, NULL, &hour) : sigwaitinfo(&set, NULL);
	CHECK_EQ(sig, SIGUSR2);
	while (!handled)
		sched_yield();
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (way = INFO; way < WAYS; way++) {
		for (int round = 0; round < ROUNDS; round++) {
			pthread_t t;

			handled = 0;
			tid = 0;
			t = spawn(waits, NULL);
			until_asleep(&tid);
			CHECK_OK(pthread_kill(t, SIGUSR2));
			CHECK_OK(pthread_kill(t, SIGUSR1));
			join(t);
		}
	}
	passed("the signal that was sent first");
	return 0;
}
