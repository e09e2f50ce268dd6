/*
 * sigaltstack is each thread's own: handlers with SA_ONSTACK run on the stack of the thread they
 * hit, others on the ordinary one; getting it back, SS_ONSTACK inside, EPERM for a change inside,
 * none in a new thread; after any number of switches.
 */
#include "check.h"
#include <signal.h>
#include <stdint.h>

enum { THREADS = 30 };

static size_t size;
static _Thread_local char *mine;
static _Thread_local int on_alt, on_own;

static int in_mine(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)mine && (uintptr_t)p < (uintptr_t)mine + size;
}

static void handler(int sig)
{
	stack_t now, other = { .ss_flags = SS_DISABLE };
	char here;

	CHECK_SYS(sigaltstack(NULL, &now));
	if (sig == SIGUSR1) {
		CHECK(in_mine(&here));
		CHECK_EQ(now.ss_flags, SS_ONSTACK);
		CHECK_ERR(sigaltstack(&other, NULL), EPERM);
		on_alt++;
	} else {
		CHECK(!in_mine(&here));
		CHECK_EQ(now.ss_flags, 0);
		on_own++;
	}
}

static void *work(void *arg)
{
	stack_t ss = { .ss_size = size }, now, small = { .ss_size = 100 };

	CHECK_SYS(sigaltstack(NULL, &now));
	CHECK_EQ(now.ss_flags, SS_DISABLE);
	CHECK((ss.ss_sp = mine = malloc(size)) != NULL);
	small.ss_sp = mine;
	CHECK_ERR(sigaltstack(&small, NULL), ENOMEM);
	CHECK_SYS(sigaltstack(&ss, NULL));
	for (int i = 0; i < 20; i++) {
		CHECK_SYS(raise(i % 2 ? SIGUSR1 : SIGUSR2));
		sched_yield();
		if (i % 4 == 0)
			CHECK_SYS(usleep(100));
		CHECK_SYS(sigaltstack(NULL, &now));
		CHECK(now.ss_sp == mine && now.ss_size == size && now.ss_flags == 0);
	}
	CHECK_EQ(on_alt, 10);
	CHECK_EQ(on_own, 10);
	ss.ss_flags = SS_DISABLE;
	CHECK_SYS(sigaltstack(&ss, &now));
	CHECK(now.ss_sp == mine);
	free(mine);
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_t t[THREADS];

	size = (size_t)sysconf(_SC_SIGSTKSZ) + 16384;
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_flags = 0;
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(work, NULL);
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
	}
	passed("%d threads, each with an alternate stack of its own", 3 * THREADS);
	return 0;
}
