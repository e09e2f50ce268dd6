/* kinds: what is under test, and how it is fed. */
#include "fds.h"
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

static void pair(struct test *t, int a, int b)
{
	t->fd = a;
	t->peer = b;
}

static void make_pipe(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	pair(t, p[0], p[1]);
}

static void make_full(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	pair(t, p[1], p[0]);
}

static void make_fifo(struct test *t)
{
	snprintf(t->path, sizeof(t->path), "fifo.%d", getpid());
	ok(mkfifo(t->path, 0600), "mkfifo");
	t->extra[0] = open(t->path, O_RDWR);
	pair(t, open(t->path, O_RDONLY), open(t->path, O_WRONLY));
}

static void make_unix(struct test *t)
{
	int s[2];

	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	pair(t, s[0], s[1]);
}

static void make_dgram(struct test *t)
{
	int s[2];

	ok(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), "socketpair");
	pair(t, s[0], s[1]);
}

static struct sockaddr_in any = { .sin_family = AF_INET };

static int listener(struct sockaddr_in *a)
{
	socklen_t n = sizeof(*a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	*a = any;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ok(bind(l, (struct sockaddr *)a, n), "bind");
	ok(listen(l, 5), "listen");
	ok(getsockname(l, (struct sockaddr *)a, &n), "getsockname");
	return l;
}

static void make_tcp(struct test *t)
{
	struct sockaddr_in a;
	int l = listener(&a), c = socket(AF_INET, SOCK_STREAM, 0);

	ok(connect(c, (struct sockaddr *)&a, sizeof(a)), "connect");
	pair(t, accept(l, NULL, NULL), c);
	close(l);
}

static void make_listener(struct test *t)
{
	struct sockaddr_in a;

	pair(t, listener(&a), socket(AF_INET, SOCK_STREAM, 0));
	t->extra[0] = -1;
	memcpy(t->path, &a, sizeof(a)); /* where it listens */
}

static void make_event(struct test *t)
{
	t->fd = eventfd(0, 0);
	t->peer = dup(t->fd);
}

static void feed_byte(struct test *t, int peer)
{
	(void)t;
	if (send(peer, "x", 1, MSG_NOSIGNAL) < 0 && errno == ENOTSOCK)
		(void)!write(peer, "x", 1);
}

static void feed_room(struct test *t, int peer)
{
	static char buf[1 << 16];

	(void)t;
	(void)!read(peer, buf, sizeof(buf));
}

static void feed_connection(struct test *t, int peer)
{
	if (connect(peer, (struct sockaddr *)t->path, sizeof(any)))
		(void)!write(peer, "x", 1);
}

static void feed_count(struct test *t, int peer)
{
	(void)t;
	(void)!write(peer, "\1\0\0\0\0\0\0", 8);
}

const struct kind kinds[] = {
	{ "pipe", READS | PIPE, make_pipe, feed_byte },
	{ "pipew", WRITES | PIPE, make_full, feed_room },
	{ "fifo", READS, make_fifo, feed_byte },
	{ "unix", READS | SOCKET | STREAM | TIMES, make_unix, feed_byte },
	{ "dgram", READS | SOCKET | TIMES, make_dgram, feed_byte },
	{ "tcp", READS | SOCKET | STREAM | TIMES, make_tcp, feed_byte },
	{ "listen", LISTENS | TIMES, make_listener, feed_connection },
	{ "eventfd", READS, make_event, feed_count },
	{ NULL, 0, NULL, NULL },
};
