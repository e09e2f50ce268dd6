/*
 * Threads wait in read and in poll when a filter comes that allows neither to watch a descriptor nor what polls
 * such: they go on waiting, at no cost, and are woken.  The same where the filter comes just as they begin.
 */
#include "check.h"
#include "filter.h"
#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAIRS = 4, ROUNDS = 100 };

static const int forbidden[] = {
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */
};

static void install(void)
{
	CHECK_SYS(FILTER_INSTALL(forbidden, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC));
}

static void *reads(void *arg)
{
	int *ends = arg;
	char c;

	return read(ends[0], &c, 1) == 1 ? NULL : arg;
}

static void *polls(void *arg)
{
	int *ends = arg;
	struct pollfd p[2] = { { .fd = ends[0], .events = POLLIN }, { .fd = ends[1], .events = POLLERR } };

	return poll(p, 2, -1) == 1 && p[0].revents == POLLIN ? NULL : arg;
}

static double cpu(void)
{
	struct rusage u;

	CHECK_SYS(getrusage(RUSAGE_SELF, &u));
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* In a process of its own. */
static void scene(bool settled)
{
	struct timespec ms20 = { 0, 20000000 }, ms600 = { 0, 600000000 };
	pthread_t t[2 * PAIRS];
	int ends[2 * PAIRS][2];
	double before;

	alarm(60);
	for (int i = 0; i < 2 * PAIRS; i++) {
		CHECK_SYS(pipe(ends[i]));
		t[i] = spawn(i % 2 ? polls : reads, ends[i]);
	}
	if (settled)
		nanosleep(&ms20, NULL);
	install();
	if (settled) {
		nanosleep(&ms20, NULL);
		before = cpu();
		nanosleep(&ms600, NULL);
		CHECK(cpu() - before < 0.3);
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		CHECK_EQ(write(ends[i][1], "x", 1), 1);
	for (int i = 0; i < 2 * PAIRS; i++)
		CHECK(!join(t[i]));
	_exit(0);
}

static void child(bool settled)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		scene(settled);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	child(true);
	passed("threads that wait when a filter comes use no CPU, and are woken");
	for (int i = 0; i < ROUNDS; i++)
		child(false);
	passed("so are those that begin to wait meanwhile");
	return 0;
}
