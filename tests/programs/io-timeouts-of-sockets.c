/*
 * SO_RCVTIMEO and SO_SNDTIMEO: a blocking call on such a socket gives up with EAGAIN, not before
 * the time, and gets its data when they come in time.
 */
#include "check.h"
#include <sys/socket.h>
#include <sys/time.h>

static void *times_out(void *arg)
{
	struct timeval tv = { 0, 40000 };
	long long began;
	static char big[1 << 20];
	int s[2];
	char c;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	CHECK_SYS(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
	CHECK_SYS(setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv));
	began = now_ns(CLOCK_MONOTONIC);
	CHECK_ERR(recv(s[0], &c, 1, 0), EAGAIN);
	CHECK_ERR(read(s[0], &c, 1), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 75 * 1000000LL);

	ssize_t n = send(s[0], big, sizeof big, 0);

	CHECK(n > 0 && n < (ssize_t)sizeof big);
	began = now_ns(CLOCK_MONOTONIC);
	CHECK_ERR(send(s[0], big, sizeof big, 0), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 35 * 1000000LL);

	tv = (struct timeval){ 30, 0 };
	CHECK_SYS(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
	CHECK_EQ(write(s[1], "x", 1), 1);
	CHECK_EQ(recv(s[0], &c, 1, 0), 1);
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
	return arg;
}

int main(void)
{
	pthread_t t[20];

	for (int i = 0; i < 20; i++)
		t[i] = spawn(times_out, NULL);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	passed("20 sockets timed out and worked afterwards");
	return 0;
}
