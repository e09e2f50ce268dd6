/*
 * 50 pairs of threads (far more than CPUs) play ping-pong over a pipe pair, a stream socket pair, a
 * datagram pair, an eventfd pair and TCP on loopback: a blocked read must give its CPU to somebody.
 */
#include "check.h"
#include <arpa/inet.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { PAIRS = 50, ROUNDS = 100 };

struct end {
	int in, out;
	int leads;
};

static void *play(void *arg)
{
	struct end *e = arg;
	uint64_t ball = 1;

	for (int i = 0; i < ROUNDS; i++) {
		if (e->leads)
			CHECK_EQ(write(e->out, &ball, sizeof ball), sizeof ball);
		CHECK_EQ(read(e->in, &ball, sizeof ball), sizeof ball);
		CHECK_EQ(ball, 1);
		if (!e->leads)
			CHECK_EQ(write(e->out, &ball, sizeof ball), sizeof ball);
	}
	CHECK_SYS(close(e->in));
	if (e->out != e->in)
		CHECK_SYS(close(e->out));
	return NULL;
}

static void by_pipe(struct end *a, struct end *b)
{
	int there[2], back[2];

	CHECK_SYS(pipe(there));
	CHECK_SYS(pipe(back));
	*a = (struct end){ back[0], there[1], 1 };
	*b = (struct end){ there[0], back[1], 0 };
}

static void by_stream(struct end *a, struct end *b)
{
	int s[2];

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	*a = (struct end){ s[0], s[0], 1 };
	*b = (struct end){ s[1], s[1], 0 };
}

static void by_datagram(struct end *a, struct end *b)
{
	int s[2];

	CHECK_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	*a = (struct end){ s[0], s[0], 1 };
	*b = (struct end){ s[1], s[1], 0 };
}

static void by_eventfd(struct end *a, struct end *b)
{
	int there, back;

	CHECK_SYS(there = eventfd(0, 0));
	CHECK_SYS(back = eventfd(0, 0));
	*a = (struct end){ back, there, 1 };
	*b = (struct end){ there, back, 0 };
	/* Each end closes both: give each its own descriptors. */
	CHECK_SYS(b->in = dup(there));
	CHECK_SYS(b->out = dup(back));
}

static void by_tcp(struct end *a, struct end *b)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof sin;
	int l, c, s;

	CHECK_SYS(l = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(bind(l, (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(listen(l, 1));
	CHECK_SYS(getsockname(l, (struct sockaddr *)&sin, &len));
	CHECK_SYS(c = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(connect(c, (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(s = accept(l, NULL, NULL));
	CHECK_SYS(close(l));
	*a = (struct end){ c, c, 1 };
	*b = (struct end){ s, s, 0 };
}

static void run(void (*make)(struct end *, struct end *), const char *name)
{
	static struct end e[2 * PAIRS];
	pthread_t t[2 * PAIRS];

	for (int i = 0; i < PAIRS; i++)
		make(&e[2 * i], &e[2 * i + 1]);
	for (int i = 0; i < 2 * PAIRS; i++)
		t[i] = spawn(play, &e[i]);
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	passed("%s: %d pairs, %d rounds", name, PAIRS, ROUNDS);
}

int main(void)
{
	run(by_pipe, "pipes");
	run(by_stream, "stream sockets");
	run(by_datagram, "datagram sockets");
	run(by_eventfd, "eventfds");
	run(by_tcp, "TCP");
	/* Again: the descriptor numbers are reused by other kinds of file. */
	run(by_eventfd, "eventfds");
	run(by_tcp, "TCP");
	run(by_pipe, "pipes");
	return 0;
}
