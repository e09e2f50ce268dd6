/*
 * A thread reads a socket whose number is closed, or becomes another file, while it waits.  A duplicate
 * of the socket is then shut down: the reader gets the end.  A writer that waits for room gets EPIPE.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

enum { SOCKETS = 3 };

static const int types[SOCKETS] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
static int number;
static volatile pid_t tid;

static void *reads(void *arg)
{
	char c;

	tid = gettid();
	CHECK_EQ(arg ? recv(number, &c, 1, 0) : read(number, &c, 1), 0);
	return NULL;
}

static void *writes(void *arg)
{
	char c = 0;

	tid = gettid();
	CHECK_ERR(write(number, &c, 1), EPIPE);
	return arg;
}

static void lose_number(int other)
{
	int null;

	if (!other) {
		CHECK_SYS(close(number));
		return;
	}
	CHECK_SYS(null = open("/dev/null", O_RDWR));
	CHECK_SYS(dup2(null, number));
	CHECK_SYS(close(null));
}

static void once(int type, int other, void *(*waits)(void *), void *arg)
{
	int ends[2], kept;
	pthread_t t;

	CHECK_SYS(socketpair(AF_UNIX, type, 0, ends));
	number = ends[0];
	CHECK_SYS(kept = dup(number));
	if (waits == writes) {
		char full[4096] = { 0 };

		while (send(number, full, sizeof full, MSG_DONTWAIT) > 0)
			;
		while (send(number, full, 1, MSG_DONTWAIT) > 0)
			;
	}
	t = spawn(waits, arg);
	until_asleep(&tid);
	tid = 0;
	lose_number(other);
	let_others_block();
	CHECK_SYS(shutdown(kept, waits == writes ? SHUT_WR : SHUT_RD));
	join(t);
	CHECK_SYS(close(kept));
	CHECK_SYS(close(ends[1]));
	if (other)
		CHECK_SYS(close(number));
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < SOCKETS; i++)
		for (int way = 0; way < 4; way++)
			once(types[i], way & 1, reads, way & 2 ? &number : NULL);
	passed("readers get the end");
	once(SOCK_STREAM, 0, writes, NULL);
	once(SOCK_STREAM, 1, writes, NULL);
	passed("a writer gets EPIPE");
	return 0;
}
