/*
 * A socket with O_NONBLOCK that a loop has in its epoll is watched by that epoll and by no other, whatever it writes:
 * pieces, much at once, more than there is room for.  Such calls end with their first step: partial counts, EAGAIN.
 */
#include "check.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

static char big[1 << 20];

/* Epolls of this process that watch fd. */
static int watchers(int fd)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fdinfo");
	struct dirent *e;

	CHECK(d);
	while ((e = readdir(d))) {
		char path[300], line[200];
		int tfd;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			n += sscanf(line, "tfd: %d", &tfd) == 1 && tfd == fd;
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}

static void tcp(int s[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(!bind(l, (struct sockaddr *)&a, len) && !listen(l, 1) && !getsockname(l, (struct sockaddr *)&a, &len));
	s[1] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(s[1], (struct sockaddr *)&a, len));
	s[0] = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	CHECK(s[0] >= 0);
	close(l);
}

static ssize_t in_pieces(int fd, const char *p, size_t n)
{
	struct iovec v[2] = { { (void *)p, n / 2 }, { (void *)(p + n / 2), n - n / 2 } };

	return writev(fd, v, 2);
}

static ssize_t message(int fd, const char *p, size_t n)
{
	struct iovec v = { (void *)p, n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return sendmsg(fd, &m, MSG_NOSIGNAL);
}

static ssize_t whole(int fd, const char *p, size_t n)
{
	return write(fd, p, n);
}

static void writes(int s[2], const char *what, ssize_t (*fn)(int, const char *, size_t))
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT };
	int ep = epoll_create1(0);
	bool partial = false;
	size_t sent = 0, got = 0;
	ssize_t r;

	CHECK(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, s[0], &e));
	for (int i = 0; i < 10; i++) {
		CHECK(epoll_wait(ep, &e, 1, -1) == 1);
		CHECK(fn(s[0], "0123456789", 10) == 10);
		CHECK(read(s[1], big, sizeof(big)) == 10);
		CHECK(read(s[0], big, 1) == -1 && errno == EAGAIN);
	}
	while ((r = fn(s[0], big, sizeof(big))) > 0) {
		partial |= r < (ssize_t)sizeof(big);
		sent += (size_t)r;
	}
	CHECK(r == -1 && errno == EAGAIN);
	while (got < sent && (r = read(s[1], big, sizeof(big))) > 0)
		got += (size_t)r;
	printf("%s: %s, all came %s, watched by %d\n", what, partial ? "some of it" : "all or nothing",
	       got == sent ? "there" : "not", watchers(s[0]));
	close(ep);
}

/* The same file waits once the flag is gone, also for all that it is to write. */
static void *reads(void *p)
{
	size_t got = 0;
	ssize_t r;

	while ((r = read(*(int *)p, big + sizeof(big) / 2, sizeof(big) / 2)) > 0)
		got += (size_t)r;
	return (void *)got;
}

static void waits(int s[2])
{
	size_t n = 0;
	void *got;
	pthread_t t;

	CHECK(!fcntl(s[0], F_SETFL, 0));
	CHECK(!pthread_create(&t, NULL, reads, &s[1]));
	for (int i = 0; i < 20; i++) {
		CHECK(in_pieces(s[0], big, sizeof(big)) == (ssize_t)sizeof(big));
		n += sizeof(big);
	}
	shutdown(s[0], SHUT_WR);
	CHECK(!pthread_join(t, &got));
	printf("then it waits: %s\n", (size_t)got == n ? "all of it" : "lost some");
}

static void *loop(void *arg)
{
	int s[2];

	for (int local = 0; local < 2; local++) {
		if (!local)
			tcp(s);
		else
			CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) && !fcntl(s[1], F_SETFL, 0));
		writes(s, "writev", in_pieces);
		writes(s, "sendmsg", message);
		writes(s, "write", whole);
		waits(s);
		close(s[0]);
		close(s[1]);
	}
	return arg;
}

int main(void)
{
	join(spawn(loop, NULL));
	return 0;
}
