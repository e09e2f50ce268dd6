/*
 * A signal from another process that all threads keep out, and that has a handler: as soon as its
 * sender is done each way to look for it finds it: sigpending(), sigtimedwait() without time, a
 * descriptor made by signalfd() and poll() of that one.  Between two rounds the signal is let in and
 * kept out again, so that a look may meet what has just changed.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ROUNDS = 40, SIG = SIGUSR2, DESCRIBED = SIGUSR1 };

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
	char sig;

	while (read(out, &sig, 1) == 1) {
		kill(getppid(), sig);
		write(out, &sig, 1);
	}
	_exit(0);
}

/* What the process is sent is sent when this returns. */
static void ask_for(int end, char sig)
{
	CHECK_EQ(write(end, &sig, 1), 1);
	CHECK_EQ(read(end, &sig, 1), 1);
}

/* It was let in, as each round begins, and is kept out now. */
static void keep_out(int sig)
{
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, sig);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &only, NULL));
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
}

static void by_pending(int end)
{
	sigset_t now;

	ask_for(end, SIG);
	CHECK_SYS(sigpending(&now));
	CHECK_EQ(sigismember(&now, SIG), 1);
	keep_out(SIG); /* the handler */
	CHECK_EQ(handled, 1);
	CHECK_SYS(sigpending(&now));
	CHECK_EQ(sigismember(&now, SIG), 0);
	handled = 0;
}

static void by_wait(int end)
{
	struct timespec none = { 0, 0 };
	siginfo_t si;
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, SIG);
	keep_out(SIG);
	ask_for(end, SIG);
	CHECK_EQ(sigtimedwait(&only, &si, &none), SIG);
	CHECK_EQ(si.si_code, SI_USER);
	CHECK_EQ(sigtimedwait(&only, &si, &none), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(handled, 0);
}

static void by_descriptor(int end, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct signalfd_siginfo got;

	keep_out(DESCRIBED);
	ask_for(end, DESCRIBED);
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(read(fd, &got, sizeof(got)), (ssize_t)sizeof(got));
	CHECK_EQ(got.ssi_signo, DESCRIBED);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(handled, 0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	atomic_int stop = 0;
	sigset_t both, one;
	pthread_t t[2];
	int ends[2], fd;
	pid_t child;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK_SYS(child = fork());
	if (child == 0) {
		close(ends[0]);
		sends(ends[1]);
	}
	CHECK_SYS(close(ends[1]));
	CHECK_SYS(sigaction(SIG, &sa, NULL));
	CHECK_SYS(sigaction(DESCRIBED, &sa, NULL));
	sigemptyset(&one);
	sigaddset(&one, DESCRIBED);
	both = one;
	sigaddset(&both, SIG);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &both, NULL));
	CHECK_SYS(fd = signalfd(-1, &one, SFD_NONBLOCK | SFD_CLOEXEC));
	for (int i = 0; i < 2; i++)
		t[i] = spawn(computes, &stop);
	for (int i = 0; i < ROUNDS; i++) {
		by_pending(ends[0]);
		by_wait(ends[0]);
		by_descriptor(ends[0], fd);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		join(t[i]);
	CHECK_SYS(close(ends[0]));
	CHECK_EQ(waitpid(child, NULL, 0), child);
	passed("what all keep out is found by each look");
	return 0;
}
