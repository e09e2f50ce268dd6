/*
 * echoclient.c: the load of an echo server, and what it saw.
 *
 * One thread and one epoll; it keeps a fixed number of requests outstanding and checks every byte
 * of every reply.  A process of its own, so that a server of another make is loaded by the same
 * code.
 *
 * What the server costs is measured here too, from outside and over the same window as the rate:
 * neither thousands of creations nor the shutdown are counted as work on requests.
 */
#define _GNU_SOURCE
#include "echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WARM_NS 200000000u
#define RUN_NS 1000000000u
#define MAX_SAMPLES 2000000L
#define PER_ADDRESS 20000 /* connections from one address: its ports are 28,000 (ip_local_port_range) */

void echo_write(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w <= 0)
			die("write to a connection", errno);
		p += w;
		n -= (size_t)w;
	}
}

int echo_no_delay(int fd)
{
	int on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void echo_raise_limit(long need)
{
	struct rlimit rl;

	must_sys(getrlimit(RLIMIT_NOFILE, &rl));
	rl.rlim_cur = rl.rlim_max;
	must_sys(setrlimit(RLIMIT_NOFILE, &rl));
	if (rl.rlim_max != RLIM_INFINITY && rl.rlim_max < (rlim_t)need)
		die("RLIMIT_NOFILE is too low for this many connections", EMFILE);
}

struct conn {
	int fd;
	unsigned got; /* bytes of the reply so far */
	long replies; /* inside the window */
	uint64_t sent;
	unsigned char message[ECHO_MESSAGE];
};

struct load {
	const struct bench *row;
	struct conn *conns;
	long *idle; /* ring of connections without a request, oldest first */
	long idle_head, idle_count;
	long outstanding, answered, served, samples;
	uint64_t *ns;
	uint64_t warm;	      /* when the window may open */
	uint64_t from, until; /* the window; 0 before it opens, before it closes */
	uint64_t server_cpu;
	long server_threads;
	pid_t server;
	int epfd;
};

static void send_request(struct load *l, uint64_t now)
{
	long c = l->idle[l->idle_head];
	struct conn *conn = &l->conns[c];

	l->idle_head = (l->idle_head + 1) % l->row->a;
	l->idle_count--;
	for (size_t i = 0; i < ECHO_MESSAGE; i++)
		conn->message[i] = (unsigned char)((size_t)c * 31 + (size_t)l->answered * 7 + i);
	conn->got = 0;
	conn->sent = now;
	echo_write(conn->fd, (char *)conn->message, ECHO_MESSAGE);
	l->outstanding++;
}

/* One readable connection; returns 1 when its reply is complete. */
static int receive(struct load *l, long c)
{
	struct conn *conn = &l->conns[c];
	unsigned char buf[ECHO_MESSAGE];
	ssize_t n = read(conn->fd, buf, ECHO_MESSAGE - conn->got);

	if (n <= 0)
		die("the server closed a connection", n ? errno : ECONNRESET);
	if (memcmp(buf, conn->message + conn->got, (size_t)n))
		die("the bytes of a reply", 0);
	conn->got += (unsigned)n;
	if (conn->got < ECHO_MESSAGE)
		return 0;
	l->outstanding--;
	l->idle[(l->idle_head + l->idle_count++) % l->row->a] = c;
	return 1;
}

/* User and system time of all threads of the server, to the nanosecond. */
static uint64_t server_cpu(const struct load *l)
{
	struct timespec ts;
	clockid_t clock;

	must(clock_getcpuclockid(l->server, &clock));
	must_sys(clock_gettime(clock, &ts));
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A directory per thread, each a link to their parent: one call, where thousands of entries exist.
 */
static long server_threads(const struct load *l)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)l->server);
	must_sys(stat(path, &st));
	return (long)st.st_nlink - 2;
}

/*
 * The window opens when the server has warmed up and as many requests were answered as there are
 * connections: thousands are not accepted at once. Both its ends are the moment of a reply, and
 * both readings of the server's clock are taken there, so that a client that is late is late for
 * all.
 */
static void open_window(struct load *l, uint64_t now)
{
	l->server_cpu = server_cpu(l);
	l->from = now;
}

static void close_window(struct load *l, uint64_t now)
{
	l->until = now;
	l->server_cpu = server_cpu(l) - l->server_cpu;
	l->server_threads = server_threads(l);
}

/*
 * The rate counts replies inside the window. Every reply after its start is a sample, whenever it
 * was asked for and however late it comes: a connection that is never served shows in the maximum,
 * and in the share of the connection served least, when quantiles are full of the lucky ones.
 */
static void completed(struct load *l, long c, uint64_t now)
{
	l->answered++;
	if (!l->from) {
		if (now >= l->warm && l->answered >= l->row->a)
			open_window(l, now);
		return;
	}
	if (l->samples < MAX_SAMPLES)
		l->ns[l->samples++] = now - l->conns[c].sent;
	if (l->until)
		return;
	l->served++;
	l->conns[c].replies++;
	if (now - l->from >= RUN_NS)
		close_window(l, now);
}

/* In percent of an equal share. */
static double least_served(const struct load *l)
{
	long least = l->served;

	for (long i = 0; i < l->row->a; i++)
		if (l->conns[i].replies < least)
			least = l->conns[i].replies;
	return l->served ? 100.0 * (double)least * (double)l->row->a / (double)l->served : 0;
}

static void drive(struct load *l)
{
	struct epoll_event ev[256];

	l->warm = now_ns() + WARM_NS;
	while (l->outstanding < l->row->b)
		send_request(l, now_ns());
	while (l->outstanding) {
		int n = epoll_wait(l->epfd, ev, 256, 10000);

		if (n <= 0)
			die("no reply within ten seconds", n ? errno : ETIMEDOUT);
		for (int i = 0; i < n; i++) {
			long c = (long)ev[i].data.u64;

			if (!receive(l, c))
				continue;
			completed(l, c, now_ns());
			if (!l->until)
				send_request(l, now_ns());
		}
	}
}

/* All of 127.0.0.0/8 is here. The kernel chooses the port as it connects: only pairs of addresses need to differ. */
static void from_address(int fd, long k)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)k)};
	int on = 1;

	must_sys(setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)));
	must_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static void connect_all(struct load *l, int port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	must_sys(l->epfd);
	for (long i = 0; i < l->row->a; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)i};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		must_sys(fd);
		if (i >= PER_ADDRESS)
			from_address(fd, i / PER_ADDRESS);
		must_sys(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
		must_sys(echo_no_delay(fd));
		must_sys(epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &ev));
		l->conns[i].fd = fd;
		l->idle[i] = i;
	}
	l->idle_count = l->row->a;
}

int echo_client(int argc, char **argv)
{
	struct bench row = {0};
	struct load l = {.row = &row};
	cpu_set_t all;

	if (argc != 4)
		return 2;
	row.name = argv[0];
	row.a = atol(argv[2]);
	row.b = atol(argv[3]);
	l.server = getppid();
	/*
	 * The server may be pinned; its client is only where it is told to have a CPU of its own. The kernel masks what
	 * does not exist.
	 */
	memset(&all, 0xff, sizeof(all));
	if (getenv("ECHO_CLIENT_CPU")) {
		CPU_ZERO(&all);
		CPU_SET((unsigned)atoi(getenv("ECHO_CLIENT_CPU")), &all);
	}
	sched_setaffinity(0, sizeof(all), &all);
	echo_raise_limit(row.a + 100);
	l.conns = calloc((size_t)row.a, sizeof(*l.conns));
	l.idle = calloc((size_t)row.a, sizeof(*l.idle));
	l.ns = malloc(MAX_SAMPLES * sizeof(*l.ns));
	if (!l.conns || !l.idle || !l.ns)
		die("calloc", ENOMEM);
	connect_all(&l, atoi(argv[1]));
	drive(&l);
	report(row.name, "-rate", (double)l.served * 1e9 / (double)(l.until - l.from), "req/s");
	print_quantiles(&row, l.ns, l.samples);
	report(row.name, "-max", (double)l.ns[l.samples - 1], "ns"); /* sorted by now */
	report(row.name, "-answered", (double)l.answered, "requests");
	report(row.name, "-least", least_served(&l), "%");
	report(row.name, "-cpu", (double)l.server_cpu / (double)l.served, "ns");
	report(row.name, "-kernel", (double)l.server_threads, "kthreads");
	return 0;
}
