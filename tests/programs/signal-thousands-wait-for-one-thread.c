/*
 * As many real-time signals as the kernel allows a user (RLIMIT_SIGPENDING) may wait for one thread: 20,000 that it
 * sends to itself all arrive, in order.
 */
#include "check.h"
#include <signal.h>
#include <sys/resource.h>

enum { MANY = 20000, SPARE = 1000 };

static volatile int next;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	CHECK_EQ(si->si_int, next);
	next++;
}

static void *queues(void *who)
{
	union sigval v = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	next = 0;
	for (v.sival_int = 0; v.sival_int < MANY; v.sival_int++)
		CHECK_OK(pthread_sigqueue(pthread_self(), SIGRTMIN, v));
	CHECK_EQ(next, 0);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQ(next, MANY);
	passed("for %s", (const char *)who);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct rlimit room;

	CHECK_SYS(getrlimit(RLIMIT_SIGPENDING, &room));
	if (room.rlim_cur < MANY + SPARE)
		return 77;
	CHECK_SYS(sigaction(SIGRTMIN, &sa, NULL));
	join(spawn(queues, "a thread"));
	queues("main");
	return 0;
}
