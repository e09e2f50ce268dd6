/*
 * getrusage(RUSAGE_THREAD) in the child of a fork: no more than the child's process has used, whatever the
 * thread that forked had used and was told of.
 */
#include "check.h"
#include <sys/resource.h>

enum { MS = 1000000 };

static long long used(void)
{
	struct rusage ru;

	CHECK_SYS(getrusage(RUSAGE_THREAD, &ru));
	return (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000LL +
	       (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000LL;
}

static void compute(long long amount)
{
	long long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + amount;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/* How long a fork takes is the machine's affair. */
static void of_the_process(long long time)
{
	CHECK(time <= now_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void *forks(void *who)
{
	int status;
	pid_t pid;

	used();
	compute(300 * MS);
	CHECK(used() >= 200 * MS);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		of_the_process(used());
		of_the_process(now_ns(CLOCK_THREAD_CPUTIME_ID));
		compute(150 * MS);
		CHECK(used() >= 100 * MS);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(used() >= 200 * MS);
	passed("the child of %s", (const char *)who);
	return NULL;
}

int main(void)
{
	join(spawn(forks, "a thread"));
	forks("main");
	return 0;
}
