/*
 * A handler ends sigwaitinfo() and sigtimedwait() with EINTR.  A signal that this handler raises, and that
 * was waited for, stays pending: it is not what the call returns.  sigwait() goes on, and returns it.
 */
#include "check.h"
#include <signal.h>

enum { SIGINFO, TIMED, PLAIN, WAYS };

static sigset_t set;
static volatile pid_t tid;

static void handler(int sig)
{
	(void)sig;
	raise(SIGUSR2);
}

static void *waits(void *arg)
{
	struct timespec at_once = { 0, 0 }, long_ = { 30, 0 };
	int way = *(int *)arg, sig = 0;
	sigset_t pending;

	tid = gettid();
	if (way == PLAIN) {
		CHECK_OK(sigwait(&set, &sig));
		CHECK_EQ(sig, SIGUSR2);
		return NULL;
	}
	CHECK_ERR(way == TIMED ? sigtimedwait(&set, NULL, &long_) : sigwaitinfo(&set, NULL), EINTR);
	CHECK_SYS(sigpending(&pending));
	CHECK(sigismember(&pending, SIGUSR2));
	CHECK_EQ(sigtimedwait(&set, NULL, &at_once), SIGUSR2);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int way = 0; way < WAYS; way++) {
		pthread_t t = spawn(waits, &way);

		until_asleep(&tid);
		tid = 0;
		CHECK_OK(pthread_kill(t, SIGUSR1));
		join(t);
	}
	passed("what the handler raised stays pending");
	return 0;
}
