/*
 * A program whose memory is locked, as a real-time program's: threads are made before and after, and
 * what is locked is what threads use, not what might be needed one day.
 */
#include "check.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MB = 1 << 20, STACK = 1 * MB, AT_ONCE = 4 };

static pthread_barrier_t meet;

static void *nothing(void *arg)
{
	pthread_barrier_wait(&meet);
	return arg;
}

static void some_threads(void)
{
	pthread_t t[AT_ONCE];
	pthread_attr_t attr;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, STACK));
	for (int i = 0; i < AT_ONCE; i++)
		CHECK_OK(pthread_create(&t[i], &attr, nothing, NULL));
	for (int i = 0; i < AT_ONCE; i++)
		join(t[i]);
	CHECK_OK(pthread_attr_destroy(&attr));
}

static long resident_mb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long total, resident;

	CHECK(f);
	CHECK_EQ(fscanf(f, "%ld %ld", &total, &resident), 2);
	CHECK_EQ(fclose(f), 0);
	return resident * sysconf(_SC_PAGESIZE) / MB;
}

int main(void)
{
	long before;

	CHECK_OK(pthread_barrier_init(&meet, NULL, AT_ONCE));
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		printf("no memory may be locked here\n");
		return 77;
	}
	before = resident_mb();
	for (int i = 0; i < 5; i++)
		some_threads();
	/* The stacks, and as much again for whatever threads need beside them. */
	CHECK(resident_mb() <= before + 2 * AT_ONCE * STACK / MB + 8);
	passed("all memory to come is locked, and then threads are made");

	CHECK_SYS(munlockall());
	for (int i = 0; i < 5; i++)
		some_threads();
	before = resident_mb();
	CHECK_SYS(mlockall(MCL_CURRENT));
	CHECK(resident_mb() <= before + 2 * AT_ONCE * STACK / MB + 8);
	some_threads();
	passed("threads are made, and then all memory that there is is locked");
	CHECK_SYS(munlockall());
	some_threads();
	passed("and unlocked again");
	return 0;
}
