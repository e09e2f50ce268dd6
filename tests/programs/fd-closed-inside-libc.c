/*
 * Numbers that libc's own functions close (closedir, mq_close) or put something else behind (login_tty)
 * are whatever they stand for next: flags set before mean nothing, and a reader waits for what comes.
 */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <utmp.h>

static void *writes_later(void *fd)
{
	usleep(20000);
	CHECK_EQ(write(*(int *)fd, "x", 1), 1);
	return NULL;
}

/* fd is blocking and empty; what is written to other comes out of it. */
static void reader_waits(int fd, int other)
{
	pthread_t t = spawn(writes_later, &other);
	char c = 0;

	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 'x');
	join(t);
}

/* The same by poll(). */
static void wait_for(int fd, int other)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pthread_t t = spawn(writes_later, &other);
	char c;

	CHECK_EQ(poll(&p, 1, 10000), 1);
	CHECK_EQ(p.revents, POLLIN);
	CHECK_EQ(read(fd, &c, 1), 1);
	join(t);
}

/* A terminal, which libc opens inside, takes the number that was closed. */
static void number_again(int was, const char *what)
{
	int master, slave;
	struct termios raw;

	CHECK_SYS(openpty(&master, &slave, NULL, NULL, NULL));
	CHECK_EQ(master, was);
	CHECK_SYS(tcgetattr(slave, &raw));
	cfmakeraw(&raw);
	CHECK_SYS(tcsetattr(slave, TCSANOW, &raw));
	wait_for(master, slave);
	reader_waits(master, slave);
	CHECK_SYS(close(slave));
	CHECK_SYS(close(master));
	passed("%s", what);
}

static void use_and_close_dir(void)
{
	DIR *d = opendir("/");
	char c;
	int fd;

	CHECK(d);
	fd = dirfd(d);
	CHECK_SYS(fcntl(fd, F_SETFL, O_RDONLY | O_NONBLOCK));
	CHECK_ERR(read(fd, &c, 1), EISDIR);
	CHECK_SYS(closedir(d));
	number_again(fd, "closedir");
}

static void *sends_later(void *q)
{
	usleep(20000);
	CHECK_SYS(mq_send(*(mqd_t *)q, "x", 1, 0));
	return NULL;
}

static void use_and_close_queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[32], text[8];
	struct pollfd p = { .events = POLLIN };
	pthread_t t;
	mqd_t q;

	snprintf(name, sizeof(name), "/weft-closed-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (q < 0) {
		passed("mq_close");
		return;
	}
	CHECK_SYS(mq_unlink(name));
	p.fd = q;
	CHECK_SYS(fcntl(q, F_SETFL, O_RDWR | O_NONBLOCK));
	CHECK_ERR(mq_receive(q, text, sizeof(text), NULL), EAGAIN);
	t = spawn(sends_later, &q);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	join(t);
	CHECK_SYS(mq_close(q));
	number_again(q, "mq_close");
}

/* In a child: it leaves its session. */
static void log_in(void)
{
	int master, slave, status, fds[2];
	struct termios raw;
	char c;
	pid_t pid;

	CHECK_SYS(openpty(&master, &slave, NULL, NULL, NULL));
	CHECK_SYS(tcgetattr(slave, &raw));
	cfmakeraw(&raw);
	CHECK_SYS(tcsetattr(slave, TCSANOW, &raw));
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		CHECK_SYS(dup2(fds[0], 0));
		CHECK_SYS(fcntl(0, F_SETFL, O_RDWR | O_NONBLOCK));
		CHECK_ERR(read(0, &c, 1), EAGAIN);
		CHECK_SYS(fcntl(slave, F_SETFL, O_RDWR));
		CHECK_SYS(login_tty(slave));
		reader_waits(0, master);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_SYS(close(master));
	CHECK_SYS(close(slave));
	passed("login_tty");
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	join(spawn(nothing, NULL));
	use_and_close_dir();
	use_and_close_queue();
	log_in();
	return 0;
}
