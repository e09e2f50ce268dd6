/*
 * fclose() of a socket has more to write than fits.  While it waits for room another thread reads
 * the same socket, begins further reads, and gets what comes; the bytes of the FILE arrive whole.
 * The read that has begun by then lasts beyond the end of fclose().
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

enum { KEPT = 200000, READS = 20 };

static int s[2];
static _Atomic int nread, closed;

static void *reads(void *arg)
{
	char c;

	(void)arg;
	for (int i = 0; i <= READS; i++) {
		CHECK_EQ(recv(s[0], &c, 1, 0), 1);
		CHECK_EQ(c, 'a' + i);
		nread++;
	}
	return NULL;
}

static void *closes(void *f)
{
	CHECK_EQ(fclose(f), 0);
	closed = 1;
	return NULL;
}

int main(void)
{
	static char buf[KEPT + 4096], d[KEPT];
	size_t before = 0, got = 0;
	pthread_t r, c;
	ssize_t n;
	FILE *f;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	CHECK_SYS(fcntl(s[0], F_SETFL, O_NONBLOCK));
	while ((n = write(s[0], d, 4096)) > 0)
		before += (size_t)n;
	CHECK_SYS(fcntl(s[0], F_SETFL, 0));
	f = fdopen(s[0], "w");
	CHECK(f);
	CHECK_EQ(setvbuf(f, buf, _IOFBF, sizeof(buf)), 0);
	CHECK_EQ(fwrite(d, 1, KEPT, f), KEPT);
	r = spawn(reads, NULL);
	c = spawn(closes, f);
	for (int i = 0; i < READS; i++) {
		char byte = (char)('a' + i);

		let_others_block(); /* in fclose, and in the next read */
		CHECK_EQ(write(s[1], &byte, 1), 1);
		while (nread <= i)
			sched_yield();
	}
	CHECK_EQ(closed, 0);
	passed("%d reads during the flush", READS);
	let_others_block();
	while (got < before + KEPT) {
		n = read(s[1], d, sizeof(d));
		CHECK(n > 0);
		got += (size_t)n;
	}
	join(c);
	passed("all bytes came");
	CHECK_EQ(write(s[1], &(char){ 'a' + READS }, 1), 1);
	join(r);
	CHECK_EQ(read(s[1], d, 1), 0);
	passed("a read after the close, then the end");
	return 0;
}
