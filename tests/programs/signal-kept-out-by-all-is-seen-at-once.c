/*
 * A signal from another process that all threads keep out, and that has a handler: sigpending() sees
 * it as soon as its sender is done.  Many times, with the signal let in between.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ROUNDS = 150, SIG = SIGUSR2 };

static atomic_int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *computes(void *arg)
{
	while (!atomic_load((atomic_int *)arg))
		sched_yield();
	return arg;
}

static void sends(int out)
{
	char c;

	while (read(out, &c, 1) == 1) {
		kill(getppid(), SIG);
		write(out, &c, 1);
	}
	_exit(0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	sigset_t only, now;
	atomic_int stop = 0;
	pthread_t t[2];
	int ends[2];
	pid_t child;
	char c = 0;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK_SYS(child = fork());
	if (child == 0) {
		close(ends[0]);
		sends(ends[1]);
	}
	CHECK_SYS(close(ends[1]));
	CHECK_SYS(sigaction(SIG, &sa, NULL));
	sigemptyset(&only);
	sigaddset(&only, SIG);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
	for (int i = 0; i < 2; i++)
		t[i] = spawn(computes, &stop);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(write(ends[0], &c, 1), 1);
		CHECK_EQ(read(ends[0], &c, 1), 1);
		CHECK_SYS(sigpending(&now));
		CHECK_EQ(sigismember(&now, SIG), 1);
		CHECK_EQ(handled, i);
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &only, NULL));
		CHECK_EQ(handled, i + 1);
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		join(t[i]);
	CHECK_SYS(close(ends[0]));
	CHECK_EQ(waitpid(child, NULL, 0), child);
	passed("what all keep out is pending once it is sent");
	return 0;
}
