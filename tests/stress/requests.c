/*
 * requests KIND N: a thread answers N requests of 64 bytes of a child process, one at a time, by the calls that KIND
 * names.  It is run under a tracer that counts the calls.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 64 };

static char buffer[SIZE];
static int in, out, set = -1;

static struct iovec *vector(void)
{
	static struct iovec v[2];

	v[0] = (struct iovec){ buffer, 16 };
	v[1] = (struct iovec){ buffer + 16, SIZE - 16 };
	return v;
}

static struct msghdr *message(void)
{
	static struct msghdr m;

	m = (struct msghdr){ .msg_iov = vector(), .msg_iovlen = 2 };
	return &m;
}

static void must(long n)
{
	if (n != SIZE) {
		perror("requests");
		exit(1);
	}
}

static void by_read(void) { must(read(in, buffer, SIZE)); must(write(out, buffer, SIZE)); }
static void by_recv(void) { must(recv(in, buffer, SIZE, 0)); must(send(out, buffer, SIZE, 0)); }
static void by_message(void) { must(recvmsg(in, message(), 0)); must(sendmsg(out, message(), 0)); }
static void by_vector(void) { must(readv(in, vector(), 2)); must(writev(out, vector(), 2)); }

static void by_poll(void)
{
	struct pollfd p = { in, POLLIN, 0 };

	if (poll(&p, 1, 10000) != 1)
		must(0);
	by_recv();
}

static void by_select(void)
{
	fd_set s;

	FD_ZERO(&s);
	FD_SET(in, &s);
	if (select(in + 1, &s, NULL, NULL, NULL) != 1)
		must(0);
	by_read();
}

/* An event loop: its socket does not block. */
static void await_event(void)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (set < 0) {
		set = epoll_create1(0);
		fcntl(in, F_SETFL, O_NONBLOCK);
		if (epoll_ctl(set, EPOLL_CTL_ADD, in, &ev))
			must(0);
	}
	if (epoll_wait(set, &ev, 1, -1) != 1)
		must(0);
}

static void by_epoll_read(void) { await_event(); by_read(); }
static void by_epoll_recv(void) { await_event(); by_recv(); }
static void by_epoll_message(void) { await_event(); by_message(); }
static void by_epoll_vector(void) { await_event(); by_vector(); }

static const struct kind {
	const char *name;
	void (*answer)(void);
	int pipes;
} kinds[] = {
	{ "read", by_read, 0 }, { "recv", by_recv, 0 }, { "message", by_message, 0 }, { "vector", by_vector, 0 },
	{ "poll", by_poll, 0 }, { "select", by_select, 0 }, { "pipe", by_read, 1 }, { "pipe_vector", by_vector, 1 },
	{ "epoll_read", by_epoll_read, 0 }, { "epoll_recv", by_epoll_recv, 0 },
	{ "epoll_message", by_epoll_message, 0 }, { "epoll_vector", by_epoll_vector, 0 },
};

static const struct kind *kind;
static int count;

static void *serve(void *arg)
{
	for (int i = 0; i < count; i++)
		kind->answer();
	return arg;
}

static void ask(int from, int to)
{
	char c[SIZE] = "";

	for (int i = 0; i < count; i++) {
		/* Time for the server to wait, so that each of its waits is one. */
		usleep(200);
		must(write(to, c, SIZE));
		must(read(from, c, SIZE));
	}
	_exit(0);
}

/* The other side is a child's.  A connection is accepted: no other process has it, as it is with servers. */
static int connection(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &size))
		return -1;
	if (fork() == 0) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&at, size))
			must(0);
		ask(fd, fd);
	}
	in = out = accept(listener, NULL, NULL);
	return in < 0 ? -1 : 0;
}

static int pipes(void)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -1;
	if (fork() == 0) {
		close(to[0]);
		close(from[1]);
		ask(from[0], to[1]);
	}
	close(to[1]);
	close(from[0]);
	in = to[0];
	out = from[1];
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int status;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc < 3)
			puts(kinds[i].name);
		else if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind)
		return argc < 3 ? 0 : 2;
	count = atoi(argv[2]);
	if (kind->pipes ? pipes() : connection())
		return 1;
	if (pthread_create(&t, NULL, serve, NULL) || pthread_join(t, NULL))
		return 1;
	return wait(&status) < 0 || status;
}
