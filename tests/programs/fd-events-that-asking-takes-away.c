/*
 * Files that say once, to whoever asks first, that something happened: here the name of the host,
 * in a name space of our own.  A thread that waits for it hears of it by poll, select and epoll; by
 * an epoll inside another, under another number, or filled while it waits.
 *
 * Epolls inside one another, as deep as the kernel allows, while a thread waits for the outermost.
 */
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "../compare/lib/newer.h"

enum { LONG = 20000, DEPTH = 5 };

static int fd;      /* the file */
static int set[2];  /* epolls: the one that is waited for, and perhaps one in it */

static void enter(int ep, int what, unsigned int events)
{
	struct epoll_event ev = { .events = events, .data.fd = what };

	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, what, &ev));
}

static void *by_poll(void *arg)
{
	struct pollfd p[2] = { { .fd = *(int *)arg, .events = POLLPRI | POLLIN }, { .fd = -1 } };

	CHECK_EQ(poll(p, 2, LONG), 1);
	return NULL;
}

static void *by_ppoll(void *arg)
{
	struct timespec ts = { LONG / 1000, 0 };
	struct pollfd p = { .fd = *(int *)arg, .events = POLLPRI | POLLIN };

	CHECK_EQ(ppoll(&p, 1, &ts, NULL), 1);
	return NULL;
}

static void *by_select(void *arg)
{
	struct timeval tv = { LONG / 1000, 0 };
	int n = *(int *)arg;
	fd_set e;

	FD_ZERO(&e);
	FD_SET(n, &e);
	CHECK_EQ(select(n + 1, NULL, NULL, &e, &tv), 1);
	return NULL;
}

static void *by_epoll(void *arg)
{
	struct epoll_event ev;

	CHECK_EQ(epoll_wait(*(int *)arg, &ev, 1, LONG), 1);
	return NULL;
}

static void *by_epoll2(void *arg)
{
	struct timespec ts = { LONG / 1000, 0 };
	struct epoll_event ev;

	CHECK_EQ(epoll_pwait2(*(int *)arg, &ev, 1, &ts, NULL), 1);
	return NULL;
}

static void rename_host(void)
{
	static int n;
	char name[32];
	int len = snprintf(name, sizeof(name), "host%d", n++);

	CHECK_SYS(sethostname(name, (size_t)len));
}

/* The file is new each time: what happened before is not said. */
static void open_file(void)
{
	char buf[100];

	fd = open("/proc/sys/kernel/hostname", O_RDONLY);
	CHECK_SYS(fd);
	CHECK(read(fd, buf, sizeof(buf)) > 0);
}

static void one(void *(*waits)(void *), int *what, void (*late)(void), const char *name)
{
	pthread_t t = spawn(waits, what);

	let_others_block();
	if (late) {
		late();
		let_others_block();
	}
	rename_host();
	join(t);
	passed("%s", name);
	CHECK_SYS(close(fd));
	for (int i = 0; i < 2; i++) {
		if (set[i] > 0)
			CHECK_SYS(close(set[i]));
		set[i] = 0;
	}
}

static void make_sets(int n)
{
	open_file();
	for (int i = 0; i < n; i++) {
		set[i] = epoll_create1(0);
		CHECK_SYS(set[i]);
	}
}

static void fill(void)
{
	enter(set[0], fd, EPOLLPRI);
}

static void fill_inner(void)
{
	enter(set[1], fd, EPOLLPRI);
}

static void by_each_call(void)
{
	open_file();
	one(by_poll, &fd, NULL, "poll");
	open_file();
	one(by_ppoll, &fd, NULL, "ppoll");
	open_file();
	one(by_select, &fd, NULL, "select");
	make_sets(1);
	fill();
	one(by_epoll, set, NULL, "epoll_wait");
	make_sets(1);
	fill();
	one(by_epoll2, set, NULL, "epoll_pwait2");
	make_sets(1);
	one(by_epoll, set, fill, "epoll_wait, filled while it waits");
	make_sets(1);
	one(by_poll, set, fill, "poll of an epoll, filled while it waits");
}

static void entangled(void)
{
	make_sets(1);
	set[1] = dup(set[0]);
	CHECK_SYS(set[1]);
	one(by_epoll, set, fill_inner, "an epoll filled under another number");
	make_sets(2);
	enter(set[0], set[1], EPOLLIN);
	fill_inner();
	one(by_epoll, set, NULL, "an epoll in an epoll");
	make_sets(2);
	enter(set[0], set[1], EPOLLIN);
	one(by_epoll, set, fill_inner, "an epoll in an epoll, filled while it waits");
}

/* The event of a pipe comes through all of them. */
static void deep(void)
{
	int ep[DEPTH], p[2];
	pthread_t t;

	CHECK_SYS(pipe(p));
	for (int i = 0; i < DEPTH; i++) {
		ep[i] = epoll_create1(0);
		CHECK_SYS(ep[i]);
	}
	t = spawn(by_epoll, &ep[0]);
	let_others_block();
	for (int i = 0; i < DEPTH - 1; i++)
		enter(ep[i], ep[i + 1], EPOLLIN);
	enter(ep[DEPTH - 1], p[0], EPOLLIN);
	let_others_block();
	CHECK_EQ(write(p[1], "x", 1), 1);
	join(t);
	passed("%d epolls inside one another", DEPTH);
}

int main(void)
{
	int early[2], early_file;
	struct epoll_event ev;

	if (unshare(CLONE_NEWUTS))
		return 77;
	/* Filled before there are threads. */
	make_sets(1);
	fill();
	early[0] = set[0];
	early_file = fd;
	set[0] = 0;
	CHECK_EQ(epoll_wait(early[0], &ev, 1, 0), 0);
	by_each_call();
	fd = early_file;
	set[0] = early[0];
	CHECK(epoll_wait(set[0], &ev, 1, 0) >= 0); /* what was renamed so far */
	one(by_epoll, set, NULL, "an epoll filled before there were threads");
	deep();
	entangled();
	return 0;
}
