/*
 * Threads may have stacks that are larger together than the machine's memory, and the process makes
 * children meanwhile.  The kernel refuses to copy one mapping that is larger than the memory.
 */
#include "check.h"
#include <sys/wait.h>

enum { PARTS = 16, THREADS = 40 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_the_gate(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&gate));
	CHECK_OK(pthread_mutex_unlock(&gate));
	return arg;
}

static void make_a_child(void)
{
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0)
		_exit(7);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void run(size_t each)
{
	pthread_t t[THREADS];
	pthread_attr_t attr;
	int n = 0;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, each));
	CHECK_OK(pthread_mutex_lock(&gate));
	/* Where the kernel promises no more than it has, the later ones are refused. */
	while (n < THREADS && pthread_create(&t[n], &attr, wait_at_the_gate, NULL) == 0) {
		n++;
		make_a_child();
	}
	CHECK(n > 1);
	CHECK_OK(pthread_mutex_unlock(&gate));
	for (int i = 0; i < n; i++)
		join(t[i]);
	make_a_child();
	CHECK_OK(pthread_attr_destroy(&attr));
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), memory = (size_t)sysconf(_SC_PHYS_PAGES) * page;
	size_t each = memory / PARTS & ~(page - 1);

	run(each);
	passed("children beside threads with large stacks");
	run(each + 16 * page);
	passed("and again, with stacks of another size");
	return 0;
}
