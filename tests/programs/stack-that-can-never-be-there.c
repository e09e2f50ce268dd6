/*
 * A thread with a stack far beyond all memory is refused with EAGAIN (unless the system promises any
 * amount of memory), and others can be made afterwards.
 */
#include "check.h"
#include <limits.h>

static void *ends(void *arg)
{
	return arg;
}

static int promises(void)
{
	FILE *f = fopen("/proc/sys/vm/overcommit_memory", "r");
	int how = -1;

	CHECK(f && fscanf(f, "%d", &how) == 1);
	fclose(f);
	return how;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	join(spawn(ends, NULL));
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)1 << 46));
	for (int i = 0; i < 3 && promises() != 1; i++)
		CHECK_EQ(pthread_create(&t, &attr, ends, NULL), EAGAIN);
	passed("64 TB are refused");
	join(spawn(ends, NULL));
	CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)1 << 26));
	CHECK_OK(pthread_create(&t, &attr, ends, NULL));
	join(t);
	passed("64 MB are not");
	return 0;
}
