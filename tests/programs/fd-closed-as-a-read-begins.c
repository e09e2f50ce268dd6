/*
 * A thread begins to read at the moment in which another closes the number.  Whichever was first,
 * the reader does not wait for ever: the number is bad, or it reads the file as it was, to its end.
 * The closer has computed for some ten milliseconds before, differently long each time, so that the
 * scheduler takes the processor away from it anywhere near the close.
 */
#include "check.h"
#include <sys/socket.h>

enum { ROUNDS = 40, LEAST_US = 9500, STEP_US = 100 };

static void *reads(void *arg)
{
	char c;

	return (void *)(read(*(int *)arg, &c, 1) < 0 ? (long)errno : 0);
}

static void compute(long us)
{
	static char buf[1 << 16];
	long long until = now_ns(CLOCK_PROCESS_CPUTIME_ID) + us * 1000;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		memset(buf, (int)us, sizeof(buf));
}

static void ends(int how, const char *what)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fds[2];
		pthread_t t;
		long err;

		CHECK_SYS(how ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : pipe(fds));
		t = spawn(reads, fds);
		compute(LEAST_US + i * STEP_US);
		CHECK_SYS(close(fds[0]));
		CHECK_SYS(close(fds[1]));
		err = (long)join(t);
		CHECK(err == 0 || err == EBADF);
	}
	passed("%s: each of %d readers came back", what, ROUNDS);
}

int main(void)
{
	ends(0, "pipe");
	ends(1, "socket");
	return 0;
}
