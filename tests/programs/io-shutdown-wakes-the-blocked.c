/*
 * How servers stop: shutdown of a socket ends reads, writes and accepts that other threads are
 * blocked in; a closed peer is end-of-file or EPIPE or ECONNRESET to all of them; closing the last
 * write end wakes every reader of a pipe.
 */
#include "check.h"
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { THREADS = 15 };

static void *reads_to_end(void *arg)
{
	char buf[16];

	CHECK_EQ(read(*(int *)arg, buf, sizeof buf), 0);
	return NULL;
}

static void *writes_to_end(void *arg)
{
	static char big[1 << 20];

	while (send(*(int *)arg, big, sizeof big, MSG_NOSIGNAL) > 0)
		;
	CHECK(errno == EPIPE || errno == ECONNRESET);
	return NULL;
}

static void *accepts_to_end(void *arg)
{
	CHECK_ERR(accept(*(int *)arg, NULL, NULL), EINVAL);
	return NULL;
}

static void *polls_to_end(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK(p.revents & (POLLIN | POLLHUP));
	return NULL;
}

static void start(pthread_t *t, void *(*fn)(void *), int *fd)
{
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(fn, fd);
	let_others_block();
}

static void finish(pthread_t *t, const char *what)
{
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%s", what);
}

static int listen_on_loopback(struct sockaddr_in *sin)
{
	socklen_t len = sizeof *sin;
	int fd;

	*sin = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CHECK_SYS(fd = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(bind(fd, (struct sockaddr *)sin, sizeof *sin));
	CHECK_SYS(listen(fd, 10));
	CHECK_SYS(getsockname(fd, (struct sockaddr *)sin, &len));
	return fd;
}

int main(void)
{
	struct sockaddr_in sin;
	pthread_t t[THREADS];
	int s[2], l, c, a;

	CHECK_SYS(pipe(s));
	start(t, reads_to_end, &s[0]);
	CHECK_SYS(close(s[1]));
	finish(t, "readers of a pipe");

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	start(t, reads_to_end, &s[0]);
	CHECK_SYS(shutdown(s[0], SHUT_RD));
	finish(t, "readers of a socket that was shut down here");
	start(t, writes_to_end, &s[1]);
	CHECK_SYS(shutdown(s[1], SHUT_WR));
	finish(t, "writers of a socket that was shut down here");
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));

	l = listen_on_loopback(&sin);
	CHECK_SYS(c = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(connect(c, (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(a = accept(l, NULL, NULL));
	start(t, reads_to_end, &a);
	CHECK_SYS(shutdown(c, SHUT_WR));
	finish(t, "readers of TCP whose peer ended");
	start(t, writes_to_end, &a);
	/* Unread data make the close a reset. */
	CHECK_SYS(close(c));
	finish(t, "writers of TCP whose peer closed");
	CHECK_SYS(close(a));

	start(t, accepts_to_end, &l);
	CHECK_SYS(shutdown(l, SHUT_RDWR));
	finish(t, "accepts of a listener that was shut down");
	CHECK_SYS(close(l));

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	start(t, polls_to_end, &s[0]);
	CHECK_SYS(close(s[1]));
	finish(t, "polls of a socket whose peer closed");
	return 0;
}
