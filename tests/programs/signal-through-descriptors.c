/*
 * signalfd: signals that all threads block are read from a descriptor, by threads that wait in
 * read, poll and epoll, sent to the process by kill and sigqueue; each arrives once.  And signals
 * that are directed at the thread that reads: by itself before, and by another while it waits.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

enum { SIGNALS = 200 };

static int fd, ep;
static atomic_int taken[SIGNALS], total;

static void *takes(void *arg)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		struct epoll_event ev;
		struct signalfd_siginfo si;

		if ((long)arg == 1)
			CHECK_EQ(poll(&p, 1, -1), 1);
		else if ((long)arg == 2)
			CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
		/* Another thread may have been faster: then this read waits for the next. */
		CHECK_EQ(read(fd, &si, sizeof si), sizeof si);
		if (si.ssi_signo == (unsigned)SIGTERM)
			return NULL;
		CHECK_EQ(si.ssi_signo, (unsigned)SIGRTMIN + 2);
		CHECK_EQ(si.ssi_pid, (unsigned)getpid());
		CHECK(si.ssi_int >= 0 && si.ssi_int < SIGNALS);
		taken[si.ssi_int]++;
		total++;
	}
}

static int own_fd(int sig, int flags)
{
	sigset_t set;
	int own;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_SYS(own = signalfd(-1, &set, flags));
	return own;
}

static int read_value(int own)
{
	struct signalfd_siginfo si;

	CHECK_EQ(read(own, &si, sizeof si), sizeof si);
	CHECK_EQ(si.ssi_pid, (unsigned)getpid());
	return si.ssi_signo == (unsigned)SIGRTMIN + 3 ? si.ssi_int : -(int)si.ssi_signo;
}

static void *tells_itself(void *arg)
{
	union sigval v = { .sival_int = 7 };
	struct pollfd p = { .events = POLLIN };
	sigset_t pending;

	(void)arg;
	CHECK_SYS(raise(SIGUSR1)); /* before there is a descriptor for it */
	p.fd = own_fd(SIGUSR1, SFD_NONBLOCK);
	CHECK_EQ(poll(&p, 1, 1000), 1);
	CHECK_EQ(read_value(p.fd), -SIGUSR1);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(poll(&p, 1, 1000), 1);
	CHECK_EQ(read_value(p.fd), -SIGUSR1);
	CHECK_ERR(read(p.fd, &pending, 128), EAGAIN);
	CHECK_SYS(close(p.fd));
	for (; v.sival_int < 10; v.sival_int++) /* three before and three after */
		CHECK_OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 3, v));
	p.fd = own_fd(SIGRTMIN + 3, 0);
	for (; v.sival_int < 13; v.sival_int++)
		CHECK_OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 3, v));
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, SIGRTMIN + 3), 1);
	for (int i = 7; i < 13; i++)
		CHECK_EQ(read_value(p.fd), i);
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, SIGRTMIN + 3), 0);
	CHECK_SYS(close(p.fd));
	return NULL;
}

static void *is_told(void *arg)
{
	struct pollfd p = { .fd = own_fd(SIGUSR2, 0), .events = POLLIN };

	if (arg)
		CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(read_value(p.fd), -SIGUSR2);
	CHECK_SYS(close(p.fd));
	return NULL;
}

static void one_thread(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 3);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	join(spawn(tells_itself, NULL));
	passed("what a thread was sent is read by it");
	for (int i = 0; i < 2; i++) {
		pthread_t t = spawn(is_told, i ? &set : NULL);

		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR2));
		join(t);
	}
	passed("and while it waits in read or poll");
}

int main(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	pthread_t t[6];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	sigaddset(&set, SIGTERM);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK_SYS(fd = signalfd(-1, &set, SFD_CLOEXEC));
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	for (long i = 0; i < 6; i++)
		t[i] = spawn(takes, (void *)(i % 3));
	for (int i = 0; i < SIGNALS; i++) {
		union sigval v = { .sival_int = i };

		CHECK_SYS(sigqueue(getpid(), SIGRTMIN + 2, v));
		if (i % 10 == 0)
			sched_yield();
	}
	while (total < SIGNALS)
		CHECK_SYS(usleep(500));
	for (int i = 0; i < SIGNALS; i++)
		CHECK_EQ(taken[i], 1);
	passed("%d queued signals, once each", SIGNALS);
	/* A standard signal is not queued: one for each thread, one after another. */
	for (int i = 0; i < 6; i++) {
		int ended = 0;

		CHECK_SYS(kill(getpid(), SIGTERM));
		while (!ended) {
			for (int k = 0; k < 6; k++)
				if (t[k] && pthread_tryjoin_np(t[k], NULL) == 0) {
					t[k] = 0;
					ended = 1;
					break;
				}
			sched_yield();
		}
	}
	passed("six readers ended by six signals");
	one_thread();
	return 0;
}
