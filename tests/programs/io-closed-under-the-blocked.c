/*
 * On Linux a thread that is blocked in a call goes on with the open file when another thread closes
 * the number, or makes it mean another file: a reader gets what the old peer sends, a writer's
 * bytes go where they went, and the file ends with the last of them.  (That the other thread is
 * inside its call is seen by what the call has moved so far, not by time.)
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { ROUNDS = 40, BIG = 1 << 20 };

static unsigned char big[BIG];

static void *reads_two(void *arg)
{
	char c[2] = "";

	CHECK_EQ(recv(*(int *)arg, c, 2, MSG_WAITALL), 2);
	return (void *)(long)(c[0] << 8 | c[1]);
}

/* One byte of the two is taken: it waits for the other. */
static pthread_t blocked_reader(int *fd, int peer)
{
	pthread_t t = spawn(reads_two, fd);
	int left;

	CHECK_EQ(write(peer, "1", 1), 1);
	do {
		sched_yield();
		CHECK_SYS(ioctl(*fd, FIONREAD, &left));
	} while (left);
	return t;
}

/*
 * Another file has the number.  EBUSY: somebody in this process is opening one there at this
 * moment.
 */
static void takes(int from, int fd)
{
	while (dup2(from, fd) < 0)
		CHECK_EQ(errno, EBUSY);
}

static void close_under_reader(int replace)
{
	int old[2], new[2], fd;
	pthread_t t, u;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, old));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, new));
	fd = old[0];
	t = blocked_reader(&fd, old[1]);
	if (replace) {
		CHECK_EQ(dup2(new[0], fd), fd);
		CHECK_SYS(close(new[0]));
	} else {
		CHECK_SYS(close(fd));
		takes(new[0], fd);
		CHECK_SYS(close(new[0]));
	}
	u = blocked_reader(&fd, new[1]);
	CHECK_EQ(write(new[1], "n", 1), 1);
	CHECK_EQ((long)join(u), '1' << 8 | 'n');
	CHECK_EQ(write(old[1], "o", 1), 1);
	CHECK_EQ((long)join(t), '1' << 8 | 'o');
	/* It was the last one: now nobody reads there. */
	CHECK_ERR(send(old[1], "z", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_SYS(close(fd));
	CHECK_SYS(close(old[1]));
	CHECK_SYS(close(new[1]));
}

static void *writes_big(void *arg)
{
	CHECK_EQ(write(*(int *)arg, big, BIG), BIG);
	return NULL;
}

static void close_under_writer(int kind)
{
	struct pollfd p;
	unsigned char buf[5000];
	size_t at = 0;
	int s[2], fd;
	ssize_t n;
	pthread_t t;

	if (kind)
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	else
		CHECK_SYS(pipe(s));
	fd = s[1];
	t = spawn(writes_big, &fd);
	p = (struct pollfd){ .fd = s[1], .events = POLLOUT };
	do
		sched_yield();
	while (poll(&p, 1, 0) == 1);
	CHECK_SYS(close(s[1]));
	takes(0, s[1]);
	while ((n = read(s[0], buf, sizeof buf)) > 0) {
		CHECK(memcmp(buf, big + at, (size_t)n) == 0);
		at += (size_t)n;
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(at, BIG);
	join(t);
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
}

int main(void)
{
	for (size_t i = 0; i < BIG; i++)
		big[i] = (unsigned char)(i * 2654435761u >> 13);
	for (int i = 0; i < ROUNDS; i++)
		close_under_reader(i % 2);
	passed("readers kept their open files, %d times", ROUNDS);
	for (int i = 0; i < ROUNDS; i++)
		close_under_writer(i % 2);
	passed("writers kept theirs, %d times", ROUNDS);
	return 0;
}
