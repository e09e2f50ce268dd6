/*
 * timespec_get(TIME_THREAD_ACTIVE), of C23 and glibc since 2.43: the CPU time of the calling thread, as
 * clock_gettime(CLOCK_THREAD_CPUTIME_ID) has it, and not that of the threads before it.
 */
#include "check.h"

enum { THREAD_ACTIVE = 4, BURN_MS = 200 };

static long long ns_of(struct timespec ts)
{
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static long long mine(void)
{
	struct timespec ts;

	CHECK_EQ(timespec_get(&ts, THREAD_ACTIVE), THREAD_ACTIVE);
	return ns_of(ts);
}

static void *burns(void *arg)
{
	long long before = now_ns(CLOCK_THREAD_CPUTIME_ID), between, after;

	do {
		between = mine();
		after = now_ns(CLOCK_THREAD_CPUTIME_ID);
		CHECK(before <= between && between <= after);
		before = after;
	} while (after < BURN_MS * 1000000LL);
	return arg;
}

static void *begins(void *arg)
{
	CHECK(mine() < BURN_MS / 2 * 1000000LL);
	return arg;
}

int main(void)
{
	struct timespec ts;

	if (timespec_get(&ts, THREAD_ACTIVE) != THREAD_ACTIVE) {
		puts("libc has no such base before 2.43");
		return 77;
	}
	join(spawn(burns, NULL));
	passed("it lies between two looks at the thread's clock");
	join(spawn(begins, NULL));
	passed("a new thread begins at nothing");
	return 0;
}
