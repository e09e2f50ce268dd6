/*
 * The child of a process with a thousand threads makes its first one: that takes what a thread takes, and
 * no huge page, for there may be hundreds of such children.
 */
#include "check.h"
#include <sys/wait.h>

enum { MANY = 1000, MOST_KB = 1000 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&gate));
	CHECK_OK(pthread_mutex_unlock(&gate));
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* What the parent writes meanwhile does not change it. */
static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long total, resident;

	CHECK(f);
	CHECK_EQ(fscanf(f, "%ld %ld", &total, &resident), 2);
	CHECK_EQ(fclose(f), 0);
	return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void child(void)
{
	long before = resident_kb(), took;

	join(spawn(nothing, NULL));
	took = resident_kb() - before;
	if (took > MOST_KB)
		printf("FAILED: the child's first thread took %ld KB\n", took);
	fflush(stdout);
	_exit(took > MOST_KB);
}

int main(void)
{
	static pthread_t t[MANY];
	int status;

	CHECK_OK(pthread_mutex_lock(&gate));
	for (int i = 0; i < MANY; i++)
		t[i] = spawn(waits, NULL);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			child();
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	CHECK_OK(pthread_mutex_unlock(&gate));
	for (int i = 0; i < MANY; i++)
		join(t[i]);
	puts("ok");
	return 0;
}
