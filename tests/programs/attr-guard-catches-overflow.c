/*
 * A thread that runs off its stack dies of SIGSEGV on the guard instead of writing into other
 * memory: with the default guard and with a large one.  Each case runs in a child, whose status is
 * examined.
 */
#include "check.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile int depth;

static void *overflow(void *arg)
{
	volatile char frame[1024];

	frame[0] = 1;
	depth++;
	if (depth > 0)
		overflow(arg);
	return (void *)(long)frame[0];
}

static void *small_steps(void *arg)
{
	return overflow(arg);
}

static void dies(size_t stack, size_t guard)
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid;

	fflush(stdout);
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		pthread_attr_t attr;
		pthread_t t[3];

		CHECK_SYS(setrlimit(RLIMIT_CORE, &none));
		CHECK_OK(pthread_attr_init(&attr));
		CHECK_OK(pthread_attr_setstacksize(&attr, stack));
		if (guard)
			CHECK_OK(pthread_attr_setguardsize(&attr, guard));
		for (int i = 0; i < 3; i++)
			CHECK_OK(pthread_create(&t[i], &attr, small_steps, NULL));
		for (int i = 0; i < 3; i++)
			join(t[i]);
		_exit(7);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGSEGV);
}

int main(void)
{
	dies(128 * 1024, 0);
	passed("overflow of 128 KiB stops at the default guard");
	dies(1024 * 1024, 64 * 1024);
	passed("overflow of 1 MiB stops at a 64 KiB guard");
	dies(8 * 1024 * 1024, 0);
	passed("overflow of 8 MiB stops at the default guard");
	return 0;
}
