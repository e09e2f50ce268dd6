/*
 * A thread writes, then sends a signal to the one that waits for what it wrote.  The wait tells of the event: it does
 * not end with EINTR.  (A few times in a hundred it may: a handler may also run on the way into the call.)
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { ROUNDS = 1000, FEW = ROUNDS / 50 };

static atomic_int handled, begun, over;
static int fd;
static pthread_t waiter;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *sends(void *arg)
{
	uint64_t one = 1;

	for (int i = 1; i <= ROUNDS; i++) {
		while (begun < i)
			sched_yield();
		for (volatile int n = i * 7 % 1000; n > 0; n--) /* so that it comes at each moment of the other's way */
			;
		CHECK_EQ(write(fd, &one, sizeof(one)), sizeof(one));
		CHECK_OK(pthread_kill(waiter, SIGUSR1));
		while (over < i)
			sched_yield();
	}
	return arg;
}

/* How often it was interrupted. */
static int wait_for_it(int ep)
{
	struct epoll_event ev;
	uint64_t n;
	int cut = 0, r;

	while ((r = epoll_wait(ep, &ev, 1, -1)) == -1) {
		CHECK_EQ(errno, EINTR);
		cut++;
	}
	CHECK_EQ(r, 1);
	CHECK_EQ(read(fd, &n, sizeof(n)), sizeof(n));
	return cut;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep, cut = 0;
	pthread_t t;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(fd = eventfd(0, EFD_NONBLOCK));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	waiter = pthread_self();
	t = spawn(sends, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		begun = i;
		cut += wait_for_it(ep);
		while (handled < i)
			sched_yield();
		over = i;
	}
	join(t);
	CHECK(cut <= FEW);
	passed("an event that came before a signal is told");
	return 0;
}
