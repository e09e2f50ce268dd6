/*
 * The event-loop styles of real servers: several workers on one epoll with EPOLLONESHOT and
 * re-arming, with EPOLLET and draining to EAGAIN, an eventfd that breaks the wait, nested epolls,
 * and descriptors that are added and deleted while others wait.
 */
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { WORKERS = 6, CONNECTIONS = 40, BYTES = 300 };

static int ep, stop_fd;
static atomic_long received, open_connections;
static unsigned flags;

static void *worker(void *arg)
{
	struct epoll_event ev[4];
	char buf[64];

	for (;;) {
		int n = epoll_wait(ep, ev, 4, -1);

		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			int fd = ev[i].data.fd;
			ssize_t r;

			if (fd == stop_fd)
				return arg;
			while ((r = read(fd, buf, sizeof buf)) > 0)
				received += r;
			if (r == 0) {
				/* With edges two workers may see the end; only one deletes. */
				if (epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL) == 0)
					open_connections--;
				continue;
			}
			CHECK_EQ(errno, EAGAIN);
			if (flags & EPOLLONESHOT) {
				struct epoll_event again = {.events = EPOLLIN | flags,
							    .data.fd = fd};

				CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &again));
			}
		}
	}
}

static void *sender(void *arg)
{
	int fd = (int)(long)arg;

	for (int i = 0; i < BYTES; i++) {
		CHECK_EQ(write(fd, "x", 1), 1);
		if (i % 20 == 0)
			sched_yield();
	}
	CHECK_SYS(close(fd));
	return NULL;
}

static void run(unsigned f, const char *name)
{
	pthread_t w[WORKERS], s[CONNECTIONS];
	struct epoll_event stop = { .events = EPOLLIN };
	int in[CONNECTIONS];
	uint64_t one = 1;

	flags = f;
	received = 0;
	open_connections = CONNECTIONS;
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(stop_fd = eventfd(0, 0));
	stop.data.fd = stop_fd;
	for (int i = 0; i < WORKERS; i++)
		w[i] = spawn(worker, NULL);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event ev = { .events = EPOLLIN | flags };
		int fd[2];

		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
		CHECK_SYS(fcntl(fd[0], F_SETFL, O_NONBLOCK));
		in[i] = ev.data.fd = fd[0];
		CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev));
		s[i] = spawn(sender, (void *)(long)fd[1]);
	}
	for (int i = 0; i < CONNECTIONS; i++)
		join(s[i]);
	/* With edges one worker may see the end before another has counted what it read. */
	while (open_connections > 0 || received < CONNECTIONS * BYTES)
		CHECK_SYS(usleep(500));
	CHECK_EQ(received, CONNECTIONS * BYTES);
	/* Level-triggered and never read: every worker sees it. */
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, stop_fd, &stop));
	CHECK_EQ(write(stop_fd, &one, sizeof one), sizeof one);
	for (int i = 0; i < WORKERS; i++)
		join(w[i]);
	for (int i = 0; i < CONNECTIONS; i++)
		CHECK_SYS(close(in[i]));
	CHECK_SYS(close(ep));
	CHECK_SYS(close(stop_fd));
	passed("%s: %d bytes by %d workers", name, CONNECTIONS * BYTES, WORKERS);
}

static void *feeds(void *arg)
{
	let_others_block();
	CHECK_EQ(write((int)(long)arg, "y", 1), 1);
	return NULL;
}

static void nested(void)
{
	struct epoll_event ev = { .events = EPOLLIN }, got;
	int inner, outer, fd[2];
	struct pollfd p;
	pthread_t t;

	CHECK_SYS(inner = epoll_create1(0));
	CHECK_SYS(outer = epoll_create1(0));
	CHECK_SYS(pipe(fd));
	ev.data.fd = fd[0];
	CHECK_SYS(epoll_ctl(inner, EPOLL_CTL_ADD, fd[0], &ev));
	ev.data.fd = inner;
	CHECK_SYS(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &ev));
	CHECK_EQ(epoll_wait(outer, &got, 1, 0), 0);
	t = spawn(feeds, (void *)(long)fd[1]);
	CHECK_EQ(epoll_wait(outer, &got, 1, -1), 1);
	CHECK_EQ(got.data.fd, inner);
	p = (struct pollfd){ .fd = inner, .events = POLLIN };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(epoll_wait(inner, &got, 1, -1), 1);
	CHECK_EQ(got.data.fd, fd[0]);
	join(t);
	CHECK_SYS(close(inner));
	CHECK_SYS(close(outer));
	passed("an epoll in an epoll, and in a poll");
}

int main(void)
{
	run(EPOLLONESHOT, "one-shot");
	run(EPOLLET, "edges");
	run(EPOLLET | EPOLLONESHOT, "edges, one-shot");
	run(EPOLLRDHUP, "levels");
	nested();
	return 0;
}
