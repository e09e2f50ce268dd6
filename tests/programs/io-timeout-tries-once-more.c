/*
 * SO_SNDTIMEO bounds the wait for each buffer of a write to a local stream.  When it is over the
 * write looks once more: the reader has made room for a buffer long before three quarters are free,
 * and only then does the kernel tell of room.  So a slow reader does not cut the write short.
 */
#include "check.h"
#include <sys/socket.h>
#include <sys/time.h>

enum { BYTES = 512 << 10, PIECE = 4096 };

/* A buffer of the socket holds about nine pieces; three quarters of its room are about forty. */
static void *reads_slowly(void *arg)
{
	static char piece[PIECE];
	int fd = *(int *)arg;
	long got = 0;
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) > 0) {
		got += n;
		usleep(10000);
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(got, BYTES);
	return NULL;
}

int main(void)
{
	static char bytes[BYTES];
	struct timeval tv = { 0, 300000 };
	pthread_t reader;
	int s[2];

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	CHECK_SYS(setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv));
	reader = spawn(reads_slowly, &s[1]);
	CHECK_EQ(write(s[0], bytes, sizeof bytes), BYTES);
	CHECK_SYS(shutdown(s[0], SHUT_WR));
	join(reader);
	passed("a write with a time-out goes on while a slow reader makes room");
	return 0;
}
