/*
 * What a thread waits for comes, and straight after it a signal whose handler has no SA_RESTART.  The call returns
 * what has come: the kernel looks at that first.  The handler has run by then.
 */
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { ROUNDS = 60 };

static int empty[2], full[2], counter, listener, ep;
static struct sockaddr_storage name;
static socklen_t length = sizeof name;
static char text[65536];

static void put(void)
{
	CHECK_EQ(write(empty[1], "x", 1), 1);
}

static int by_read(void)
{
	return (int)read(empty[0], text, 1);
}

static int by_poll(void)
{
	struct pollfd p = { empty[0], POLLIN, 0 };
	int r = poll(&p, 1, -1);

	return r == 1 ? by_read() : r;
}

static int by_epoll(void)
{
	struct epoll_event e;
	int r = epoll_wait(ep, &e, 1, -1);

	return r == 1 ? by_read() : r;
}

static void count(void)
{
	uint64_t one = 1;

	CHECK_EQ(write(counter, &one, sizeof one), sizeof one);
}

static int by_eventfd(void)
{
	uint64_t n;

	return read(counter, &n, sizeof n) == sizeof n ? 1 : -1;
}

static void fill(void)
{
	while (write(full[1], text, 4096) > 0)
		;
	while (write(full[1], text, 1) > 0)
		;
}

static void empties(void)
{
	CHECK(read(full[0], text, sizeof text) > 0);
}

static int by_write(void)
{
	return (int)write(full[1], "x", 1);
}

static void connects(void)
{
	int s;

	CHECK_SYS(s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	CHECK_SYS(connect(s, (struct sockaddr *)&name, length));
	CHECK_SYS(close(s));
}

static int by_accept(void)
{
	int s = accept(listener, NULL, NULL);

	return s < 0 ? s : 1 + close(s);
}

static const struct row {
	const char *name;
	int (*wait)(void);
	void (*comes)(void);
} rows[] = {
	{ "read", by_read, put },
	{ "poll", by_poll, put },
	{ "epoll_wait", by_epoll, put },
	{ "an eventfd", by_eventfd, count },
	{ "write", by_write, empties },
	{ "accept", by_accept, connects },
};

static volatile pid_t tid;
static _Atomic int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	const struct row *row = arg;

	tid = gettid();
	CHECK_EQ(row->wait(), 1);
	while (!handled)
		sched_yield();
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct epoll_event e = { EPOLLIN, { 0 } };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(pipe(empty));
	CHECK_SYS(pipe(full));
	CHECK_SYS(counter = eventfd(0, EFD_CLOEXEC));
	CHECK_SYS(listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	CHECK_SYS(bind(listener, &(struct sockaddr){ AF_UNIX, "" }, sizeof(sa_family_t))); /* a name of the kernel's */
	CHECK_SYS(listen(listener, 1));
	CHECK_SYS(getsockname(listener, (struct sockaddr *)&name, &length));
	CHECK_SYS(ep = epoll_create1(EPOLL_CLOEXEC));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, empty[0], &e));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int round = 0; round < ROUNDS; round++) {
			pthread_t t;

			CHECK_SYS(fcntl(full[1], F_SETFL, O_NONBLOCK));
			fill();
			CHECK_SYS(fcntl(full[1], F_SETFL, 0));
			handled = 0;
			tid = 0;
			t = spawn(waits, (void *)&rows[i]);
			until_asleep(&tid);
			rows[i].comes();
			CHECK_OK(pthread_kill(t, SIGUSR1));
			join(t);
		}
		passed("%s", rows[i].name);
	}
	return 0;
}
