/*
 * vfork: the child writes in its parent's memory, and keeps its descriptors, dispositions and mask
 * to itself.  Before the first thread, in main beside busy threads, and in several threads at once.
 */
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

enum { THREADS = 4, ROUNDS = 30 };

static void something_short(void)
{
	free(malloc(100));
}

/* The usual way to hear of an exec that failed. */
static void exec_fails(void)
{
	volatile int failed = 0;
	pid_t pid = vfork();

	CHECK_SYS(pid);
	if (pid == 0) {
		char *argv[] = {"x", NULL};

		execv("/nonexistent", argv);
		failed = errno;
		_exit(111);
	}
	CHECK_EQ(status_of(pid), 111);
	CHECK_EQ(failed, ENOENT);
}

static void exec_succeeds(void)
{
	volatile int failed = 0;
	pid_t pid = vfork();

	CHECK_SYS(pid);
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
		failed = errno;
		_exit(111);
	}
	CHECK_EQ(status_of(pid), 9);
	CHECK_EQ(failed, 0);
}

static void *reads(void *arg)
{
	char c;

	CHECK_EQ(read(*(int *)arg, &c, 1), 1);
	CHECK_EQ(c, 'p');
	return arg;
}

/* A thread of the parent's may wait for what the child closes. */
static void descriptors(int with_reader)
{
	int fd[2], *volatile both = fd;
	pthread_t t = pthread_self();
	pid_t pid;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	if (with_reader)
		t = spawn(reads, &fd[0]);
	sched_yield();
	pid = vfork();
	CHECK_SYS(pid);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		if (null < 0 || dup2(null, both[0]) != both[0] || close(both[1]) || close(null))
			_exit(1);
		_exit(read(both[0], &null, 1) == 0 && write(both[1], "", 1) == -1 && errno == EBADF ? 12 : 13);
	}
	CHECK_EQ(status_of(pid), 12);
	CHECK_EQ(write(fd[1], "p", 1), 1);
	if (with_reader)
		CHECK(join(t) == &fd[0]);
	else
		reads(&fd[0]);
	CHECK_SYS(close(fd[0]));
	CHECK_SYS(close(fd[1]));
}

static _Thread_local volatile sig_atomic_t handled;

static void handler(int sig)
{
	handled += sig;
}

/* The handler is the parent's until the child sets another; a mask and an action are the child's. */
static void signals(void)
{
	sigset_t set, mask;
	struct sigaction sa;
	int before = handled;
	pid_t pid = vfork();

	CHECK_SYS(pid);
	if (pid == 0) {
		kill(getpid(), SIGUSR1);
		signal(SIGUSR1, SIG_IGN);
		kill(getpid(), SIGUSR1);
		sigfillset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		_exit(14);
	}
	CHECK_EQ(status_of(pid), 14);
	CHECK_EQ(handled - before, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &mask));
	CHECK_EQ(sigismember(&mask, SIGUSR2), 0);
	CHECK_SYS(sigaction(SIGUSR1, NULL, &sa));
	CHECK(sa.sa_handler == handler);
}

/* Children of a child: one more vfork, and a fork, which may use threads. */
static void in_turn(void)
{
	volatile int steps = 0, inner = 0;
	pid_t pid = vfork();

	CHECK_SYS(pid);
	if (pid == 0) {
		pid_t second = vfork();

		if (second == 0) {
			steps++;
			_exit(3);
		}
		inner = status_of(second);
		steps++;
		second = fork();
		if (second == 0) {
			run_threads();
			exec_fails();
			_exit(4);
		}
		inner = inner * 10 + status_of(second);
		steps++;
		_exit(15);
	}
	CHECK_EQ(status_of(pid), 15);
	CHECK_EQ(steps, 3);
	CHECK_EQ(inner, 34);
}

static void all(int threads)
{
	volatile long canary[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct sigaction sa = {.sa_handler = handler};

	if (!threads)
		CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		exec_fails();
		descriptors(threads);
		signals();
		for (int k = 0; k < 8; k++)
			CHECK_EQ(canary[k], k + 1);
	}
	exec_succeeds();
	in_turn();
}

static void *thread(void *arg)
{
	all(1);
	return arg;
}

int main(void)
{
	pthread_t others[OTHERS], t[THREADS];

	CHECK_OK(pthread_key_create(&child_key, NULL));
	all(0);
	passed("before the first thread");
	start_others(others);
	all(1);
	passed("main beside others");
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(thread, &t[i]);
	for (int i = 0; i < THREADS; i++)
		CHECK(join(t[i]) == &t[i]);
	stop_others(others);
	passed("%d threads", THREADS);
	return 0;
}
