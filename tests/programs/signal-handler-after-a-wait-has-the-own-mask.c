/*
 * A signal that a wait with a mask of its own kept out comes when the wait is over.  Its handler runs under
 * the mask of the thread, not under that of the call: what the call let in stays out, and what the call alone
 * kept out is let in.  Of ppoll, pselect and epoll_pwait.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

enum { PPOLL, PSELECT, EPOLL, WAYS };

static int ends[2];
static volatile int handled, keeps_usr2, keeps_hup;

static void on_usr1(int sig)
{
	sigset_t now;

	(void)sig;
	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
	keeps_usr2 = sigismember(&now, SIGUSR2);
	keeps_hup = sigismember(&now, SIGHUP);
	handled++;
}

/* The signal comes from another process, so that it is the kernel's to hand out; then the wait ends. */
static void *sends(void *arg)
{
	pid_t child;

	let_others_block();
	child = fork();
	CHECK_SYS(child);
	if (child == 0) {
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, NULL, 0), child);
	let_others_block();
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return arg;
}

static int waits(int way, const sigset_t *mask)
{
	struct pollfd p = { ends[0], POLLIN, 0 };
	struct epoll_event ev = { .events = EPOLLIN };
	fd_set in;
	int ep, r;

	switch (way) {
	case PPOLL:
		return ppoll(&p, 1, NULL, mask);
	case PSELECT:
		FD_ZERO(&in);
		FD_SET(ends[0], &in);
		return pselect(ends[0] + 1, &in, NULL, NULL, NULL, mask);
	}
	ep = epoll_create1(0);
	CHECK_SYS(ep);
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &ev));
	r = epoll_pwait(ep, &ev, 1, -1, mask);
	CHECK_SYS(close(ep));
	return r;
}

static void once(int way)
{
	sigset_t all, own, call;
	pthread_t t;
	char c;

	handled = 0;
	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
	t = spawn(sends, NULL);
	sigemptyset(&own);
	sigaddset(&own, SIGUSR2);
	sigaddset(&own, SIGCHLD); /* it would end epoll_pwait */
	sigemptyset(&call);
	sigaddset(&call, SIGCHLD);
	sigaddset(&call, SIGUSR1);
	sigaddset(&call, SIGHUP);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &own, NULL));
	CHECK_EQ(waits(way, &call), 1);
	while (!handled) /* POSIX does not say how soon after the call */
		usleep(1000);
	CHECK_EQ(keeps_usr2, 1);
	CHECK_EQ(keeps_hup, 0);
	CHECK_EQ(read(ends[0], &c, 1), 1);
	join(t);
}

int main(void)
{
	signal(SIGUSR1, on_usr1);
	CHECK_SYS(pipe(ends));
	for (int i = 0; i < 10; i++)
		for (int way = 0; way < WAYS; way++)
			once(way);
	passed("the handler has the thread's own mask");
	return 0;
}
