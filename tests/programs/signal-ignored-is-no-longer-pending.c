/*
 * A signal that waits and comes to be ignored is pending no more, whoever it was sent to, and does not
 * come when it gets a handler again.  What stops the process and what continues it forget each other.
 */
#include "check.h"
#include <signal.h>

static volatile sig_atomic_t handled;

static void count(int sig)
{
	(void)sig;
	handled++;
}

static sigset_t of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static int pending(int sig)
{
	sigset_t set;

	CHECK_SYS(sigpending(&set));
	return sigismember(&set, sig);
}

static void to_thread(int sig)
{
	CHECK_OK(pthread_kill(pthread_self(), sig));
}

static void to_process(int sig)
{
	CHECK_SYS(kill(getpid(), sig));
}

static void queued(int sig)
{
	CHECK_OK(pthread_sigqueue(pthread_self(), sig, (union sigval){ .sival_int = 7 }));
}

/* action: what the kernel forgets signals for. */
static void round_of(int sig, void (*send)(int), sighandler_t action)
{
	sigset_t set = of(sig);

	handled = 0;
	CHECK(signal(sig, count) != SIG_ERR);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	send(sig);
	send(sig);
	CHECK_EQ(pending(sig), 1);
	CHECK(signal(sig, action) != SIG_ERR);
	CHECK_EQ(pending(sig), 0);
	CHECK(signal(sig, count) != SIG_ERR);
	CHECK_EQ(pending(sig), 0);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQ(handled, 0);
	/* The next is not taken for the one that was forgotten. */
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	send(sig);
	CHECK_EQ(pending(sig), 1);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQ(handled, 1);
}

static void opposites(void)
{
	static const int stops[] = { SIGTSTP, SIGTTIN, SIGTTOU };
	sigset_t all, was;

	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, &was));
	for (int i = 0; i < 3; i++) {
		to_thread(stops[i]);
		CHECK_EQ(pending(stops[i]), 1);
	}
	to_thread(SIGCONT);
	CHECK_EQ(pending(SIGCONT), 1);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pending(stops[i]), 0);
	to_thread(SIGTSTP);
	CHECK_EQ(pending(SIGCONT), 0);
	CHECK_EQ(pending(SIGTSTP), 1);
	CHECK(signal(SIGTSTP, SIG_IGN) != SIG_ERR);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &was, NULL));
	CHECK(signal(SIGTSTP, SIG_DFL) != SIG_ERR);
}

static void *rounds(void *arg)
{
	round_of(SIGUSR1, to_thread, SIG_IGN);
	round_of(SIGUSR1, to_process, SIG_IGN);
	round_of(SIGCHLD, to_thread, SIG_DFL);
	round_of(SIGCHLD, to_process, SIG_IGN);
	handled = 0;
	opposites();
	return arg;
}

/* Real-time ones are each forgotten. */
static void *realtime(void *arg)
{
	int sig = SIGRTMIN + 3;
	sigset_t set = of(sig);

	handled = 0;
	CHECK(signal(sig, count) != SIG_ERR);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 5; i++)
		queued(sig);
	CHECK(signal(sig, SIG_IGN) != SIG_ERR);
	CHECK(signal(sig, count) != SIG_ERR);
	queued(sig);
	queued(sig);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQ(handled, 2);
	return arg;
}

int main(void)
{
	sigset_t both = of(SIGUSR1);

	sigaddset(&both, SIGCHLD);
	join(spawn(realtime, NULL));
	passed("in a thread: real-time ones");
	realtime(NULL);
	rounds(NULL);
	passed("in main");
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &both, NULL)); /* what goes to the process is the thread's */
	join(spawn(rounds, NULL));
	passed("in a thread");
	return 0;
}
