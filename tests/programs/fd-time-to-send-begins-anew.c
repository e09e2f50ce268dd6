/*
 * SO_SNDTIMEO on a local stream is the longest wait for room, not for the whole write: a reader
 * that takes a piece now and then, each time soon enough, lets a long write come to its end.
 */
#include "check.h"
#include <sys/socket.h>

enum { PIECES = 10, MS = 300, LIMIT_MS = 2500, SIZE = 1000000 };

static int s[2];
static char big[SIZE];

static void *writes(void *arg)
{
	(void)arg;
	return (void *)write(s[0], big, SIZE);
}

int main(void)
{
	struct timeval tv = { LIMIT_MS / 1000, LIMIT_MS % 1000 * 1000 };
	size_t got = 0;
	pthread_t t;
	ssize_t n;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	CHECK_SYS(setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	t = spawn(writes, NULL);
	/* More than half of what fits each time, and in all less than there is. */
	for (int i = 0; i < PIECES; i++) {
		static char buf[SIZE / PIECES];

		usleep(MS * 1000);
		n = recv(s[1], buf, sizeof(buf), i < PIECES - 1 ? MSG_WAITALL : 0);
		CHECK(n > 0);
		got += (size_t)n;
	}
	while (got < SIZE) {
		n = read(s[1], big, SIZE);
		CHECK(n > 0);
		got += (size_t)n;
	}
	CHECK_EQ((ssize_t)join(t), SIZE);
	passed("a write that takes longer in all");
	t = spawn(writes, NULL);
	n = (ssize_t)join(t);
	CHECK(n > 0 && n < SIZE);
	passed("nobody reads: the write ends with what went");
	return 0;
}
