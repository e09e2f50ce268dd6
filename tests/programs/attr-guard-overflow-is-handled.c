/*
 * A program may survive the overflow: SIGSEGV on an alternate stack, siglongjmp out of the handler,
 * and the thread goes on; other threads have alternate stacks of their own and do not notice.
 */
#include "check.h"
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

static _Thread_local sigjmp_buf back;
static _Thread_local volatile int caught;
static _Thread_local char *alt;
static size_t alt_size;

static void on_segv(int sig, siginfo_t *info, void *ctx)
{
	char here;

	(void)info;
	(void)ctx;
	CHECK((uintptr_t)&here >= (uintptr_t)alt && (uintptr_t)&here < (uintptr_t)alt + alt_size);
	caught++;
	siglongjmp(back, sig);
}

static int overflow(volatile int *depth)
{
	volatile char frame[512];

	frame[0] = 1;
	(*depth)++;
	if (*depth > 0)
		overflow(depth);
	return frame[0];
}

static void *survive(void *arg)
{
	stack_t ss = { .ss_size = alt_size };

	CHECK((ss.ss_sp = alt = malloc(alt_size)) != NULL);
	CHECK_SYS(sigaltstack(&ss, NULL));
	for (int i = 0; i < 3; i++) {
		volatile int depth = 0;

		if (sigsetjmp(back, 1) == 0)
			overflow(&depth);
		CHECK_EQ(caught, i + 1);
		sched_yield();
	}
	ss.ss_flags = SS_DISABLE;
	CHECK_SYS(sigaltstack(&ss, NULL));
	free(alt);
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	pthread_attr_t attr;
	pthread_t t[8];

	alt_size = (size_t)sysconf(_SC_SIGSTKSZ) + 32768;
	CHECK_SYS(sigaction(SIGSEGV, &sa, NULL));
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, 256 * 1024));
	for (int i = 0; i < 8; i++)
		CHECK_OK(pthread_create(&t[i], &attr, survive, NULL));
	for (int i = 0; i < 8; i++)
		join(t[i]);
	passed("8 threads survived 3 overflows each on their alternate stacks");
	return 0;
}
