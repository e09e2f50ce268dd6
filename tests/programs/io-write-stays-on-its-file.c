/*
 * A write that waits moves all its bytes, and all to the file that its number named as it began, although another
 * thread makes the number another file's all the time: pipes and local streams; write, writev and sendmsg.
 */
#include "check.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { BYTES = 150000, WRITES = 200 };

static int number, ends[2][2]; /* to read from, to write to */
static bool sockets;
static atomic_bool over;

static void *reads(void *arg)
{
	const int *end = arg;
	unsigned char *buf = malloc(BYTES), first = 0;
	size_t at = 0;
	ssize_t n;

	CHECK(buf);
	while ((n = read(end[0], buf, BYTES)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (at == 0)
				first = buf[i];
			CHECK_EQ(buf[i], first);
			at = (at + 1) % BYTES;
		}
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(at, 0);
	free(buf);
	return arg;
}

static void *writes(void *arg)
{
	unsigned char *buf = malloc(BYTES);
	struct iovec parts[2] = { { buf, 1000 }, { buf + 1000, BYTES - 1000 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };

	CHECK(buf);
	for (int i = 0; i < WRITES; i++) {
		memset(buf, i % 250, BYTES);
		if (i % 3 == 0)
			CHECK_EQ(write(number, buf, BYTES), BYTES);
		else if (i % 3 == 1 || !sockets)
			CHECK_EQ(writev(number, parts, 2), BYTES);
		else
			CHECK_EQ(sendmsg(number, &msg, 0), BYTES);
	}
	over = true;
	free(buf);
	return arg;
}

static void *exchanges(void *arg)
{
	for (unsigned i = 0; !over; i++) {
		CHECK_EQ(dup2(ends[i & 1][1], number), number);
		if (i % 7 == 0)
			sched_yield();
		else if (i % 11 == 0)
			usleep(50);
	}
	return arg;
}

static void test(void)
{
	pthread_t reader[2], t[2];

	over = false;
	for (int i = 0; i < 2; i++) {
		int pair[2];

		CHECK_SYS(sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair) : pipe(pair));
		ends[i][0] = pair[0];
		ends[i][1] = pair[1];
		reader[i] = spawn(reads, ends[i]);
	}
	number = dup(ends[0][1]);
	CHECK_SYS(number);
	t[0] = spawn(exchanges, NULL);
	t[1] = spawn(writes, NULL);
	for (int i = 0; i < 2; i++)
		join(t[i]);
	CHECK_SYS(close(number));
	for (int i = 0; i < 2; i++) {
		CHECK_SYS(close(ends[i][1]));
		join(reader[i]);
		CHECK_SYS(close(ends[i][0]));
	}
}

int main(void)
{
	test();
	passed("a pipe's");
	sockets = true;
	test();
	passed("a local stream's");
	return 0;
}
