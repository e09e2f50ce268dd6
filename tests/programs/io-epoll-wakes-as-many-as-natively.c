/*
 * Several threads wait in epoll_wait for one descriptor.  In one set an edge is told to one of them.  Sets of
 * their own are all told; with EPOLLEXCLUSIVE few of them are, nearly always one.
 */
#include "check.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { N = 6, ROUNDS = 40 };

static int ep[N], fd, end, one_set;
static volatile int told;

static void *waits(void *arg)
{
	int set = ep[one_set ? 0 : (long)arg];
	struct epoll_event ev;

	for (;;) {
		int n = epoll_wait(set, &ev, 1, -1);

		if (n == -1 && errno == EINTR)
			continue;
		CHECK_EQ(n, 1);
		if (ev.data.fd == end)
			return arg;
		__atomic_add_fetch(&told, 1, __ATOMIC_SEQ_CST);
	}
}

static void add(int set, int number, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = number };

	CHECK_SYS(epoll_ctl(set, EPOLL_CTL_ADD, number, &ev));
}

static void settle(int want)
{
	struct timespec ts = { .tv_nsec = 2000000 };

	do
		CHECK_SYS(nanosleep(&ts, NULL));
	while (told < want);
	CHECK_SYS(nanosleep(&ts, NULL));
}

/* How often threads were told of so many edges.  each: as often as that at least for each of them. */
static int count(int sets, uint32_t events, int each)
{
	uint64_t one = 1;
	pthread_t t[N];

	one_set = sets == 1;
	told = 0;
	CHECK_SYS(fd = eventfd(0, EFD_NONBLOCK));
	CHECK_SYS(end = eventfd(0, EFD_NONBLOCK));
	for (int i = 0; i < sets; i++) {
		CHECK_SYS(ep[i] = epoll_create1(EPOLL_CLOEXEC));
		add(ep[i], fd, events);
		add(ep[i], end, EPOLLIN);
	}
	for (long i = 0; i < N; i++)
		t[i] = spawn(waits, (void *)i);
	let_others_block();
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK_EQ(write(fd, &one, sizeof one), sizeof one);
		settle(i * each);
	}
	CHECK_EQ(write(end, &one, sizeof one), sizeof one);
	for (int i = 0; i < N; i++)
		join(t[i]);
	for (int i = 0; i < sets; i++)
		CHECK_SYS(close(ep[i]));
	CHECK_SYS(close(fd));
	CHECK_SYS(close(end));
	return told;
}

int main(void)
{
	CHECK_EQ(count(1, EPOLLIN | EPOLLET, 1), ROUNDS);
	passed("one set: each edge is told to one");
	/* A waiter that is late meets several edges at once. */
	CHECK(count(N, EPOLLIN | EPOLLET, 1) > ROUNDS * 2);
	passed("sets of their own: to all");
	CHECK(count(N, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE, 1) < ROUNDS * 2);
	passed("exclusive entries: to few");
	return 0;
}
