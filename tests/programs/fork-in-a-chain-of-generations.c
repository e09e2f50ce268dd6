/*
 * A child's thread forks again, and its child's thread again: eight generations, each with live
 * threads that do not survive, each waiting for the next and passing its status up.
 */
#include "check.h"
#include <sys/wait.h>

static _Thread_local int depth_seen;

static void *bystander(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *generation(void *arg)
{
	long depth = (long)arg;
	int status;
	pid_t pid;

	depth_seen = (int)depth;
	if (depth == 8)
		_exit(8);
	for (int i = 0; i < 5; i++)
		spawn(bystander, NULL);
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_EQ(depth_seen, depth);
		join(spawn(generation, (void *)(depth + 1)));
		_exit(99);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 8);
	if (depth > 0)
		_exit(8);
	return NULL;
}

int main(void)
{
	join(spawn(generation, (void *)0L));
	passed("eight generations");
	return 0;
}
