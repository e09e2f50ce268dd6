/*
 * A program that closes every descriptor it does not know, one by one or in a range, and one that
 * forks while threads are blocked: those who wait go on, and so does the child with threads of its
 * own.
 */
#include "check.h"
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int ours[2], more[2];

static void *echoes(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (read(fd, &c, 1) == 1 && c != '.')
		CHECK_EQ(write(fd, &c, 1), 1);
	return NULL;
}

static void talk(int fd)
{
	char c;

	for (int i = 0; i < 100; i++) {
		CHECK_EQ(write(fd, "t", 1), 1);
		c = 0;
		CHECK_EQ(read(fd, &c, 1), 1);
		CHECK_EQ(c, 't');
	}
}

static int one_of_us(int fd)
{
	return fd < 3 || fd == ours[0] || fd == ours[1];
}

static void a_new_pair(void)
{
	pthread_t t;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, more));
	t = spawn(echoes, &more[1]);
	talk(more[0]);
	CHECK_EQ(write(more[0], ".", 1), 1);
	join(t);
	CHECK_SYS(close(more[0]));
	CHECK_SYS(close(more[1]));
}

static void in_a_child(void)
{
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0) {
		a_new_pair();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* EBUSY: somebody in this process is opening a file there at this moment. */
static void takes(int fd)
{
	while (dup2(0, fd) < 0)
		CHECK_EQ(errno, EBUSY);
}

int main(void)
{
	struct rlimit rl;
	pthread_t t;
	int high;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ours));
	t = spawn(echoes, &ours[1]);
	talk(ours[0]);
	CHECK_SYS(getrlimit(RLIMIT_NOFILE, &rl));
	high = rl.rlim_cur > 5000 ? 5000 : (int)rl.rlim_cur;
	for (int fd = 0; fd < high; fd++)
		if (!one_of_us(fd))
			close(fd);
	talk(ours[0]);
	passed("closed one by one");
	a_new_pair();

	CHECK_SYS(close_range((unsigned)(ours[0] > ours[1] ? ours[0] : ours[1]) + 1, ~0u, 0));
	talk(ours[0]);
	a_new_pair();
	passed("closed in a range");
	closefrom((ours[0] > ours[1] ? ours[0] : ours[1]) + 1);
	talk(ours[0]);
	a_new_pair();
	passed("closed from a number on");

	/* Every number can be had. */
	for (int fd = 3; fd < high; fd++)
		if (!one_of_us(fd))
			takes(fd);
	talk(ours[0]);
	for (int fd = 3; fd < high; fd++)
		if (!one_of_us(fd))
			CHECK_SYS(close(fd));
	talk(ours[0]);
	a_new_pair();
	passed("took every number and gave it back");

	for (int i = 0; i < 5; i++) {
		in_a_child();
		talk(ours[0]);
	}
	passed("forked with a thread blocked");
	CHECK_EQ(write(ours[0], ".", 1), 1);
	join(t);
	return 0;
}
