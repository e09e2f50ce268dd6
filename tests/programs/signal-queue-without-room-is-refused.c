/*
 * sigqueue() of a signal that all threads keep out, beyond RLIMIT_SIGPENDING: EAGAIN, and at once.  What there was
 * room for arrives.
 */
#include "check.h"
#include <signal.h>
#include <sys/resource.h>

enum { MANY = 3000, ROOM = 200 };

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *queues(void *who)
{
	union sigval v = { 0 };
	sigset_t set;
	int sent = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	handled = 0;
	while (sent < MANY && !sigqueue(getpid(), SIGRTMIN, v))
		sent++;
	CHECK(sent < MANY);
	CHECK_EQ(errno, EAGAIN);
	for (int i = 0; i < 20; i++)
		CHECK_ERR(sigqueue(getpid(), SIGRTMIN, v), EAGAIN);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	while (handled < sent)
		usleep(1000);
	CHECK_EQ(handled, sent);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	passed("refused to %s", (const char *)who);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct rlimit room;
	sigset_t set;

	CHECK_SYS(sigaction(SIGRTMIN, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK_SYS(getrlimit(RLIMIT_SIGPENDING, &room));
	room.rlim_cur = ROOM;
	CHECK_SYS(setrlimit(RLIMIT_SIGPENDING, &room));
	join(spawn(queues, "a thread"));
	queues("main");
	return 0;
}
