/*
 * An event loop with nothing beside it, fed by another process: for thousands of waits its thread is the only
 * one.  What reaches a thread that waits in epoll_wait reaches it then, too, and others are not kept waiting:
 * a reader, a sleeper, what another thread puts into the set, a signal, a cancellation, the end of its time,
 * a fork.  So it is where the thread has state of its own in the kernel (a timer on its CPU clock).
 */
#include "check.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { ALONE = 400 };

static int ep, peer[2], extra;
static pid_t child;

/* The other process sends back what it gets. */
static void feed(void)
{
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, peer));
	CHECK_SYS(child = fork());
	if (child == 0) {
		char c;

		close(peer[0]);
		while (read(peer[1], &c, 1) == 1)
			if (write(peer[1], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(peer[1]);
}

static void add(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
}

static void turns(int n)
{
	for (int i = 0; i < n; i++) {
		struct epoll_event ev;
		char c = (char)i, d;

		CHECK_EQ(write(peer[0], &c, 1), 1);
		CHECK_EQ(epoll_wait(ep, &ev, 1, i % 3 ? -1 : 10000), 1);
		CHECK_EQ(ev.data.fd, peer[0]);
		CHECK_EQ(read(peer[0], &d, 1), 1);
		CHECK_EQ(d, c);
	}
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static volatile int last; /* it is about to wait for nothing of the other process's */

static int waits(int ms)
{
	struct epoll_event ev;

	turns(ALONE);
	last = 1;
	return epoll_wait(ep, &ev, 1, ms);
}

static void *blocks(void *fd)
{
	char c;

	CHECK_EQ(read(*(int *)fd, &c, 1), 1);
	return NULL;
}

/* A byte for the reader comes of a process that is not this one. */
static void *ticks(void *out)
{
	for (int i = 0; i < 50; i++)
		CHECK_OK(usleep(1000));
	CHECK_EQ(write(*(int *)out, "", 1), 1);
	return NULL;
}

static void others_go_on(void)
{
	pthread_t reader, ticker;
	int tube[2];

	CHECK_SYS(pipe(tube));
	CHECK_OK(pthread_create(&reader, NULL, blocks, &tube[0]));
	turns(ALONE);
	CHECK_OK(pthread_create(&ticker, NULL, ticks, &tube[1]));
	turns(ALONE * 4);
	CHECK_OK(pthread_join(ticker, NULL));
	CHECK_OK(pthread_join(reader, NULL));
	puts("a reader and a sleeper beside it go on");
}

static void *ends_after(void *arg)
{
	long r = waits(-1);

	(void)arg;
	return (void *)r;
}

static volatile sig_atomic_t handled;

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

static void *interrupted(void *arg)
{
	long r = waits(-1);

	(void)arg;
	return (void *)(long)(r == -1 ? errno : 0);
}

static void settle(void)
{
	struct timespec ts = { .tv_nsec = 20000000 };

	do
		nanosleep(&ts, NULL);
	while (!last);
}

static void from_others(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	uint64_t one = 1;
	pthread_t t;
	void *r;

	CHECK_SYS(extra = eventfd(0, EFD_NONBLOCK));
	CHECK_OK(pthread_create(&t, NULL, ends_after, NULL));
	settle();
	last = 0;
	CHECK_EQ(write(extra, &one, 8), 8);
	add(extra);
	CHECK_OK(pthread_join(t, &r));
	CHECK_EQ((long)r, 1);
	CHECK_EQ(read(extra, &one, 8), 8);
	puts("it is told of what another thread puts into its set");

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(pthread_create(&t, NULL, interrupted, NULL));
	do {
		settle();
		CHECK_OK(pthread_kill(t, SIGUSR1));
	} while (!handled || pthread_tryjoin_np(t, &r) == EBUSY);
	CHECK_EQ((long)r, EINTR);
	last = 0;
	puts("a handler ends its wait");

	CHECK_OK(pthread_create(&t, NULL, ends_after, NULL));
	settle();
	CHECK_OK(pthread_cancel(t));
	CHECK_OK(pthread_join(t, &r));
	CHECK(r == PTHREAD_CANCELED);
	puts("it is cancelled there");
}

static void *late(void *arg)
{
	uint64_t began;
	struct epoll_event ev;

	(void)arg;
	turns(ALONE);
	began = now();
	CHECK_EQ(epoll_wait(ep, &ev, 1, 30), 0);
	CHECK(now() - began >= 29000000);
	return NULL;
}

static void *forks(void *arg)
{
	int status;

	(void)arg;
	turns(ALONE);
	for (int i = 0; i < 5; i++) {
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			struct epoll_event ev;
			uint64_t one = 1;

			if (write(extra, &one, 8) != 8 || epoll_wait(ep, &ev, 1, 5000) != 1)
				_exit(1);
			_exit(ev.data.fd != extra || read(extra, &one, 8) != 8);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		turns(20);
	}
	return NULL;
}

static void *locked(void *arg)
{
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	(void)arg;
	CHECK_SYS(timer_create(CLOCK_THREAD_CPUTIME_ID, &none, &timer));
	turns(ALONE * 5);
	CHECK_SYS(timer_delete(timer));
	return NULL;
}

static void alone(void *(*fn)(void *), const char *said)
{
	pthread_t t;

	CHECK_OK(pthread_create(&t, NULL, fn, NULL));
	CHECK_OK(pthread_join(t, NULL));
	puts(said);
}

int main(void)
{
	int status;

	signal(SIGPIPE, SIG_IGN);
	feed();
	CHECK_SYS(ep = epoll_create1(EPOLL_CLOEXEC));
	add(peer[0]);
	others_go_on();
	from_others();
	alone(late, "its time ends");
	alone(forks, "a child waits with a copy of its set");
	alone(locked, "a thread with a timer on its CPU clock does the same");
	close(peer[0]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	return 0;
}
