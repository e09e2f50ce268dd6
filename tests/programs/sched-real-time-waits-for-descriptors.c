/*
 * A thread with a real-time policy waits for descriptors while all other threads sleep: by read, recv,
 * accept, poll, select and epoll_wait, for what another process sends; a handler ends the wait, and so does a
 * cancellation.  (Where the policy is refused an ordinary thread does the same.)
 */
#include "check.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { READ, READV, RECV, POLL, SELECT, EPOLL, WAYS };
static const char *const names[WAYS] = { "read", "readv", "recv", "poll", "select", "epoll_wait" };

static int in[2], out; /* the one thread waits for, and where it asks for a byte */
static int ep;
static volatile sig_atomic_t handled;

static void handler(int sig)
{
	handled = sig;
}

/* Another process: a byte for each byte, after a while. */
static void answer(int from, int to)
{
	char c;

	while (read(from, &c, 1) == 1) {
		usleep(10000);
		if (write(to, &c, 1) != 1)
			break;
	}
	_exit(0);
}

static void wait_by(int how)
{
	struct iovec v;
	struct pollfd p = { .fd = in[0], .events = POLLIN };
	struct epoll_event ev;
	fd_set set;
	char c = 0;

	v = (struct iovec){ &c, 1 };
	switch (how) {
	case READ:
		break;
	case READV:
		CHECK_EQ(readv(in[0], &v, 1), 1);
		return;
	case RECV:
		CHECK_EQ(recv(in[0], &c, 1, 0), 1);
		return;
	case POLL:
		CHECK_EQ(poll(&p, 1, -1), 1);
		break;
	case SELECT:
		FD_ZERO(&set);
		FD_SET(in[0], &set);
		CHECK_EQ(select(in[0] + 1, &set, NULL, NULL, NULL), 1);
		break;
	case EPOLL:
		CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
	}
	CHECK_EQ(read(in[0], &c, 1), 1);
}

static void *waits(void *arg)
{
	for (int how = 0; how < WAYS; how++) {
		for (int i = 0; i < 5; i++) {
			CHECK_EQ(write(out, "x", 1), 1);
			wait_by(how);
		}
		passed("%s returns", names[how]);
	}
	return arg;
}

static sem_t ready;

static void *is_interrupted(void *arg)
{
	char c;

	CHECK_SYS(sem_post(&ready));
	CHECK_EQ(read(in[0], &c, 1), -1);
	CHECK_EQ(errno, EINTR);
	CHECK_EQ(handled, SIGUSR1);
	return arg;
}

static void *is_cancelled(void *arg)
{
	char c;

	CHECK_SYS(sem_post(&ready));
	(void)!read(in[0], &c, 1);
	return arg;
}

static pthread_t start(void *(*fn)(void *))
{
	pthread_t t;

	if (spawn_fifo(&t, 20, fn, &ready))
		t = spawn(fn, &ready);
	return t;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct epoll_event ev = { .events = EPOLLIN };
	int ask[2], status;
	pthread_t t;
	pid_t pid;

	CHECK_SYS(pipe(ask));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, in));
	out = ask[1];
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(ask[1]);
		answer(ask[0], in[1]);
	}
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, in[0], &ev));
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK(join(start(waits)) == &ready);

	t = start(is_interrupted);
	while (sem_wait(&ready) == -1)
		CHECK_EQ(errno, EINTR);
	let_others_block();
	CHECK_OK(pthread_kill(t, SIGUSR1));
	CHECK(join(t) == &ready);
	passed("a handler ends the wait");

	t = start(is_cancelled);
	while (sem_wait(&ready) == -1)
		CHECK_EQ(errno, EINTR);
	let_others_block();
	CHECK_OK(pthread_cancel(t));
	CHECK(join(t) == PTHREAD_CANCELED);
	passed("a cancellation ends the wait");

	close(ask[1]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return 0;
}
