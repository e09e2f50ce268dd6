/*
 * A signal that is sent to the process while main lets it in is main's, whatever other threads do
 * that let it in too: its handler runs in main and ends main's wait, of every kind.  A profiler's
 * timer is the affair of the thread that computes.
 */
#include "check.h"
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { WORKERS = 2 };
static pthread_t main_thread;
static atomic_int in_main, elsewhere;
static atomic_bool computes = true, stop;
static atomic_ulong turns[WORKERS];
static int fds[2], listener, ep, queue;
static sem_t sem;
static pid_t child;

static void handler(int sig)
{
	(void)sig;
	if (pthread_equal(pthread_self(), main_thread))
		in_main++;
	else
		elsewhere++;
}

static void *worker(void *arg)
{
	atomic_ulong *k = arg;

	while (!stop) {
		if (computes)
			(*k)++;
		else
			usleep(500);
	}
	return NULL;
}

static int w_pause(void)
{
	return pause();
}

static int w_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

static int w_read(void)
{
	char c;

	return (int)read(fds[0], &c, 1);
}

static int w_accept(void)
{
	return accept(listener, NULL, NULL);
}

static int w_poll(void)
{
	return poll(NULL, 0, -1);
}

static int w_poll_one(void)
{
	struct pollfd p = { fds[0], POLLIN, 0 };

	return poll(&p, 1, -1);
}

static int w_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	return select(fds[0] + 1, &set, NULL, NULL, NULL);
}

static int w_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(ep, &e, 1, -1);
}

static int w_sem(void)
{
	return sem_wait(&sem);
}

static int w_nanosleep(void)
{
	struct timespec ts = { 1000, 0 };

	return nanosleep(&ts, NULL);
}

static int w_waitpid(void)
{
	return waitpid(child, NULL, 0);
}

static int w_msgrcv(void)
{
	struct {
		long type;
		char c[8];
	} m;

	return (int)msgrcv(queue, &m, 8, 0, 0);
}

static const struct {
	const char *name;
	int (*wait)(void);
} waits[] = {
	{ "pause", w_pause },	{ "sigsuspend", w_sigsuspend }, { "read", w_read },
	{ "accept", w_accept }, { "poll", w_poll },		{ "poll of a pipe", w_poll_one },
	{ "select", w_select }, { "epoll_wait", w_epoll },	{ "sem_wait", w_sem },
	{ "nanosleep", w_nanosleep }, { "waitpid", w_waitpid }, { "msgrcv", w_msgrcv },
};

static void open_all(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN };

	CHECK_SYS(pipe(fds));
	CHECK_SYS(listener = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(bind(listener, (struct sockaddr *)&in, sizeof in));
	CHECK_SYS(listen(listener, 5));
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &e));
	CHECK_SYS(sem_init(&sem, 0, 0));
	CHECK_SYS(queue = msgget(IPC_PRIVATE, 0600));
}

/* Sends until main has had one: the first may come before it waits. */
static void wait_in(int i)
{
	int before = in_main, status;
	pid_t parent = getpid();

	CHECK_SYS(child = fork());
	if (child == 0) {
		while (getppid() == parent) {
			usleep(60000);
			kill(parent, SIGTERM);
		}
		_exit(1); /* its parent was killed */
	}
	CHECK_ERR(waits[i].wait(), EINTR);
	CHECK(in_main > before);
	CHECK_SYS(kill(child, SIGKILL));
	while (waitpid(child, &status, 0) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(elsewhere, 0);
	passed("%s: a handler in main ends it, others %s", waits[i].name,
	       computes ? "compute" : "sleep and wake");
}

static sigjmp_buf env;
static volatile int jumps;

static void jump(int sig)
{
	(void)sig;
	CHECK(pthread_equal(pthread_self(), main_thread));
	siglongjmp(env, 1);
}

static void time_out_by_alarm(void)
{
	struct sigaction sa = { .sa_handler = jump };
	char c;

	CHECK_SYS(sigaction(SIGALRM, &sa, NULL));
	while (jumps < 5) {
		if (sigsetjmp(env, 1)) {
			jumps++;
			continue;
		}
		ualarm(30000, 0);
		CHECK_SYS(read(fds[0], &c, 1));
	}
	passed("an alarm's handler jumps out of main's read");
}

static void profile(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { { 0, 0 }, { 0, 0 } };

	in_main = elsewhere = 0;
	CHECK_SYS(sigaction(SIGPROF, &sa, NULL));
	CHECK_SYS(setitimer(ITIMER_PROF, &often, NULL));
	while (elsewhere < 3)
		usleep(10000);
	CHECK_SYS(setitimer(ITIMER_PROF, &never, NULL));
	passed("a profiler's timer finds those that compute");
}

int main(void)
{
	/* A second signal while the handler runs is main's, too, and not another thread's that lets it in. */
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_NODEFER };
	pthread_t t[WORKERS];

	main_thread = pthread_self();
	open_all();
	CHECK_SYS(sigaction(SIGTERM, &sa, NULL));
	for (int i = 0; i < WORKERS; i++)
		t[i] = spawn(worker, &turns[i]);
	for (int i = 0; i < WORKERS; i++)
		while (!turns[i]) /* the kernel lets a thread that begins take what waits for main */
			usleep(1000);
	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
		wait_in((int)i);
	computes = false;
	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
		wait_in((int)i);
	computes = true;
	time_out_by_alarm();
	profile();
	stop = true;
	for (int i = 0; i < WORKERS; i++)
		join(t[i]);
	CHECK_SYS(msgctl(queue, IPC_RMID, NULL));
	return 0;
}
