/*
 * A blocking write to a stream returns when all is queued, however slowly it is read; a handler
 * without SA_RESTART or a time-out in the middle ends it with the count so far; the bytes are those
 * of the vector in order.  Small writes to a pipe do not mix.  A stream whose reader went is EPIPE
 * and one SIGPIPE.
 */
#include "check.h"
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { BIG = 3 << 20, PIECES = 300 };

static unsigned char big[BIG];

struct reader {
	int fd;
	size_t n;
};

/* Reads in odd pieces and compares. */
static void *compares(void *arg)
{
	struct reader *r = arg;
	unsigned char buf[7777];
	size_t at = 0;

	while (at < r->n) {
		size_t want = sizeof buf - at % 5000;
		ssize_t got = read(r->fd, buf, want < r->n - at ? want : r->n - at);

		CHECK(got > 0);
		CHECK(memcmp(buf, big + at, (size_t)got) == 0);
		at += (size_t)got;
		if (at % 3 == 0)
			sched_yield();
	}
	return NULL;
}

static ssize_t by_write(int fd)
{
	return write(fd, big, BIG);
}

static ssize_t by_send(int fd)
{
	return send(fd, big, BIG, MSG_NOSIGNAL);
}

static struct iovec *pieces(void)
{
	static struct iovec iov[PIECES];
	size_t at = 0;

	for (int i = 0; i < PIECES; i++) {
		size_t n = i == PIECES - 1 ? BIG - at : i % 7 == 3 ? 0 : (size_t)(i * 61 % 19000);

		iov[i] = (struct iovec){ big + at, n };
		at += n;
	}
	return iov;
}

static ssize_t by_writev(int fd)
{
	return writev(fd, pieces(), PIECES);
}

static ssize_t by_sendmsg(int fd)
{
	struct msghdr msg = { .msg_iov = pieces(), .msg_iovlen = PIECES };

	return sendmsg(fd, &msg, 0);
}

static void whole(const char *name, int kind, ssize_t (*put)(int fd))
{
	struct reader r = { .n = BIG };
	int s[2];
	pthread_t t;

	if (kind)
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	else
		CHECK_SYS(pipe(s));
	r.fd = s[0];
	t = spawn(compares, &r);
	CHECK_EQ(put(s[1]), BIG);
	join(t);
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
	passed("%s to a %s is whole", name, kind ? "socket" : "pipe");
}

static void on_signal(int sig)
{
}

static void *writes_until_signal(void *arg)
{
	ssize_t n = write(*(int *)arg, big, BIG);

	CHECK(n > 0 && n < BIG);
	/* Full, so nothing at all this time. */
	CHECK_ERR(write(*(int *)arg, big, BIG), EINTR);
	return (void *)n;
}

static void interrupted(int kind)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct reader r;
	int s[2];
	pthread_t t;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	if (kind)
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	else
		CHECK_SYS(pipe(s));
	t = spawn(writes_until_signal, &s[1]);
	for (int i = 0; i < 2; i++) {
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
	}
	/* Should the second have come before the second write: again. */
	let_others_block();
	pthread_kill(t, SIGUSR1);
	r = (struct reader){ s[0], (size_t)join(t) };
	compares(&r);
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
	passed("an interrupted write to a %s is counted", kind ? "socket" : "pipe");
}

enum { WRITERS = 6, LINES = 300, LINE = PIPE_BUF / 2 - 13 };

static void *writes_lines(void *arg)
{
	long *a = arg;
	char line[LINE];

	memset(line, (int)a[1], LINE);
	for (int i = 0; i < LINES; i++)
		CHECK_EQ(write((int)a[0], line, LINE), LINE);
	return NULL;
}

static void unmixed(void)
{
	long a[WRITERS][2];
	pthread_t t[WRITERS];
	char line[LINE];
	int p[2];

	CHECK_SYS(pipe(p));
	for (int i = 0; i < WRITERS; i++) {
		a[i][0] = p[1];
		a[i][1] = 'a' + i;
		t[i] = spawn(writes_lines, a[i]);
	}
	for (int i = 0; i < WRITERS * LINES; i++) {
		size_t at = 0;

		while (at < LINE) {
			ssize_t n = read(p[0], line + at, LINE - at);

			CHECK(n > 0);
			at += (size_t)n;
		}
		for (int k = 1; k < LINE; k++)
			CHECK_EQ(line[k], line[0]);
	}
	for (int i = 0; i < WRITERS; i++)
		join(t[i]);
	CHECK_SYS(close(p[0]));
	CHECK_SYS(close(p[1]));
	passed("small writes to a pipe did not mix");
}

static _Thread_local int pipes;
static volatile int all_pipes;

static void on_pipe(int sig)
{
	pipes++;
	all_pipes++;
}

static void *writes_to_nobody(void *arg)
{
	ssize_t n;

	n = write(*(int *)arg, big, BIG); /* fills it, then the reader goes */
	CHECK(n > 0 && n < BIG);
	pipes = 0;
	CHECK_ERR(write(*(int *)arg, big, BIG), EPIPE);
	CHECK_EQ(pipes, 1); /* in this thread, before the call returned */
	return NULL;
}

static void *reads_a_little(void *arg)
{
	char c;

	let_others_block();
	CHECK_EQ(read(*(int *)arg, &c, 1), 1);
	CHECK_SYS(close(*(int *)arg));
	return NULL;
}

static void nobody_reads(int kind)
{
	struct sigaction sa = { .sa_handler = on_pipe };
	pthread_t t, u;
	int s[2];

	CHECK_SYS(sigaction(SIGPIPE, &sa, NULL));
	if (kind)
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	else
		CHECK_SYS(pipe(s));
	t = spawn(writes_to_nobody, &s[1]);
	u = spawn(reads_a_little, &s[0]);
	join(t);
	join(u);
	CHECK_SYS(close(s[1]));
	passed("a %s without a reader", kind ? "socket" : "pipe");
}

int main(void)
{
	for (size_t i = 0; i < BIG; i++)
		big[i] = (unsigned char)(i * 2654435761u >> 13);
	whole("write", 0, by_write);
	whole("write", 1, by_write);
	whole("writev", 0, by_writev);
	whole("writev", 1, by_writev);
	whole("send", 1, by_send);
	whole("sendmsg", 1, by_sendmsg);
	interrupted(0);
	interrupted(1);
	unmixed();
	nobody_reads(0);
	nobody_reads(1);
	return 0;
}
