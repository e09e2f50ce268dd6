/*
 * Another thread gives one that is blocked in a call of the kernel's a policy with an order, or takes it back,
 * once or often.  The call goes on, and when it is over the thread has the policy that was set last.
 */
#define _GNU_SOURCE 1
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { EPOLL, FLOCK, WAITPID, PIPE, WAYS };

static int way, pinned, files[2], ends[2], begun;
static pid_t child;

static void blocks(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	char c;
	int ep;

	switch (way) {
	case EPOLL:
		ep = epoll_create1(0);
		CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &ev));
		CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
		close(ep);
		CHECK_EQ(read(ends[0], &c, 1), 1);
		break;
	case FLOCK:
		CHECK_SYS(flock(files[1], LOCK_EX));
		CHECK_SYS(flock(files[1], LOCK_UN));
		break;
	case WAITPID:
		CHECK_EQ(waitpid(child, NULL, 0), child);
		break;
	default:
		CHECK_EQ(read(ends[0], &c, 1), 1);
	}
}

static void ends_it(void)
{
	if (way == FLOCK)
		CHECK_SYS(flock(files[0], LOCK_UN));
	else if (way == WAITPID)
		CHECK_SYS(kill(child, SIGKILL));
	else
		CHECK_EQ(write(ends[1], "x", 1), 1);
}

static void *waiter(void *policy)
{
	struct sched_param sp;
	cpu_set_t cpus;
	int now;

	if (pinned) {
		CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus), 0);
		for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&cpus) > 1; cpu--)
			CPU_CLR(cpu, &cpus);
		CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus), 0);
	}
	__atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
	blocks();
	CHECK_EQ(pthread_getschedparam(pthread_self(), &now, &sp), 0);
	*(int *)policy = now;
	sched_yield();
	usleep(100);
	return NULL;
}

static void set(pthread_t t, int policy)
{
	struct sched_param sp = { .sched_priority = sched_get_priority_min(policy) };

	CHECK_EQ(pthread_setschedparam(t, policy, &sp), 0);
	usleep(2000);
}

/* The changes: a bit each, FIFO for 1. */
static void once(int changes, int n)
{
	pthread_t t;
	int was, wanted = SCHED_OTHER;

	if (way == WAITPID && !(child = fork()))
		for (;;)
			pause();
	if (way == FLOCK)
		CHECK_SYS(flock(files[0], LOCK_EX));
	begun = 0;
	CHECK_EQ(pthread_create(&t, NULL, waiter, &was), 0);
	while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
		usleep(100);
	usleep(3000);
	for (int i = 0; i < n; i++) {
		wanted = changes >> i & 1 ? SCHED_FIFO : SCHED_OTHER;
		set(t, wanted);
	}
	ends_it();
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_EQ(was, wanted);
}

/* An unprivileged process may set none of them; then nothing is to be seen. */
static bool may(void)
{
	struct sched_param sp = { .sched_priority = sched_get_priority_min(SCHED_FIFO) }, none = { 0 };
	int r = sched_setscheduler(0, SCHED_FIFO, &sp);

	sched_setscheduler(0, SCHED_OTHER, &none);
	return r == 0;
}

int main(void)
{
	char path[] = "/tmp/weft-test-XXXXXX";

	files[0] = mkstemp(path);
	CHECK_SYS(files[0]);
	files[1] = open(path, O_RDWR);
	CHECK_SYS(files[1]);
	CHECK_SYS(unlink(path));
	CHECK_SYS(pipe(ends));
	for (way = 0; may() && way < WAYS; way++)
		for (pinned = 0; pinned < 2; pinned++)
			for (int n = 1; n <= 3; n++)
				for (int changes = 0; changes < 1 << n; changes++)
					once(changes, n);
	passed("the policy that was set last, and the call went on");
	return 0;
}
