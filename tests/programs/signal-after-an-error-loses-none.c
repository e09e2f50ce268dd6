/*
 * What a thread waits for fails, and straight after it comes a signal, whose handler has SA_RESTART or not.  The call
 * returns the error, which the file tells once, and a pipe without readers sends one SIGPIPE.
 */
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum { ROUNDS = 20 };

static int mine, other, listener;
static struct sockaddr_in name;
static socklen_t length = sizeof name;
static char text[65536];
static volatile pid_t tid;
static _Atomic int handled, pipes;

static void handler(int sig)
{
	(*(sig == SIGPIPE ? &pipes : &handled))++;
}

static void bound(int *s, int type)
{
	memset(&name, 0, sizeof name);
	name.sin_family = AF_INET;
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_SYS(*s = socket(AF_INET, type, 0));
	CHECK_SYS(bind(*s, (struct sockaddr *)&name, length));
	CHECK_SYS(getsockname(*s, (struct sockaddr *)&name, &length));
}

/* Nobody is there for what is sent. */
static void refused(void)
{
	bound(&other, SOCK_DGRAM);
	CHECK_SYS(mine = socket(AF_INET, SOCK_DGRAM, 0));
	CHECK_SYS(connect(mine, (struct sockaddr *)&name, length));
	CHECK_SYS(close(other));
}

static void sends(void)
{
	CHECK_EQ(send(mine, "x", 1, 0), 1);
}

static void connected(void)
{
	bound(&listener, SOCK_STREAM);
	CHECK_SYS(listen(listener, 1));
	CHECK_SYS(mine = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(connect(mine, (struct sockaddr *)&name, length));
	CHECK_SYS(other = accept(listener, NULL, NULL));
	CHECK_SYS(close(listener));
}

static void resets(void)
{
	struct linger at_once = { 1, 0 };

	CHECK_SYS(setsockopt(other, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
	CHECK_SYS(close(other));
}

static void full(void)
{
	int p[2];

	CHECK_SYS(pipe(p));
	other = p[0];
	mine = p[1];
	CHECK_SYS(fcntl(mine, F_SETFL, O_NONBLOCK));
	while (write(mine, text, 4096) > 0)
		;
	while (write(mine, text, 1) > 0)
		;
	CHECK_SYS(fcntl(mine, F_SETFL, 0));
}

static void closes(void)
{
	CHECK_SYS(close(other));
}

static ssize_t reads(void)
{
	return read(mine, text, 1);
}

static ssize_t writes(void)
{
	return write(mine, text, 1);
}

static const struct row {
	const char *name;
	void (*make)(void), (*fails)(void);
	ssize_t (*wait)(void);
	int error;
	int pipes;
} rows[] = {
	{ "a datagram is refused", refused, sends, reads, ECONNREFUSED, 0 },
	{ "a connection is reset", connected, resets, reads, ECONNRESET, 0 },
	{ "a pipe has no reader", full, closes, writes, EPIPE, 1 },
};

static void *waits(void *arg)
{
	const struct row *row = arg;

	tid = gettid();
	CHECK_ERR(row->wait(), row->error);
	while (!handled)
		sched_yield();
	return NULL;
}

static void round_of(const struct row *row)
{
	pthread_t t;

	row->make();
	handled = pipes = 0;
	tid = 0;
	t = spawn(waits, (void *)row);
	until_asleep(&tid);
	row->fails();
	CHECK_OK(pthread_kill(t, SIGUSR1));
	join(t);
	CHECK_EQ(pipes, row->pipes);
	CHECK_SYS(close(mine));
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGPIPE, &sa, NULL));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int round = 0; round < ROUNDS; round++) {
			sa.sa_flags = round % 2 ? SA_RESTART : 0;
			CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
			round_of(&rows[i]);
		}
		passed("%s", rows[i].name);
	}
	return 0;
}
