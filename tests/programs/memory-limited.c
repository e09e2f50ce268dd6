/*
 * A limit of address space or of data leaves room for as many threads as there are stacks in it, less
 * what a process needs; when it is full creation fails with EAGAIN, and goes on when threads have ended.
 *
 * The program runs itself again under each limit: some are felt as early as by the loader.
 */
#include "check.h"
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MB = 1 << 20, MOST = 500 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&gate));
	CHECK_OK(pthread_mutex_unlock(&gate));
	return arg;
}

static int fill(size_t stack)
{
	static pthread_t t[MOST];
	pthread_attr_t attr;
	int n = 0, err = 0;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, stack));
	CHECK_OK(pthread_mutex_lock(&gate));
	while (n < MOST && !(err = pthread_create(&t[n], &attr, wait_at_gate, NULL)))
		n++;
	CHECK(n == MOST || err == EAGAIN);
	CHECK_OK(pthread_mutex_unlock(&gate));
	for (int i = 0; i < n; i++)
		join(t[i]);
	CHECK_OK(pthread_attr_destroy(&attr));
	return n;
}

static int under_limit(size_t stack, int least)
{
	for (int i = 0; i < 3; i++)
		CHECK(fill(stack) >= least);
	return 0;
}

/* Another size of stack must have the room that the first one had. */
static int sizes_in_turn(size_t stack, int least)
{
	for (int i = 0; i < 3; i++) {
		CHECK(fill(stack) >= least);
		CHECK(fill(stack / 2) >= least);
	}
	return 0;
}

static void again(char *self, const char *what, int limit, const char *name, long mb, long stack_mb, int least)
{
	struct rlimit r = { .rlim_cur = (rlim_t)mb * MB, .rlim_max = RLIM_INFINITY };
	char stack[32], n[32];
	int status;
	pid_t pid;

	snprintf(stack, sizeof(stack), "%ld", stack_mb * MB);
	snprintf(n, sizeof(n), "%d", least);
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_SYS(setrlimit(limit, &r));
		execl(self, self, what, stack, n, NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	passed("%s of %ld MB: %d threads of %ld MB or more, %s", name, mb, least, stack_mb, what);
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "again and again") == 0)
		return under_limit(strtoul(argv[2], NULL, 10), atoi(argv[3]));
	if (argc > 3)
		return sizes_in_turn(strtoul(argv[2], NULL, 10), atoi(argv[3]));
	again(argv[0], "again and again", RLIMIT_AS, "address space", 300, 8, 34);
	again(argv[0], "again and again", RLIMIT_AS, "address space", 600, 8, 72);
	again(argv[0], "again and again", RLIMIT_AS, "address space", 300, 1, 280);
	again(argv[0], "again and again", RLIMIT_DATA, "data", 64, 1, 55);
	again(argv[0], "again and again", RLIMIT_DATA, "data", 10, 1, 4);
	again(argv[0], "one size after another", RLIMIT_AS, "address space", 400, 8, 44);
	return 0;
}
