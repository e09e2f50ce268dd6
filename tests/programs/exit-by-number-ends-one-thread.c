/*
 * exit(2) by number ends the thread that calls it and nothing else: it can be joined, and no cleanup
 * handler runs for it; the process that it was the last thread of ends with its status, without
 * handlers.  (The main thread's, on older kernels; here both are the same.)
 */
#include "check.h"
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static atomic_int ran;

static void runs(void *arg)
{
	(void)arg;
	atomic_fetch_add(&ran, 1);
}

static void at_exit(void)
{
	_exit(66);
}

static void *by_number(void *arg)
{
	pthread_cleanup_push(runs, NULL);
	if (arg)
		let_others_block();
	syscall(SYS_exit, 7);
	pthread_cleanup_pop(1);
	return arg;
}

static void *late(void *arg)
{
	let_others_block();
	return arg;
}

static int status_of(void (*fn)(void))
{
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0) {
		fn();
		_exit(99);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void main_first(void)
{
	CHECK_OK(atexit(at_exit));
	spawn(by_number, &ran);
	syscall(SYS_exit, 7);
}

static void main_last(void)
{
	CHECK_OK(atexit(at_exit));
	join(spawn(by_number, NULL));
	pthread_exit(NULL);
}

static void main_alone(void)
{
	CHECK_OK(atexit(at_exit));
	join(spawn(late, NULL));
	syscall(SYS_exit, 4);
}

static void main_returns(void)
{
	join(spawn(by_number, NULL));
	exit(5);
}

int main(void)
{
	for (int i = 0; i < 30; i++) {
		pthread_t t[4];

		for (long k = 0; k < 4; k++)
			t[k] = spawn(by_number, (void *)(k == 3 && i % 10 == 0));
		for (int k = 0; k < 4; k++)
			join(t[k]);
		CHECK(join(spawn(late, &ran)) == &ran);
	}
	CHECK_EQ(atomic_load(&ran), 0);
	passed("120 threads ended, nothing ran for them");
	CHECK_EQ(status_of(main_first), 7);
	CHECK_EQ(status_of(main_last), 0);
	CHECK_EQ(status_of(main_alone), 4);
	CHECK_EQ(status_of(main_returns), 5);
	passed("processes end with the last one's status");
	return 0;
}
