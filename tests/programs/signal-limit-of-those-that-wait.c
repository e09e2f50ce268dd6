/*
 * RLIMIT_SIGPENDING: a real-time signal too many is refused with EAGAIN, sent by pthread_sigqueue(), pthread_kill() or
 * sigqueue(); those that were sent arrive; then there is room again.  A standard signal is never refused.
 * (How many is not said, nor that there is room at once: other processes of the user may have some that wait.)
 */
#include "check.h"
#include <signal.h>
#include <sys/resource.h>

enum { LIMIT = 1000 };

static volatile int got;

static void handler(int sig)
{
	(void)sig;
	got++;
}

static int by_pthread_sigqueue(void)
{
	return pthread_sigqueue(pthread_self(), SIGRTMIN, (union sigval){ 0 });
}

static int by_pthread_kill(void)
{
	return pthread_kill(pthread_self(), SIGRTMIN);
}

static int by_sigqueue(void)
{
	return sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 }) ? errno : 0;
}

static void fill(const char *who, const char *how, int (*send)(void), const sigset_t *set)
{
	int sent = 0, err;

	CHECK_OK(pthread_sigmask(SIG_BLOCK, set, NULL));
	got = 0;
	while (!(err = send()))
		CHECK(++sent <= LIMIT);
	CHECK_EQ(err, EAGAIN);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(got, 0);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, set, NULL));
	while (got < sent + 1)
		usleep(1000);
	CHECK_EQ(got, sent + 1);
	while ((err = send()) == EAGAIN)
		usleep(1000);
	CHECK_OK(err);
	while (got < sent + 2)
		usleep(1000);
	passed("%s: %s is refused", who, how);
}

static void *fills(void *who)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGUSR1);
	fill(who, "pthread_sigqueue()", by_pthread_sigqueue, &set);
	fill(who, "pthread_kill()", by_pthread_kill, &set);
	fill(who, "sigqueue()", by_sigqueue, &set);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct rlimit room = { LIMIT, LIMIT };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK_SYS(sigaction(SIGRTMIN, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(setrlimit(RLIMIT_SIGPENDING, &room));
	join(spawn(fills, "a thread"));
	fills("main");
	return 0;
}
