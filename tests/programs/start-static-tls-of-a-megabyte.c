/*
 * A program whose thread-local variables are larger than the stacks that helper threads have: each
 * thread has its own, begun with the initial values, in threads of every kind and after a fork.
 */
#include "child.h"

enum { SIZE = 1 << 20, THREADS = 10 };

static _Thread_local char big[SIZE] = {1, 2, 3};
static _Thread_local int after = 4;

static void something_short(void)
{
	free(malloc(100));
}

static void use(void)
{
	CHECK(big[0] == 1 && big[1] == 2 && big[2] == 3 && big[SIZE - 1] == 0 && after == 4);
	memset(big, 5, sizeof big);
	CHECK_SYS(usleep(100));
	for (int i = 0; i < SIZE; i++)
		CHECK_EQ(big[i], 5);
	CHECK_EQ(after, 4);
}

static void *thread(void *arg)
{
	use();
	return arg;
}

static void run(void)
{
	pthread_t t[THREADS];
	pthread_attr_t attr;

	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(thread, &t[i]);
	for (int i = 0; i < THREADS; i++)
		CHECK(join(t[i]) == &t[i]);
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, 2 * SIZE));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], &attr, thread, &t[i]));
	for (int i = 0; i < THREADS; i++)
		CHECK(join(t[i]) == &t[i]);
}

int main(void)
{
	pthread_t others[OTHERS];
	pid_t pid;

	CHECK_OK(pthread_key_create(&child_key, NULL));
	run();
	passed("threads");
	start_others(others);
	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0) {
		run();
		_exit(7);
	}
	CHECK_EQ(status_of(pid), 7);
	stop_others(others);
	passed("threads of a child");
	use();
	passed("main");
	return 0;
}
