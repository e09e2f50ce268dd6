/*
 * What a read depends on is changed by other ways than libc's function for it: by system call, in a
 * child process, by a process that got the descriptor passed, by stdio.  The next read goes by what
 * is true then, even if the last one has seen that there is nothing.
 */
#include "check.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

typedef void change(int fd);

static void by_fcntl(int fd)
{
	CHECK_SYS(syscall(SYS_fcntl, fd, F_SETFL, O_NONBLOCK));
}

static void by_ioctl(int fd)
{
	int on = 1;

	CHECK_SYS(syscall(SYS_ioctl, fd, FIONBIO, &on));
}

static void by_dup(int fd)
{
	int other = (int)syscall(SYS_dup, fd);

	CHECK_SYS(other);
	CHECK_SYS(syscall(SYS_fcntl, other, F_SETFL, O_NONBLOCK));
	CHECK_SYS(syscall(SYS_close, other));
}

static void wait_for(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void by_child(int fd)
{
	pid_t child = fork();

	CHECK_SYS(child);
	if (child == 0)
		_exit(fcntl(fd, F_SETFL, O_NONBLOCK) != 0);
	wait_for(child);
}

static int way[2];
static pid_t receiver;

union control {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr h;
};

/* A process that is there already gets each descriptor sent, and sets the flag. */
static void receives_all(void)
{
	for (;;) {
		char c = 0;
		union control u;
		struct iovec v = { &c, 1 };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.buf,
				    .msg_controllen = sizeof(u.buf) };
		int fd;

		if (recvmsg(way[1], &m, 0) <= 0)
			_exit(0);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		if (fcntl(fd, F_SETFL, O_NONBLOCK) || close(fd) || write(way[1], &c, 1) != 1)
			_exit(1);
	}
}

static void by_passing(int fd)
{
	char c = 'x';
	union control u = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				   .cmsg_len = CMSG_LEN(sizeof(fd)) } };
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.buf,
			    .msg_controllen = sizeof(u.buf) };

	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(way[0], &m, 0), 1);
	CHECK_EQ(read(way[0], &c, 1), 1);
}

static void by_timeout(int fd)
{
	struct timeval tv = { 0, 20000 };

	CHECK_SYS(syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
}

static void by_child_timeout(int fd)
{
	pid_t child = fork();

	CHECK_SYS(child);
	if (child == 0) {
		by_timeout(fd);
		_exit(0);
	}
	wait_for(child);
}

static void tcp_pair(int fds[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_SYS(l);
	CHECK_SYS(bind(l, (struct sockaddr *)&a, n));
	CHECK_SYS(listen(l, 1));
	CHECK_SYS(getsockname(l, (struct sockaddr *)&a, &n));
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_SYS(connect(fds[1], (struct sockaddr *)&a, n));
	fds[0] = accept(l, NULL, NULL);
	CHECK_SYS(fds[0]);
	CHECK_SYS(close(l));
}

static atomic_int taken; /* reads of one byte or more that came back */

static void takes(int fd, ssize_t most)
{
	char buf[100];

	CHECK_EQ(read(fd, buf, sizeof(buf)), most);
	taken++;
}

/* A reader waits most likely, and has taken it on return: the next one is not added to it. */
static void gives(int fd, size_t n)
{
	int before = taken;

	let_others_block();
	CHECK_EQ(write(fd, "123456", n), n);
	while (taken == before)
		usleep(1000);
}

struct reader {
	int fd;
	change *change;
};

/* Two reads that had to wait and took less than there was room for; then the change. */
static void *reads_twice(void *arg)
{
	struct reader *r = arg;
	char buf[100];

	for (int i = 0; i < 2; i++)
		takes(r->fd, 1);
	r->change(r->fd);
	CHECK_ERR(read(r->fd, buf, sizeof(buf)), EAGAIN);
	return NULL;
}

static void one(int tcp, change *how, const char *what)
{
	struct reader r = { .change = how };
	int fds[2];
	pthread_t t;

	if (tcp)
		tcp_pair(fds);
	else
		CHECK_SYS(pipe(fds));
	r.fd = fds[0];
	t = spawn(reads_twice, &r);
	for (int i = 0; i < 2; i++)
		gives(fds[1], 1);
	join(t);
	CHECK_SYS(close(fds[0]));
	CHECK_SYS(close(fds[1]));
	passed("%s of a %s", what, tcp ? "connection" : "pipe");
}

static void *reads_reopened(void *arg)
{
	FILE *f = arg;
	char buf[100], path[64];
	int fd = fileno(f), other[2];

	for (int i = 0; i < 2; i++)
		takes(fd, 1);
	CHECK_SYS(pipe(other));
	CHECK_EQ(write(other[1], "hello", 5), 5);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", other[0]);
	CHECK(freopen(path, "r", f));
	CHECK_EQ(fileno(f), fd);
	CHECK_EQ(read(fd, buf, sizeof(buf)), 5);
	CHECK_SYS(close(other[0]));
	CHECK_SYS(close(other[1]));
	return NULL;
}

static void reopened(void)
{
	int fds[2];
	FILE *f;
	pthread_t t;

	CHECK_SYS(pipe(fds));
	f = fdopen(fds[0], "r");
	CHECK(f);
	t = spawn(reads_reopened, f);
	for (int i = 0; i < 2; i++)
		gives(fds[1], 1);
	join(t);
	CHECK_EQ(fclose(f), 0);
	CHECK_SYS(close(fds[1]));
	passed("another file under the number of a FILE");
}

static void *reads_packets(void *arg)
{
	for (int i = 1; i <= 6; i++)
		takes(*(int *)arg, i);
	return NULL;
}

/* Each write is a packet from then on, and a read takes one. */
static void packets(void)
{
	int fds[2];
	pthread_t t;

	CHECK_SYS(pipe(fds));
	t = spawn(reads_packets, fds);
	for (int i = 1; i <= 2; i++)
		gives(fds[1], (size_t)i);
	let_others_block();
	CHECK_SYS(fcntl(fds[1], F_SETFL, O_DIRECT));
	for (int i = 3; i <= 6; i++)
		CHECK_EQ(write(fds[1], "123456", (size_t)i), i);
	join(t);
	CHECK_SYS(close(fds[0]));
	CHECK_SYS(close(fds[1]));
	passed("packets, where only the writer asked for them");
}

int main(void)
{
	static const struct {
		change *change;
		const char *what;
	} changes[] = {
		{ by_fcntl, "O_NONBLOCK by system call" },
		{ by_ioctl, "O_NONBLOCK by ioctl" },
		{ by_dup, "O_NONBLOCK by another number" },
		{ by_child, "O_NONBLOCK in a child" },
		{ by_passing, "O_NONBLOCK where it was passed to" },
	};

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, way));
	receiver = fork();
	CHECK_SYS(receiver);
	if (receiver == 0) {
		close(way[0]);
		receives_all();
	}
	CHECK_SYS(close(way[1]));
	for (int tcp = 0; tcp < 2; tcp++)
		for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
			one(tcp, changes[i].change, changes[i].what);
	one(1, by_timeout, "a time-out by system call");
	one(1, by_child_timeout, "a time-out in a child");
	reopened();
	packets();
	CHECK_SYS(close(way[0]));
	wait_for(receiver);
	return 0;
}
