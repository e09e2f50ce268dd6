/*
 * getrusage(RUSAGE_THREAD), by function and by number: what a thread has used itself.  It begins
 * with next to nothing however much others have used, grows with what it computes, and no part of
 * it ever goes back.
 */
#include "check.h"
#include <sys/resource.h>
#include <sys/syscall.h>

enum { MS = 1000000 };

static long long ns(const struct timeval *tv)
{
	return tv->tv_sec * 1000000000LL + tv->tv_usec * 1000LL;
}

struct used {
	long long user, system;
};

static struct used used(int by_number)
{
	struct rusage ru;

	memset(&ru, 0xff, sizeof(ru));
	CHECK_SYS(by_number ? syscall(SYS_getrusage, RUSAGE_THREAD, &ru)
			    : getrusage(RUSAGE_THREAD, &ru));
	CHECK(ru.ru_maxrss > 0);
	CHECK(ru.ru_minflt >= 0 && ru.ru_nvcsw >= 0);
	return (struct used){ ns(&ru.ru_utime), ns(&ru.ru_stime) };
}

static void compute(long long amount)
{
	long long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + amount;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *fresh(void *arg)
{
	struct used u = used(0);

	CHECK(u.user + u.system < 50 * MS);
	return arg;
}

static void *worker(void *arg)
{
	struct used last = used(0), u;
	long long start = last.user + last.system;

	CHECK(start < 50 * MS);
	for (int i = 0; i < 100; i++) {
		struct timespec ts = { .tv_nsec = 100000 };

		nanosleep(&ts, NULL);
		if (i % 25 == 0)
			compute(5 * MS);
		u = used(i % 2);
		CHECK(u.user >= last.user);
		CHECK(u.system >= last.system);
		last = u;
	}
	/* What it computed by another clock; both are coarse. */
	CHECK(last.user + last.system - start >= 4 * 5 * MS - 5 * MS);
	return arg;
}

int main(void)
{
	pthread_t t[6];
	struct rusage ru;

	used(0);
	compute(100 * MS);
	CHECK(used(0).user + used(1).system >= 60 * MS);
	passed("main's own time");
	join(spawn(fresh, NULL));
	passed("a new thread's");
	for (int i = 0; i < 6; i++)
		t[i] = spawn(worker, NULL);
	for (int i = 0; i < 6; i++)
		join(t[i]);
	passed("six threads'");
	CHECK_SYS(getrusage(RUSAGE_SELF, &ru));
	CHECK(ns(&ru.ru_utime) + ns(&ru.ru_stime) >= 100 * MS);
	CHECK_ERR(getrusage(77, &ru), EINVAL);
	passed("the process's, and nobody's");
	return 0;
}
