/*
 * Deferred cancellation of a thread that is blocked: in each of many cancellation points the thread
 * ends as PTHREAD_CANCELED, its cleanup handlers run in reverse order and its key destructors after
 * them.
 */
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

static sem_t sem;
static int fds[2], sock[2], full[2], ep;
static pthread_t sleeper;
static pid_t child;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static char trace[8];
static int traced;

static void *sleep_long(void *arg)
{
	for (;;)
		sleep(1000);
	return arg;
}

static void unlock(void *m)
{
	/* The cancelled wait has taken the mutex again: the handler may and must unlock it. */
	CHECK_OK(pthread_mutex_unlock(m));
}

static void in_read(void)
{
	char c;

	CHECK_EQ(read(fds[0], &c, 1), 1);
}

static void in_write(void)
{
	static char big[1 << 20];

	/* Whether a write that has moved some bytes is cancelled or returns their number is the
	 * libc's choice. */
	for (;;)
		CHECK_SYS(write(full[1], big, sizeof big));
}

static void in_recv(void)
{
	char c;

	CHECK_EQ(recv(sock[0], &c, 1, 0), 1);
}

static void in_poll(void)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };

	CHECK_SYS(poll(&p, 1, -1));
}

static void in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	CHECK_SYS(select(fds[0] + 1, &set, NULL, NULL, NULL));
}

static void in_epoll(void)
{
	struct epoll_event ev;

	CHECK_SYS(epoll_wait(ep, &ev, 1, -1));
}

static void in_sleep(void)
{
	sleep(1000);
}

static void in_nanosleep(void)
{
	struct timespec ts = { 1000, 0 };

	nanosleep(&ts, NULL);
}

static void in_clock_nanosleep(void)
{
	struct timespec ts = after_ms(CLOCK_MONOTONIC, 1000000);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void in_pause(void)
{
	pause();
}

static void in_sem_wait(void)
{
	sem_wait(&sem);
}

static void in_sem_timedwait(void)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 1000000);

	sem_timedwait(&sem, &ts);
}

static void in_join(void)
{
	pthread_join(sleeper, NULL);
}

static void in_waitpid(void)
{
	CHECK_SYS(waitpid(child, NULL, 0));
}

static void in_cond_wait(void)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	pthread_cleanup_push(unlock, &mu);
	for (;;)
		pthread_cond_wait(&cv, &mu);
	pthread_cleanup_pop(1);
}

static void in_cond_timedwait(void)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 1000000);

	CHECK_OK(pthread_mutex_lock(&mu));
	pthread_cleanup_push(unlock, &mu);
	for (;;)
		pthread_cond_timedwait(&cv, &mu, &ts);
	pthread_cleanup_pop(1);
}

static void in_testcancel(void)
{
	for (;;) {
		sched_yield();
		pthread_testcancel();
	}
}

static const struct {
	const char *name;
	void (*block)(void);
} points[] = {
	{ "read", in_read },
	{ "write", in_write },
	{ "recv", in_recv },
	{ "poll", in_poll },
	{ "select", in_select },
	{ "epoll_wait", in_epoll },
	{ "sleep", in_sleep },
	{ "nanosleep", in_nanosleep },
	{ "clock_nanosleep", in_clock_nanosleep },
	{ "pause", in_pause },
	{ "sem_wait", in_sem_wait },
	{ "sem_timedwait", in_sem_timedwait },
	{ "pthread_join", in_join },
	{ "waitpid", in_waitpid },
	{ "pthread_cond_wait", in_cond_wait },
	{ "pthread_cond_timedwait", in_cond_timedwait },
	{ "pthread_testcancel", in_testcancel },
};

static void mark(void *c)
{
	trace[traced++] = *(char *)c;
}

static void *blocked(void *arg)
{
	CHECK_OK(pthread_setspecific(key, "k"));
	pthread_cleanup_push(mark, "1");
	pthread_cleanup_push(mark, "2");
	((void (*)(void))arg)();
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_in(int i, int late)
{
	pthread_t t;

	traced = 0;
	memset(trace, 0, sizeof trace);
	t = spawn(blocked, (void *)points[i].block);
	if (late)
		let_others_block();
	CHECK_OK(pthread_cancel(t));
	if (join(t) != PTHREAD_CANCELED) {
		printf("FAILED: %s was not cancelled\n", points[i].name);
		exit(1);
	}
	/* Cancelled before it ran at all, a thread still runs as far as its first cancellation
	 * point. */
	CHECK_EQ(strcmp(trace, "21k"), 0);
}

int main(void)
{
	CHECK_SYS(sem_init(&sem, 0, 0));
	CHECK_SYS(pipe(fds));
	CHECK_SYS(pipe(full));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_OK(pthread_key_create(&key, mark));
	CHECK_SYS(child = fork());
	if (child == 0) {
		close(fds[1]);
		for (;;)
			pause();
	}
	sleeper = spawn(sleep_long, NULL);
	for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
		cancel_in(i, 1);
		for (int k = 0; k < 10; k++)
			cancel_in(i, 0);
		passed("%s", points[i].name);
	}
	CHECK_OK(pthread_mutex_trylock(&mu));
	passed("the mutex of the condition waits is free");
	CHECK_OK(pthread_cancel(sleeper));
	CHECK(join(sleeper) == PTHREAD_CANCELED);
	passed("a thread whose joiners were cancelled can still be joined");
	CHECK_SYS(kill(child, 9));
	CHECK_EQ(waitpid(child, NULL, 0), child);
	return 0;
}
