/*
 * kinds: every sort of descriptor that a thread may wait on, and those that only fail.
 *
 * make() leaves test.fd, and at test.peer what the main thread uses to end a wait.  Socket buffers
 * are small, so that filling one is quick.
 */
#include "io.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#define MUST(expr)                                                                                 \
	({                                                                                         \
		long got_ = (long)(expr);                                                          \
		if (got_ == -1)                                                                    \
			die(#expr);                                                                \
		(int)got_;                                                                         \
	})

static void unblock(int fd)
{
	MUST(fcntl(fd, F_SETFL, MUST(fcntl(fd, F_GETFL)) | O_NONBLOCK));
}

static void small_buffers(int fd)
{
	int n = 16384;

	MUST(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n));
	MUST(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof n));
}

/* A new one each time: a case that hung leaves its own. */
static void name_path(struct test *t, const char *what)
{
	static int count;

	snprintf(t->path, sizeof t->path, "%s.%d", what, count++);
}

/* ---- pipes ---- */

static void make_pipe_r(struct test *t)
{
	int p[2];

	MUST(pipe(p));
	t->fd = p[0];
	t->peer = p[1];
}

static void make_pipe_w(struct test *t)
{
	int p[2];

	MUST(pipe(p));
	t->fd = p[1];
	t->peer = p[0];
	unblock(t->peer);
}

static void make_fifo(struct test *t, int mine)
{
	int both;

	name_path(t, "fifo");
	MUST(mkfifo(t->path, 0600));
	both = MUST(open(t->path, O_RDWR)); /* neither of the next waits for the other */
	t->fd = MUST(open(t->path, mine));
	t->peer = MUST(open(t->path, mine == O_RDONLY ? O_WRONLY : O_RDONLY | O_NONBLOCK));
	MUST(close(both));
}

static void make_fifo_r(struct test *t)
{
	make_fifo(t, O_RDONLY);
}

static void make_fifo_w(struct test *t)
{
	make_fifo(t, O_WRONLY);
}

/* ---- sockets ---- */

static void make_pair(struct test *t, int type)
{
	int s[2];

	MUST(socketpair(AF_UNIX, type, 0, s));
	small_buffers(s[0]);
	small_buffers(s[1]);
	t->fd = s[0];
	t->peer = s[1];
	unblock(t->peer);
}

static void make_unix_stream(struct test *t)
{
	make_pair(t, SOCK_STREAM);
}

static void make_unix_dgram(struct test *t)
{
	make_pair(t, SOCK_DGRAM);
}

static void make_unix_seqpacket(struct test *t)
{
	make_pair(t, SOCK_SEQPACKET);
}

static void loopback(struct test *t, int port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&t->addr;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	t->addrlen = sizeof *in;
}

/* A bound socket; its address in test.addr. */
static int bound(struct test *t, int type)
{
	int s = MUST(socket(AF_INET, type, 0));

	small_buffers(s);
	loopback(t, 0);
	MUST(bind(s, (struct sockaddr *)&t->addr, t->addrlen));
	MUST(getsockname(s, (struct sockaddr *)&t->addr, &t->addrlen));
	return s;
}

static int listening(struct test *t, int backlog)
{
	int s = bound(t, SOCK_STREAM);

	MUST(listen(s, backlog));
	return s;
}

static void make_tcp(struct test *t)
{
	int one = 1, l = listening(t, 1);

	t->fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	small_buffers(t->fd);
	MUST(connect(t->fd, (struct sockaddr *)&t->addr, t->addrlen));
	t->peer = MUST(accept(l, NULL, NULL));
	MUST(close(l));
	MUST(setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
	MUST(setsockopt(t->peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
	unblock(t->peer);
}

static void make_udp(struct test *t)
{
	t->peer = bound(t, SOCK_DGRAM);
	t->fd = MUST(socket(AF_INET, SOCK_DGRAM, 0));
	MUST(connect(t->fd, (struct sockaddr *)&t->addr, t->addrlen));
	t->addrlen = sizeof t->addr;
	MUST(getsockname(t->fd, (struct sockaddr *)&t->addr, &t->addrlen));
	MUST(connect(t->peer, (struct sockaddr *)&t->addr, t->addrlen));
	unblock(t->peer);
}

static void make_listen_tcp(struct test *t)
{
	t->fd = listening(t, 8);
}

static void unix_address(struct test *t)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&t->addr;

	name_path(t, "sock");
	un->sun_family = AF_UNIX;
	strcpy(un->sun_path, t->path);
	t->addrlen = sizeof *un;
}

static int listening_unix(struct test *t, int backlog)
{
	int s = MUST(socket(AF_UNIX, SOCK_STREAM, 0));

	unix_address(t);
	MUST(bind(s, (struct sockaddr *)&t->addr, t->addrlen));
	MUST(listen(s, backlog));
	return s;
}

static void make_listen_unix(struct test *t)
{
	t->fd = listening_unix(t, 8);
}

static void feed_connection(struct test *t, const char *data, int n)
{
	for (int i = 0; i < 4; i++) {
		if (t->other[i] >= 0)
			continue;
		t->other[i] = MUST(socket(t->addr.ss_family, SOCK_STREAM, 0));
		MUST(connect(t->other[i], (struct sockaddr *)&t->addr, t->addrlen));
		return;
	}
}

static void make_connect_tcp(struct test *t)
{
	t->other[0] = listening(t, 8);
	t->fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
}

static void make_connect_refused(struct test *t)
{
	t->other[0] = bound(t, SOCK_STREAM); /* the port is taken, nobody listens */
	t->fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
}

static void make_connect_unix(struct test *t)
{
	t->other[0] = listening_unix(t, 8);
	t->fd = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
}

/* The backlog is full: a blocking connect() waits until somebody accepts. */
static void make_connect_unix_full(struct test *t)
{
	t->other[0] = listening_unix(t, 0);
	t->fd = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	t->other[1] = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(connect(t->other[1], (struct sockaddr *)&t->addr, t->addrlen));
}

static void feed_accept(struct test *t, const char *data, int n)
{
	t->peer = MUST(accept(t->other[0], NULL, NULL));
}

static void make_connect_udp(struct test *t)
{
	t->other[0] = bound(t, SOCK_DGRAM);
	t->fd = MUST(socket(AF_INET, SOCK_DGRAM, 0));
}

static void make_socket_tcp(struct test *t)
{
	t->fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	loopback(t, 1);
}

/* ---- counters, events, terminals ---- */

static void feed_count(struct test *t, const char *data, int n)
{
	uint64_t value = n;

	MUST(write(t->peer, &value, sizeof value));
}

static void make_eventfd_of(struct test *t, int flags)
{
	t->fd = MUST(eventfd(0, flags));
	t->peer = MUST(dup(t->fd));
}

static void make_eventfd(struct test *t)
{
	make_eventfd_of(t, 0);
}

static void make_eventfd_sem(struct test *t)
{
	make_eventfd_of(t, EFD_SEMAPHORE);
}

static void make_timerfd(struct test *t)
{
	t->fd = MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	t->peer = MUST(dup(t->fd));
}

static void feed_timer(struct test *t, const char *data, int n)
{
	struct itimerspec soon = {.it_value = {0, 1000}};

	MUST(timerfd_settime(t->peer, 0, &soon, NULL));
}

static void make_signalfd(struct test *t)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, FED);
	t->fd = MUST(signalfd(-1, &set, 0));
}

static void feed_signal(struct test *t, const char *data, int n)
{
	MUST(kill(getpid(), FED)); /* blocked in every thread */
}

static void make_inotify(struct test *t)
{
	name_path(t, "dir");
	MUST(mkdir(t->path, 0700));
	t->fd = MUST(inotify_init());
	MUST(inotify_add_watch(t->fd, t->path, IN_CREATE));
}

static void feed_inotify(struct test *t, const char *data, int n)
{
	static int count;
	char name[96];

	snprintf(name, sizeof name, "%s/%03d", t->path, count++ % 1000);
	MUST(close(MUST(open(name, O_CREAT | O_WRONLY, 0600))));
	unlink(name);
}

static void make_pidfd(struct test *t)
{
	t->child = MUST(fork());
	if (t->child == 0)
		for (;;)
			pause();
	t->fd = MUST(syscall(SYS_pidfd_open, t->child, 0));
}

static void feed_death(struct test *t, const char *data, int n)
{
	kill(t->child, SIGKILL);
}

static void make_pty(struct test *t, int *master, int *slave)
{
	struct termios raw;
	int unlocked = 0;
	char name[32];
	int n;

	*master = MUST(open("/dev/ptmx", O_RDWR | O_NOCTTY));
	MUST(ioctl(*master, TIOCSPTLCK, &unlocked));
	MUST(ioctl(*master, TIOCGPTN, &n));
	snprintf(name, sizeof name, "/dev/pts/%d", n);
	*slave = MUST(open(name, O_RDWR | O_NOCTTY));
	MUST(tcgetattr(*slave, &raw));
	cfmakeraw(&raw);
	MUST(tcsetattr(*slave, TCSANOW, &raw));
}

static void make_pty_master(struct test *t)
{
	make_pty(t, &t->fd, &t->peer);
}

static void make_pty_slave(struct test *t)
{
	make_pty(t, &t->peer, &t->fd);
}

static void make_epoll(struct test *t)
{
	struct epoll_event e = {.events = EPOLLIN};
	int p[2];

	MUST(pipe(p));
	t->fd = MUST(epoll_create1(0));
	MUST(epoll_ctl(t->fd, EPOLL_CTL_ADD, p[0], &e));
	t->other[0] = p[0];
	t->peer = p[1];
}

/* ---- what never waits ---- */

static void make_file(struct test *t)
{
	t->fd = MUST(memfd_create("file", 0));
	MUST(write(t->fd, "0123456789abcdef0123456789abcdef", 32));
	MUST(lseek(t->fd, 0, SEEK_SET));
}

static void make_append(struct test *t)
{
	name_path(t, "file");
	t->fd = MUST(open(t->path, O_RDWR | O_CREAT | O_APPEND | O_TRUNC, 0600));
	MUST(write(t->fd, "0123456789", 10));
	MUST(lseek(t->fd, 3, SEEK_SET));
}

static void make_readonly(struct test *t)
{
	t->fd = MUST(open("/proc/self/cmdline", O_RDONLY));
}

static void make_null(struct test *t)
{
	t->fd = MUST(open("/dev/null", O_RDWR));
}

static void make_zero(struct test *t)
{
	t->fd = MUST(open("/dev/zero", O_RDWR));
}

static void make_full(struct test *t)
{
	t->fd = MUST(open("/dev/full", O_RDWR));
}

static void make_dir(struct test *t)
{
	t->fd = MUST(open("/", O_RDONLY | O_DIRECTORY));
}

static void make_path(struct test *t)
{
	t->fd = MUST(open("/dev/null", O_PATH));
}

static void make_number(struct test *t, int fd)
{
	t->fd = fd;
	t->mine = false;
}

static void make_closed(struct test *t)
{
	make_number(t, MUST(open("/dev/null", O_RDWR)));
	MUST(close(t->fd));
}

static void make_negative(struct test *t)
{
	make_number(t, -1);
}

static void make_huge(struct test *t)
{
	make_number(t, 1 << 28);
}

const struct kind kinds[] = {
	{"pipe_r", READS | PIPE | STREAM | TEXT, 8, make_pipe_r, feed_bytes},
	{"pipe_w", FILLS | PIPE | STREAM, 8, make_pipe_w, NULL},
	{"fifo_r", READS | PIPE | STREAM | TEXT, 8, make_fifo_r, feed_bytes},
	{"fifo_w", FILLS | PIPE | STREAM, 8, make_fifo_w, NULL},
	{"unix_stream", READS | FILLS | SOCK | STREAM | TEXT, 8, make_unix_stream, feed_bytes},
	{"unix_dgram", READS | FILLS | SOCK | TEXT, 8, make_unix_dgram, feed_bytes},
	{"unix_seqpacket", READS | FILLS | SOCK | TEXT, 8, make_unix_seqpacket, feed_bytes},
	{"tcp", READS | FILLS | SOCK | STREAM | TCP | TEXT, 8, make_tcp, feed_bytes},
	{"udp", READS | SOCK | TEXT, 8, make_udp, feed_bytes},
	{"listen_tcp", SOCK | LISTENS, 8, make_listen_tcp, feed_connection},
	{"listen_unix", SOCK | LISTENS, 8, make_listen_unix, feed_connection},
	{"connect_tcp", SOCK | CONNECTS | PASSIVE, 8, make_connect_tcp, NULL},
	{"connect_refused", SOCK | CONNECTS | PASSIVE, 8, make_connect_refused, NULL},
	{"connect_unix", SOCK | CONNECTS | PASSIVE, 8, make_connect_unix, NULL},
	{"connect_unix_full", SOCK | CONNECTS, 8, make_connect_unix_full, feed_accept},
	{"connect_udp", SOCK | CONNECTS | PASSIVE, 8, make_connect_udp, NULL},
	{"socket_tcp", SOCK | PASSIVE, 8, make_socket_tcp, NULL},
	{"eventfd", READS, 8, make_eventfd, feed_count},
	{"eventfd_sem", READS, 8, make_eventfd_sem, feed_count},
	{"timerfd", READS, 8, make_timerfd, feed_timer},
	{"signalfd", READS, 512, make_signalfd, feed_signal},
	{"inotify", READS, 512, make_inotify, feed_inotify},
	{"pidfd", EVENTS, 8, make_pidfd, feed_death},
	{"pty_master", READS | TEXT, 8, make_pty_master, feed_bytes},
	{"pty_slave", READS | TEXT, 8, make_pty_slave, feed_bytes},
	{"epoll", EVENTS, 8, make_epoll, feed_bytes},
	{"file", PASSIVE | TEXT, 8, make_file, NULL},
	{"append", PASSIVE | TEXT, 8, make_append, NULL},
	{"proc", PASSIVE, 8, make_readonly, NULL},
	{"null", PASSIVE, 8, make_null, NULL},
	{"zero", PASSIVE, 8, make_zero, NULL},
	{"full", PASSIVE, 8, make_full, NULL},
	{"dir", PASSIVE, 8, make_dir, NULL},
	{"path", PASSIVE, 8, make_path, NULL},
	{"closed", PASSIVE, 8, make_closed, NULL},
	{"negative", PASSIVE, 8, make_negative, NULL},
	{"huge", PASSIVE, 8, make_huge, NULL},
	{NULL, 0, 0, NULL, NULL},
};
