/*
 * O_NONBLOCK and MSG_DONTWAIT mean what they say: EAGAIN at once, partial writes, connect's
 * EINPROGRESS; and the library may not change the flag of any descriptor, which is shared with
 * other processes.
 */
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int flags_of(int fd)
{
	int f;

	CHECK_SYS(f = fcntl(fd, F_GETFL));
	return f;
}

static void *reads_one(void *arg)
{
	char c;

	CHECK_EQ(read(*(int *)arg, &c, 1), 1);
	return NULL;
}

static void flags_are_left_alone(void)
{
	int fd[2], status, before;
	pthread_t t;
	pid_t pid;

	CHECK_SYS(pipe(fd));
	before = flags_of(fd[0]);
	t = spawn(reads_one, &fd[0]);
	let_others_block();
	CHECK_EQ(flags_of(fd[0]), before);
	CHECK_SYS(pid = fork());
	if (pid == 0)
		_exit(flags_of(fd[0]) & O_NONBLOCK ? 1 : 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(write(fd[1], "x", 1), 1);
	join(t);
	CHECK_EQ(flags_of(fd[0]), before);
	passed("the flag is off while a thread waits");
}

static void *main_part(void *arg)
{
	static char big[1 << 20];
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof sin;
	int fd[2], s[2], l, c, on = 1;
	ssize_t n;
	char ch;

	CHECK_SYS(pipe2(fd, O_NONBLOCK));
	CHECK_ERR(read(fd[0], &ch, 1), EAGAIN);
	CHECK_SYS(n = write(fd[1], big, sizeof big));
	CHECK(n > 0 && n < (ssize_t)sizeof big);
	CHECK_ERR(write(fd[1], big, sizeof big), EAGAIN);
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	CHECK_ERR(recv(s[0], &ch, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_SYS(ioctl(s[0], FIONBIO, &on));
	CHECK_ERR(read(s[0], &ch, 1), EAGAIN);
	on = 0;
	CHECK_SYS(ioctl(s[0], FIONBIO, &on));
	CHECK_EQ(write(s[1], "x", 1), 1);
	CHECK_EQ(read(s[0], &ch, 1), 1);
	CHECK_SYS(c = eventfd(0, EFD_NONBLOCK));
	CHECK_ERR(read(c, big, 8), EAGAIN);
	CHECK_SYS(close(c));
	passed("EAGAIN and partial writes");

	CHECK_SYS(l = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	CHECK_SYS(bind(l, (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(listen(l, 5));
	CHECK_ERR(accept(l, NULL, NULL), EAGAIN);
	CHECK_SYS(getsockname(l, (struct sockaddr *)&sin, &len));
	CHECK_SYS(c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	n = connect(c, (struct sockaddr *)&sin, sizeof sin);
	CHECK(n == 0 || errno == EINPROGRESS);

	struct pollfd p = { .fd = c, .events = POLLOUT };
	int err = 1;

	CHECK_EQ(poll(&p, 1, 20000), 1);
	len = sizeof err;
	CHECK_SYS(getsockopt(c, SOL_SOCKET, SO_ERROR, &err, &len));
	CHECK_EQ(err, 0);
	p = (struct pollfd){ .fd = l, .events = POLLIN };
	CHECK_EQ(poll(&p, 1, 20000), 1);
	CHECK_SYS(accept(l, NULL, NULL));
	CHECK_ERR(read(c, &ch, 1), EAGAIN);
	passed("connect and accept");
	return arg;
}

int main(void)
{
	flags_are_left_alone();
	for (int i = 0; i < 3; i++)
		join(spawn(main_part, NULL));
	return 0;
}
