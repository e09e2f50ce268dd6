/*
 * signalfd: signals that all threads block are read from a descriptor, by threads that wait in
 * read, poll and epoll, sent to the process by kill and sigqueue; each arrives once.
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
	return 0;
}
