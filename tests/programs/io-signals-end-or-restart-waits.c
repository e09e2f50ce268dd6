/*
 * A handler ends a blocked call with EINTR when it was installed without SA_RESTART; with it,
 * reads, writes and accepts go on, while poll, select, epoll_wait and a socket with a time-out end
 * all the same.  ppoll and pselect let a signal in that is blocked otherwise, but not when a
 * descriptor is ready.
 */
#include "check.h"
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

static int sock[2], pipefd[2], timed[2], listener, ep, counter;
static _Thread_local volatile int handled;

static void on_signal(int sig)
{
	handled++;
}

static long do_read(void)
{
	char c;

	return read(pipefd[0], &c, 1);
}

static long do_recv(void)
{
	char c;

	return recv(sock[0], &c, 1, 0);
}

static long do_readv(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return readv(sock[0], &v, 1);
}

static long do_recvmsg(void)
{
	char c;
	struct iovec v = { &c, 1 };
	struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };

	return recvmsg(sock[0], &msg, 0);
}

static long do_counter(void)
{
	eventfd_t v;

	return eventfd_read(counter, &v);
}

static long do_accept(void)
{
	return accept(listener, NULL, NULL);
}

static long do_timed(void)
{
	char c;

	return recv(timed[0], &c, 1, 0);
}

static long do_poll(void)
{
	struct pollfd p[2] = { { .fd = sock[0], .events = POLLIN }, { .fd = -1 } };

	return poll(p, 2, -1);
}

static long do_ppoll(void)
{
	struct pollfd p = { .fd = pipefd[0], .events = POLLIN };
	struct timespec ts = { 1000, 0 };

	return ppoll(&p, 1, &ts, NULL);
}

static long do_nothing(void)
{
	return poll(NULL, 0, 1000000);
}

static long do_select(void)
{
	struct timeval tv = { 1000, 0 };
	fd_set in;

	FD_ZERO(&in);
	FD_SET(sock[0], &in);
	return select(sock[0] + 1, &in, NULL, NULL, &tv);
}

static long do_epoll(void)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, -1);
}

static const struct {
	const char *name;
	long (*fn)(void);
	int restarts;
} calls[] = {
	{ "read of a pipe", do_read, 1 },	{ "recv", do_recv, 1 },
	{ "readv of a socket", do_readv, 1 },	{ "recvmsg", do_recvmsg, 1 },
	{ "read of an eventfd", do_counter, 1 }, { "accept", do_accept, 1 },
	{ "recv with a time-out", do_timed, 0 }, { "poll", do_poll, 0 },
	{ "ppoll", do_ppoll, 0 },		{ "poll of nothing", do_nothing, 0 },
	{ "select", do_select, 0 },		{ "epoll_wait", do_epoll, 0 },
};

enum { CALLS = sizeof calls / sizeof calls[0] };

static _Atomic int ended;

static void *waits(void *arg)
{
	long i = (long)arg;

	CHECK_ERR(calls[i].fn(), EINTR);
	CHECK(handled > 0);
	ended = 1;
	return NULL;
}

static void install(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
}

static void ends(long i)
{
	pthread_t t;

	ended = 0;
	t = spawn(waits, (void *)i);
	while (!ended) { /* the first may come before it waits */
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
	}
	join(t);
}

/* Goes on over a handler that asked for it; ends with one that did not. */
static void restarts(long i)
{
	pthread_t t;

	install(SA_RESTART);
	ended = 0;
	t = spawn(waits, (void *)i);
	for (int k = 0; k < 3; k++) {
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
	}
	let_others_block();
	CHECK_EQ(ended, 0);
	install(0);
	while (!ended) {
		CHECK_OK(pthread_kill(t, SIGUSR1));
		let_others_block();
	}
	join(t);
}

static void *masks(void *arg)
{
	struct pollfd p = { .fd = pipefd[0], .events = POLLIN };
	struct timespec none = { 0, 0 };
	sigset_t usr, old, open;
	fd_set in;

	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &usr, &old));
	sigemptyset(&open);
	for (int i = 0; i < 3; i++) {
		handled = 0;
		CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
		CHECK_EQ(handled, 0);
		FD_ZERO(&in);
		FD_SET(pipefd[0], &in);
		if (i == 0)
			CHECK_ERR(ppoll(&p, 1, NULL, &open), EINTR);
		else if (i == 1)
			CHECK_ERR(pselect(pipefd[0] + 1, &in, NULL, NULL, NULL, &open), EINTR);
		else
			CHECK_ERR(epoll_pwait(ep, &(struct epoll_event){ 0 }, 1, -1, &open), EINTR);
		CHECK_EQ(handled, 1);
	}
	/* Ready: the signal stays where it is. */
	handled = 0;
	CHECK_EQ(write(pipefd[1], "x", 1), 1);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(ppoll(&p, 1, NULL, &open), 1);
	CHECK_EQ(ppoll(&p, 1, &none, &open), 1);
	CHECK_EQ(handled, 0);
	CHECK_EQ(do_read(), 1);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK_EQ(handled, 1);
	return NULL;
}

int main(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval tv = { 1000, 0 };
	struct epoll_event ev = { .events = EPOLLIN };

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, timed));
	CHECK_SYS(setsockopt(timed[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
	CHECK_SYS(pipe(pipefd));
	CHECK_SYS(counter = eventfd(0, 0));
	CHECK_SYS(listener = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(bind(listener, (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(listen(listener, 5));
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, sock[0], &ev));
	for (long i = 0; i < CALLS; i++) {
		install(0);
		ends(i);
		if (calls[i].restarts) {
			restarts(i);
		} else {
			install(SA_RESTART);
			ends(i);
		}
		passed("%s: %s", calls[i].name, calls[i].restarts ? "ends or goes on" : "ends");
	}
	install(0);
	join(spawn(masks, NULL));
	passed("masks of waits");
	return 0;
}
