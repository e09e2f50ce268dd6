/*
 * Threads write to pipes, others splice these into sockets, and readers of the sockets take their
 * time: a splice sleeps for room while it holds the pipe's lock, and whoever writes then waits for
 * that lock.  All bytes arrive in order; tee() and sendfile() into a pipe are spliced, too.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

enum { CHAINS = 4, SIZE = 1 << 20, PIECE = 3000, AT_ONCE = 1 << 16 };

struct chain {
	int number, pipe[2], copy[2], socket[2];
};

static unsigned char byte_at(const struct chain *c, size_t at)
{
	return (unsigned char)(at * 7 + (at >> 10) + (size_t)c->number);
}

static void *writes(void *arg)
{
	struct chain *c = arg;
	unsigned char buf[PIECE];

	for (size_t at = 0; at < SIZE;) {
		size_t n = SIZE - at < PIECE ? SIZE - at : PIECE;

		for (size_t i = 0; i < n; i++)
			buf[i] = byte_at(c, at + i);
		CHECK_EQ(write(c->pipe[1], buf, n), n);
		at += n;
	}
	CHECK_SYS(close(c->pipe[1]));
	return NULL;
}

static void *copies(void *arg)
{
	struct chain *c = arg;
	ssize_t n, m;

	while ((n = tee(c->pipe[0], c->copy[1], AT_ONCE, 0)) > 0)
		for (ssize_t done = 0; done < n; done += m) {
			char buf[PIECE];
			size_t most = (size_t)(n - done) < PIECE ? (size_t)(n - done) : PIECE;

			m = read(c->pipe[0], buf, most);
			CHECK(m > 0);
		}
	CHECK_EQ(n, 0);
	CHECK_SYS(close(c->copy[1]));
	return NULL;
}

static void *moves(void *arg)
{
	struct chain *c = arg;
	ssize_t n;

	while ((n = splice(c->copy[0], NULL, c->socket[1], NULL, AT_ONCE, 0)) > 0)
		;
	CHECK_EQ(n, 0);
	CHECK_SYS(close(c->socket[1]));
	return NULL;
}

static void *reads(void *arg)
{
	struct chain *c = arg;
	unsigned char buf[PIECE];
	size_t at = 0;
	ssize_t n;

	while ((n = read(c->socket[0], buf, PIECE)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQ(buf[i], byte_at(c, at + (size_t)i));
		at += (size_t)n;
		if (at % 16 == 0)
			usleep(100);
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(at, SIZE);
	return NULL;
}

static void chains(void)
{
	struct chain c[CHAINS];
	pthread_t t[CHAINS][4];

	for (int i = 0; i < CHAINS; i++) {
		c[i].number = i;
		CHECK_SYS(pipe(c[i].pipe));
		CHECK_SYS(pipe(c[i].copy));
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, c[i].socket));
		t[i][0] = spawn(writes, &c[i]);
		t[i][1] = spawn(copies, &c[i]);
		t[i][2] = spawn(moves, &c[i]);
		t[i][3] = spawn(reads, &c[i]);
	}
	for (int i = 0; i < CHAINS; i++) {
		for (int k = 0; k < 4; k++)
			join(t[i][k]);
		CHECK_SYS(close(c[i].pipe[0]));
		CHECK_SYS(close(c[i].copy[0]));
		CHECK_SYS(close(c[i].socket[0]));
	}
	passed("%d chains of pipe, copy and socket", CHAINS);
}

static void *sends(void *arg)
{
	int *p = arg, f = open("/proc/self/exe", O_RDONLY);
	ssize_t n;

	CHECK_SYS(f);
	while ((n = sendfile(p[1], f, NULL, AT_ONCE)) > 0)
		;
	CHECK_EQ(n, 0);
	CHECK_SYS(close(f));
	CHECK_SYS(close(p[1]));
	return NULL;
}

static void from_file(void)
{
	int p[2], f = open("/proc/self/exe", O_RDONLY);
	char want[PIECE], got[PIECE];
	pthread_t t;
	ssize_t n;

	CHECK_SYS(f);
	CHECK_SYS(pipe(p));
	t = spawn(sends, p);
	while ((n = read(p[0], got, PIECE)) > 0) {
		CHECK_EQ(read(f, want, (size_t)n), n);
		CHECK_EQ(memcmp(want, got, (size_t)n), 0);
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(read(f, want, 1), 0);
	join(t);
	CHECK_SYS(close(f));
	CHECK_SYS(close(p[0]));
	passed("a file sent into a pipe");
}

int main(void)
{
	chains();
	from_file();
	return 0;
}
