/*
 * A fork child starts over what a thread of its parent's was initialising, also if it has the same
 * process id: both are the first of a namespace.  The parent's own initialiser ends as if nothing
 * had been.
 */
#include "check.h"

#include <sys/wait.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int started, stop, ran;

static void slow(void)
{
	started = 1;
	while (!stop)
		usleep(1000);
	ran++;
}

static void quick(void)
{
	ran += 10;
}

static void *thread(void *arg)
{
	CHECK_OK(pthread_once(&once, slow));
	return arg;
}

static void first_of_its_namespace(void)
{
	pthread_t t = spawn(thread, NULL);
	int status;
	pid_t pid;

	while (!started)
		usleep(1000);
	CHECK_EQ(getpid(), 1);
	if (unshare(CLONE_NEWPID))
		_exit(77);
	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0) {
		CHECK_EQ(getpid(), 1);
		alarm(20);
		CHECK_OK(pthread_once(&once, quick));
		_exit(ran);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 10 << 8);
	stop = 1;
	join(t);
	CHECK_EQ(ran, 1);
	_exit(0);
}

int main(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID)) {
		printf("no namespace of process ids\n");
		return 77;
	}
	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0)
		first_of_its_namespace();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status == 77 << 8)
		return 77;
	CHECK_EQ(status, 0);
	passed("once in a child with its parent's id");
	return 0;
}
