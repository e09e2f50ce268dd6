/*
 * Threads with more stack sizes and guards than are kept apart, one after the other: the process has
 * never more mapped than their stacks.
 */
#include "check.h"

enum { SIZES = 40, GUARDS = 3, THREADS = 3000, KB = 1024 };

static void *nothing(void *arg)
{
	return arg;
}

static void make(int i)
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)(64 + 4 * (i % SIZES)) * KB));
	CHECK_OK(pthread_attr_setguardsize(&attr, (size_t)(1 + i % GUARDS) * 4 * KB));
	CHECK_OK(pthread_create(&t, &attr, nothing, NULL));
	CHECK_OK(pthread_attr_destroy(&attr));
	join(t);
}

/* What the process has mapped, in MB. */
static long mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages;

	CHECK(f);
	CHECK_EQ(fscanf(f, "%ld", &pages), 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / KB) / KB;
}

int main(void)
{
	long before;

	for (int i = 0; i < SIZES * GUARDS; i++)
		make(i);
	before = mapped();
	for (int i = 0; i < THREADS; i++)
		make(i);
	/* Less than a stack of 256 KB for each thread, should all of them be kept for threads to come. */
	CHECK((mapped() - before) * KB < THREADS * 256);
	passed("no more is mapped than the stacks of these threads");
	return 0;
}
