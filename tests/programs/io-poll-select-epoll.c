/*
 * Threads that wait by poll, ppoll, select, pselect, epoll_wait and epoll_pwait for descriptors
 * that other threads feed; time-outs not too early; POLLHUP, POLLNVAL; several waiters on one
 * epoll.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

enum { PAIRS = 60, ROUNDS = 50, WAYS = 6 };

struct end {
	int fd, way;
};

static int readable(int fd, int way, int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L }, *tsp = ms < 0 ? NULL : &ts;
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd }, got;
	fd_set set;
	int r, ep;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	switch (way) {
	case 0:
		return poll(&p, 1, ms);
	case 1:
		return ppoll(&p, 1, tsp, NULL);
	case 2:
		return select(fd + 1, &set, NULL, NULL, ms < 0 ? NULL : &tv);
	case 3:
		return pselect(fd + 1, &set, NULL, NULL, tsp, NULL);
	}
	CHECK_SYS(ep = epoll_create1(EPOLL_CLOEXEC));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	r = way == 4 ? epoll_wait(ep, &got, 1, ms) : epoll_pwait(ep, &got, 1, ms, NULL);
	if (r == 1)
		CHECK_EQ(got.data.fd, fd);
	CHECK_SYS(close(ep));
	return r;
}

static void *echo(void *arg)
{
	struct end *e = arg;
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(readable(e->fd, (e->way + i) % WAYS, -1), 1);
		CHECK_EQ(read(e->fd, &c, 1), 1);
		c++;
		CHECK_EQ(write(e->fd, &c, 1), 1);
	}
	return NULL;
}

static void *ask(void *arg)
{
	struct end *e = arg;
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		c = (char)i;
		CHECK_EQ(write(e->fd, &c, 1), 1);
		CHECK_EQ(readable(e->fd, (e->way + i) % WAYS, 50000), 1);
		CHECK_EQ(read(e->fd, &c, 1), 1);
		CHECK_EQ(c, (char)(i + 1));
	}
	return NULL;
}

static void *times_out(void *arg)
{
	struct end *e = arg;
	long long began = now_ns(CLOCK_MONOTONIC);

	CHECK_EQ(readable(e->fd, e->way, 0), 0);
	CHECK_EQ(readable(e->fd, e->way, 40), 0);
	/* epoll and poll count whole milliseconds, from a tick that may have passed. */
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 39 * 1000000LL);
	return NULL;
}

static int shared_ep, shared_fd[2];

static void *share(void *arg)
{
	struct epoll_event ev;
	long taken = 0;
	char c;

	for (;;) {
		CHECK_EQ(epoll_wait(shared_ep, &ev, 1, -1), 1);
		ssize_t n = recv(shared_fd[0], &c, 1, MSG_DONTWAIT);

		if (n == 1)
			taken++;
		else if (n == 0)
			return (void *)taken;
		else
			CHECK_EQ(errno, EAGAIN);
	}
	return arg;
}

int main(void)
{
	static struct end e[2 * PAIRS];
	pthread_t t[2 * PAIRS];
	struct pollfd p[3];
	int fd[2];

	for (int i = 0; i < PAIRS; i++) {
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
		e[2 * i] = (struct end){ fd[0], i % WAYS };
		e[2 * i + 1] = (struct end){ fd[1], (i / WAYS) % WAYS };
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		t[i] = spawn(i % 2 ? ask : echo, &e[i]);
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	passed("%d pairs, six ways to wait", PAIRS);

	for (int i = 0; i < WAYS; i++) {
		e[i].way = i;
		t[i] = spawn(times_out, &e[i]);
	}
	for (int i = 0; i < WAYS; i++)
		join(t[i]);
	passed("time-outs");

	CHECK_SYS(pipe(fd));
	p[0] = (struct pollfd){ .fd = fd[0], .events = POLLIN };
	p[1] = (struct pollfd){ .fd = fd[1], .events = POLLOUT };
	p[2] = (struct pollfd){ .fd = 987654, .events = POLLIN };
	CHECK_EQ(poll(p, 3, -1), 2);
	CHECK_EQ(p[0].revents, 0);
	CHECK_EQ(p[1].revents, POLLOUT);
	CHECK_EQ(p[2].revents, POLLNVAL);
	CHECK_SYS(close(fd[1]));
	CHECK_EQ(poll(p, 1, -1), 1);
	CHECK_EQ(p[0].revents, POLLHUP);
	p[0].fd = -1;
	CHECK_EQ(poll(p, 1, 1), 0);
	passed("POLLOUT, POLLNVAL, POLLHUP, negative descriptors");

	struct epoll_event ev = { .events = EPOLLIN };
	long taken = 0;

	CHECK_SYS(shared_ep = epoll_create1(0));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, shared_fd));
	CHECK_SYS(epoll_ctl(shared_ep, EPOLL_CTL_ADD, shared_fd[0], &ev));
	for (int i = 0; i < 10; i++)
		t[i] = spawn(share, NULL);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(write(shared_fd[1], "x", 1), 1);
	CHECK_SYS(close(shared_fd[1]));
	for (int i = 0; i < 10; i++)
		taken += (long)join(t[i]);
	CHECK_EQ(taken, 1000);
	passed("ten waiters on one epoll shared 1000 bytes");
	return 0;
}
