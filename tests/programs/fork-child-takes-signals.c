/*
 * A forked child that makes no thread is sent signals, whether it waits or works: its handler runs
 * and its wait ends, as in any process.  Its parent has threads.
 */
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/wait.h>

static volatile sig_atomic_t handled;
static int ack[2]; /* of a child that works: a byte for each signal */

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static void on_signal_answer(int sig)
{
	int saved = errno;

	(void)sig;
	CHECK(write(ack[1], "s", 1) == 1);
	errno = saved;
}

static void on_sigpipe(int sig)
{
	(void)sig;
}

static void *other(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int empty[2]; /* a pipe that nobody writes to */

static int in_read(void)
{
	char c;

	return (int)read(empty[0], &c, 1);
}

static int in_sem_wait(void)
{
	sem_t sem;

	CHECK(sem_init(&sem, 0, 0) == 0);
	return sem_wait(&sem);
}

static int in_nanosleep(void)
{
	return nanosleep(&(struct timespec){1000, 0}, NULL);
}

static int in_poll(void)
{
	struct pollfd p = {empty[0], POLLIN, 0};

	return poll(&p, 1, -1);
}

static int in_select(void)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(empty[0], &in);
	return select(empty[0] + 1, &in, NULL, NULL, NULL);
}

static int in_pause(void)
{
	return pause();
}

static int in_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

/* Not ended by a signal: its handler runs meanwhile. */
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;

static int in_cond_wait(void)
{
	struct timespec soon;

	CHECK(pthread_mutex_lock(&mu) == 0);
	while (!handled) {
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_sec += 1;
		CHECK(pthread_cond_timedwait(&cv, &mu, &soon) == ETIMEDOUT);
	}
	CHECK(pthread_mutex_unlock(&mu) == 0);
	errno = EINTR;
	return -1;
}

static const struct {
	const char *name;
	int (*wait)(void);
} waits[] = {
	{"read", in_read},
	{"sem_wait", in_sem_wait},
	{"nanosleep", in_nanosleep},
	{"poll", in_poll},
	{"select", in_select},
	{"pause", in_pause},
	{"sigsuspend", in_sigsuspend},
	{"pthread_cond_timedwait", in_cond_wait},
};

static void handle(void (*handler)(int sig))
{
	struct sigaction sa = {.sa_handler = handler};

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
}

/* A signal may come before the child waits: so they are sent until it has ended. */
static int signal_until_it_ends(pid_t child)
{
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		kill(child, SIGUSR1);
		usleep(5000);
	}
	return status;
}

static void check_wait(size_t i)
{
	pid_t child;
	int status;

	handle(on_signal);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		int r = waits[i].wait();

		_exit(r == -1 && errno == EINTR && handled > 0 ? 0 : 3);
	}
	status = signal_until_it_ends(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	passed("%s: ended by a signal", waits[i].name);
}

/* Kept out, and taken by asking for it. */
static void check_sigwait(void)
{
	sigset_t set, old;
	pid_t child;
	int sig, status;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR1);
		while (sigtimedwait(&set, NULL, &(struct timespec){1000, 0}) != SIGUSR1)
			;
		_exit(0);
	}
	status = signal_until_it_ends(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
	passed("sigwait, sigtimedwait: got it");
}

/* ---- working --------------------------------------------------------------------------------- */

/* Calls that never wait, but have something to do for it: descriptors come and go. */
static void work(void)
{
	static const char much[200000]; /* more than a pipe takes at once */
	int p[2];
	char c;

	CHECK(pipe(p) == 0);
	CHECK(write(p[1], "x", 1) == 1 && read(p[0], &c, 1) == 1);
	CHECK(close(p[0]) == 0);
	CHECK(write(p[1], much, sizeof(much)) == -1 && errno == EPIPE);
	CHECK(close(p[1]) == 0);
	CHECK(pipe(p) == 0);
	CHECK(fcntl(p[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(p[1], "0123456789", 10) == 10)
		;
	CHECK(close(p[0]) == 0 && close(p[1]) == 0);
	CHECK(pthread_mutex_lock(&mu) == 0 && pthread_mutex_unlock(&mu) == 0);
	sched_yield();
}

/* The handler waits, where the allocator was interrupted. */
static void on_signal_sleep(int sig)
{
	usleep(100);
	on_signal_answer(sig);
}

static void check_work(const char *name, void (*work)(void), void (*handler)(int sig), int signals)
{
	char c;
	pid_t child;
	int status;

	CHECK(pipe(ack) == 0);
	handle(handler);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		for (;;)
			work();
	}
	for (int i = 0; i < signals; i++) {
		CHECK(kill(child, SIGUSR1) == 0);
		CHECK(read(ack[0], &c, 1) == 1);
	}
	CHECK(kill(child, SIGKILL) == 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(close(ack[0]) == 0 && close(ack[1]) == 0);
	passed("%d signals, one after the other, at a child that %s", signals, name);
}

/* Some calls are granted to a process of one kernel thread alone. */
static void check_threads(void)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0)
		_exit(kernel_threads());
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	passed("a child is one kernel thread");
}

int main(void)
{
	pthread_t t;

	signal(SIGPIPE, on_sigpipe);
	CHECK(pipe(empty) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t, NULL, other, NULL) == 0);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		check_wait(i);
	check_sigwait();
	check_threads();
	check_work("works", work, on_signal_answer, 2000);
	for (int i = 0; i < 20; i++)
		check_work("allocates", allocate, on_signal_sleep, 20);
	fflush(stdout);
	_exit(0);
}
