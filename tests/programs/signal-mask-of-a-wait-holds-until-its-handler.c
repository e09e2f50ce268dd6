/*
 * A signal that waits for the process because all threads keep it out, one of them by the mask of a
 * call alone: the handler that ends the call runs first, and finds it waiting.  What the thread's own mask
 * keeps out, too, waits on.  Of ppoll with and without descriptors, pselect, epoll_pwait and sigsuspend.
 */
#include "check.h"
#include <stdbool.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

static pthread_t main_thread;
static char order[8];
static volatile int n, waiting;
static int ends[2];

static void on_alarm(int sig)
{
	sigset_t now;

	(void)sig;
	CHECK_SYS(sigpending(&now));
	waiting = sigismember(&now, SIGUSR2);
	order[n++] = 'a';
}

static void on_usr2(int sig)
{
	(void)sig;
	order[n++] = 'u';
}

/* From another process, so that it is the kernel's to hand out. */
static void *sends(void *arg)
{
	pid_t child;

	let_others_block();
	child = fork();
	CHECK_SYS(child);
	if (child == 0) {
		kill(getppid(), SIGUSR2);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) == -1)
		CHECK_EQ(errno, EINTR);
	let_others_block();
	CHECK_OK(pthread_kill(main_thread, SIGALRM));
	return arg;
}

static void *keeps_out(void *arg)
{
	for (;;)
		pause();
	return arg;
}

enum { PPOLL_NONE, PPOLL, PSELECT, EPOLL, SUSPEND, WAYS };

static int waits(int way, const sigset_t *mask)
{
	struct pollfd p = { ends[0], POLLIN, 0 };
	struct epoll_event ev = { .events = EPOLLIN };
	fd_set in;
	int ep, r;

	switch (way) {
	case PPOLL_NONE:
		return ppoll(NULL, 0, NULL, mask);
	case PPOLL:
		return ppoll(&p, 1, NULL, mask);
	case PSELECT:
		FD_ZERO(&in);
		FD_SET(ends[0], &in);
		return pselect(ends[0] + 1, &in, NULL, NULL, NULL, mask);
	case EPOLL:
		ep = epoll_create1(0);
		CHECK_SYS(ep);
		CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &ev));
		r = epoll_pwait(ep, &ev, 1, -1, mask);
		CHECK_EQ(r == -1 ? errno : 0, EINTR);
		CHECK_SYS(close(ep));
		return r;
	}
	return sigsuspend(mask);
}

/* let: the own mask of the thread lets it in.  False: it came before the call did. */
static bool once(int way, bool let)
{
	sigset_t all, alarm_in, was, now;
	pthread_t t;
	bool early;

	n = 0;
	memset(order, 0, sizeof(order));
	signal(SIGUSR2, on_usr2);
	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, &was));
	t = spawn(sends, NULL);
	sigemptyset(&now);
	if (let)
		sigaddset(&now, SIGUSR2);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &now, NULL));
	alarm_in = all;
	sigdelset(&alarm_in, SIGALRM);
	CHECK_EQ(waits(way, &alarm_in), -1);
	while (let && n < 2) /* POSIX does not say how soon after the call */
		usleep(1000);
	early = order[0] == 'u';
	CHECK(early || waiting == 1);
	CHECK(early || strcmp(order, let ? "au" : "a") == 0);
	while (!let && (sigpending(&now) || !sigismember(&now, SIGUSR2)))
		usleep(1000);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK_EQ(sigismember(&now, SIGUSR2), !let);
	CHECK_EQ(sigismember(&now, SIGALRM), 1);
	signal(SIGUSR2, SIG_IGN);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &was, NULL));
	join(t);
	return !early;
}

static void some(int way, bool let)
{
	int tries = 20;

	while (!once(way, let))
		CHECK(--tries);
}

int main(void)
{
	sigset_t all, was;

	main_thread = pthread_self();
	signal(SIGALRM, on_alarm);
	CHECK_SYS(pipe(ends));
	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, &was));
	spawn(keeps_out, NULL);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &was, NULL));
	for (int way = 0; way < WAYS; way++)
		some(way, true);
	passed("what waits comes after the handler that ends the call");
	for (int way = 0; way < WAYS; way++)
		some(way, false);
	passed("and not at all if it stays kept out");
	return 0;
}
