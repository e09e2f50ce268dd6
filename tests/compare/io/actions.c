/*
 * actions: what the main thread does to a caller that waits, or before it calls.
 *
 * before() runs when no thread has the descriptor yet; act() when the caller has had time to block.
 * An action whose act() is NULL leaves the call alone: what does not return by itself is then got
 * out by a signal without SA_RESTART, and must say EINTR.
 */
#include "io.h"

static const char text[] = "abcdefghij"; /* fed as a whole, or in pieces of three */

void feed_bytes(struct test *t, const char *data, int n)
{
	if (write(t->peer, data, n) != n)
		die("feeding");
}

/* Until it takes no single byte, and still takes none when what was in flight has arrived. */
void fill(struct test *t)
{
	static char bytes[4096];
	int flags = fcntl(t->fd, F_GETFL), quiet = 0;

	fcntl(t->fd, F_SETFL, flags | O_NONBLOCK);
	for (int size = sizeof bytes; quiet < 4;) {
		long n = write(t->fd, bytes, size);

		if (n > 0) {
			t->filled += n;
			quiet = 0;
		} else if (size > 1) {
			size /= 4;
		} else {
			quiet++;
			if (t->kind->flags & TCP)
				pause_ms(delay_ms / 2);
		}
	}
	fcntl(t->fd, F_SETFL, flags);
}

void drain(struct test *t)
{
	static char bytes[65536];
	struct pollfd p = {t->peer, POLLIN, 0};

	while (poll(&p, 1, 0) == 1 && p.revents & POLLIN) {
		long n = read(t->peer, bytes, sizeof bytes);

		if (n <= 0)
			break;
		t->got += n;
	}
}

long left(struct test *t)
{
	struct pollfd p = {t->fd, POLLIN, 0};
	long sum = 0;

	while (poll(&p, 1, 0) == 1 && p.revents & POLLIN) {
		long n;

		if (t->kind->flags & LISTENS) {
			n = accept(t->fd, NULL, NULL);
			if (n >= 0)
				close(n);
			n = n >= 0;
		} else {
			n = read(t->fd, t->buf, sizeof t->buf);
			if (n > 0 && !(t->kind->flags & TEXT))
				n = 1;
		}
		if (n <= 0)
			break;
		sum += n;
	}
	return sum;
}

static void feed(struct test *t)
{
	t->kind->feed(t, text, 10);
}

/* Some arrive by way of the kernel's own threads. */
static void feed_before(struct test *t)
{
	struct pollfd p = {t->fd, POLLIN, 0};

	feed(t);
	if (!(t->kind->flags & CONNECTS))
		poll(&p, 1, 1000);
}

static void feed_pieces(struct test *t)
{
	for (int at = 0; at < 10; at += 3) {
		t->kind->feed(t, text + at, at + 3 > 10 ? 10 - at : 3);
		wait_done(t, delay_ms);
	}
}

static void close_peer(struct test *t)
{
	close(t->peer);
	t->peer = -1;
}

static void feed_close(struct test *t)
{
	feed(t);
	close_peer(t);
}

static void shut_wr(struct test *t)
{
	shutdown(t->peer, SHUT_WR);
}

static void shut_rd(struct test *t)
{
	shutdown(t->peer, SHUT_RD);
}

static void own_shut_rd(struct test *t)
{
	shutdown(t->fd, SHUT_RD);
}

static void own_shut_wr(struct test *t)
{
	shutdown(t->fd, SHUT_WR);
}

static void own_shut(struct test *t)
{
	shutdown(t->fd, SHUT_RDWR);
}

static void reset(struct test *t)
{
	struct linger none = {1, 0};

	setsockopt(t->peer, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	close_peer(t);
}

static void close_own(struct test *t)
{
	t->mine = false;
	close(t->fd);
	wait_done(t, delay_ms);
}

static void replace_own(struct test *t)
{
	int null = open("/dev/null", O_RDWR);

	t->mine = false;
	dup2(null, t->fd);
	close(null);
	wait_done(t, delay_ms);
}

static void feed_if_open(struct test *t)
{
	if (t->peer >= 0)
		(void)!write(t->peer, text, 10);
}

static void close_own_feed(struct test *t)
{
	close_own(t);
	feed_if_open(t); /* where nothing else has the description, this is into the void */
}

static void replace_own_feed(struct test *t)
{
	replace_own(t);
	feed_if_open(t);
}

static void drain_long(struct test *t)
{
	for (int i = 0; i < 200 && !atomic_load(&t->done); i++) {
		drain(t);
		wait_done(t, 1);
	}
}

static void close_own_drain(struct test *t)
{
	close_own(t);
	drain_long(t);
}

static void replace_own_drain(struct test *t)
{
	replace_own(t);
	drain_long(t);
}

static void interrupt(struct test *t)
{
	for (int i = 0; i < 40 && !atomic_load(&t->done); i++) {
		pthread_kill(t->thread, SIGUSR1);
		wait_done(t, delay_ms / 4 + 1);
	}
}

static void restart(struct test *t)
{
	for (int i = 0; i < 3 && !atomic_load(&t->done); i++) {
		pthread_kill(t->thread, SIGUSR2);
		wait_done(t, delay_ms / 4 + 1);
	}
}

static void restart_feed(struct test *t)
{
	restart(t);
	feed(t);
}

static void restart_drain(struct test *t)
{
	restart(t);
	drain_long(t);
}

static void cancel(struct test *t)
{
	pthread_cancel(t->thread);
}

static void cancel_before(struct test *t)
{
	t->cancelled = true; /* the caller cancels itself before it calls */
}

#define B (1 << BLOCKING)
#define N (1 << NONBLOCK)
#define D (1 << DUPED)
#define T (1 << TIMEO)

const struct action actions[] = {
	{"none", 0, IN | OUT, B | N | T, NULL, NULL},
	{"cancelled", 0, IN | OUT, B, cancel_before, NULL},
	{"fed", 0, IN, B | N | D, feed_before, NULL},
	{"feed", 0, IN, B | D | T, NULL, feed},
	{"pieces", READS | STREAM, IN, B, NULL, feed_pieces},
	{"close", TEXT, IN, B | D | T, NULL, close_peer},
	{"closed", TEXT, IN | OUT, B | N, close_peer, NULL},
	{"closed_full", TEXT, IN, B, feed_close, NULL},
	{"shut_wr", READS | SOCK, IN, B, NULL, shut_wr},
	{"shut_wr_before", READS | SOCK, IN, B, shut_wr, NULL},
	{"own_shut_rd", READS | SOCK, IN, B, NULL, own_shut_rd},
	{"own_shut_rd_before", READS | SOCK, IN, B, own_shut_rd, NULL},
	{"own_shut", SOCK, IN, B, NULL, own_shut},
	{"own_shut_wr_before", READS | SOCK, OUT, B, own_shut_wr, NULL},
	{"shut_rd_before", FILLS | SOCK, OUT, B, shut_rd, NULL},
	{"reset", TCP, IN, B, NULL, reset},
	{"reset_before", TCP, IN | OUT, B | N, reset, NULL},
	{"close_own", TEXT, IN, B | D, NULL, close_own_feed},
	{"replace_own", TEXT, IN, B | D, NULL, replace_own_feed},
	{"signal", 0, IN, B | N | T, NULL, interrupt},
	{"restart", 0, IN, B | T, NULL, restart_feed},
	{"cancel", 0, IN, B, NULL, cancel},
	{"full", FILLS, OUT, B | N | T, fill, NULL},
	{"full_drain", FILLS, OUT, B | D | T, fill, drain_long},
	{"full_close", FILLS, OUT, B, fill, close_peer},
	{"full_shut_rd", FILLS | SOCK, OUT, B, fill, shut_rd},
	{"full_own_shut", FILLS | SOCK, OUT, B, fill, own_shut_wr},
	{"full_reset", FILLS | TCP, OUT, B, fill, reset},
	{"full_close_own", FILLS, OUT, B | D, fill, close_own_drain},
	{"full_replace_own", FILLS, OUT, B | D, fill, replace_own_drain},
	{"full_signal", FILLS, OUT, B | T, fill, interrupt},
	{"full_restart", FILLS, OUT, B | T, fill, restart_drain},
	{"full_cancel", FILLS, OUT, B, fill, cancel},
	{NULL, 0, 0, 0, NULL, NULL},
};
