/*
 * A thread writes to a pipe again and again, in pieces, and another waits at the other end and is woken each time.
 * The number that is written to is closed meanwhile: the writer is told EBADF, the reader that it was the end.  The
 * two numbers of the pipe are far apart, by a power of two.
 */
#include "check.h"
#include <fcntl.h>
#include <stdatomic.h>

enum { ROUNDS = 500, PIECE = 5000 };

static int in, out;
static _Atomic int written;

static void *reads(void *arg)
{
	static char b[65536];
	ssize_t n;

	while ((n = read(in, b, sizeof(b))) > 0)
		;
	CHECK_EQ(n, 0);
	return arg;
}

static void *writes(void *arg)
{
	static char b[PIECE];

	while (write(out, b, sizeof(b)) > 0) {
		written++;
		for (int i = 0; i < 3; i++) /* the reader is to wait again */
			sched_yield();
	}
	CHECK_EQ(errno, EBADF);
	return arg;
}

static void one(int apart, unsigned round)
{
	pthread_t reader, writer;
	int fds[2];

	CHECK_SYS(pipe(fds));
	in = fds[0];
	out = fcntl(fds[1], F_DUPFD, in + apart);
	CHECK_EQ(out, in + apart);
	CHECK_SYS(close(fds[1]));
	written = 0;
	reader = spawn(reads, NULL);
	writer = spawn(writes, NULL);
	while (written < 6 + (int)(round % 7))
		sched_yield();
	for (volatile unsigned i = round * 7919 % 2003; i; i--)
		;
	CHECK_SYS(close(out));
	join(writer);
	join(reader);
	CHECK_SYS(close(in));
}

int main(void)
{
	for (int apart = 64; apart <= 512; apart *= 2) {
		for (unsigned i = 0; i < ROUNDS; i++)
			one(apart, i);
		passed("the end that is written has a number %d above the other's", apart);
	}
	return 0;
}
