/*
 * Threads wait in read and in poll when a filter comes that allows neither to watch a descriptor nor what polls
 * such: they go on waiting, at no cost, and are woken.  The same where the filter comes just as they begin.
 */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAIRS = 4, ROUNDS = 100 };

static const int forbidden[] = {
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */
};

static void install(void)
{
	enum { N = sizeof(forbidden) / sizeof(forbidden[0]) };
	struct sock_filter f[N + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { N + 3, f };

	for (int i = 0; i < N; i++)
		f[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[i],
							(unsigned char)(N - i), 0);
	f[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK_SYS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
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
