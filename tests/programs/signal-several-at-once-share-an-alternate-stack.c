/*
 * Two signals are let in at once.  One handler asks for the alternate stack, the other does not and
 * raises a third that does: no handler's stack is overwritten.
 */
#include "check.h"
#include <signal.h>

enum { SIGS = 3 };
static const int sigs[SIGS] = { SIGUSR1, SIGUSR2, SIGWINCH };
static _Alignas(64) char stack[65536];
static volatile int handled;

static void handler(int sig)
{
	volatile unsigned char mine[512];

	for (size_t i = 0; i < sizeof mine; i++)
		mine[i] = (unsigned char)(sig + i);
	handled++;
	if (sig == SIGUSR2)
		CHECK_SYS(raise(SIGWINCH));
	for (size_t i = 0; i < sizeof mine; i++)
		CHECK_EQ(mine[i], (unsigned char)(sig + i));
}

static void at_once(unsigned on_stack)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < SIGS; i++) {
		struct sigaction sa = { .sa_handler = handler,
					.sa_flags = on_stack >> i & 1 ? SA_ONSTACK : 0 };

		CHECK_SYS(sigaction(sigs[i], &sa, NULL));
		sigaddset(&set, sigs[i]);
	}
	handled = 0;
	sigdelset(&set, SIGWINCH);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 2; i++)
		CHECK_SYS(raise(sigs[i]));
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQ(handled, 3);
}

static void *thread(void *arg)
{
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack };

	CHECK_SYS(sigaltstack(&ss, NULL));
	for (int round = 0; round < 20; round++)
		for (unsigned on_stack = 0; on_stack < 1 << SIGS; on_stack++)
			at_once(on_stack);
	return arg;
}

int main(void)
{
	join(spawn(thread, NULL));
	passed("handlers that are let in at once leave each other's stacks alone");
	return 0;
}
