/*
 * The value of a thread, whichever way it ends, is what join hands back: returned from the start
 * function, given to pthread_exit at the top, or given to pthread_exit deep in the stack.
 */
#include "check.h"

static void *by_return(void *arg)
{
	return (char *)arg + 1;
}

static void *by_exit(void *arg)
{
	pthread_exit((char *)arg + 2);
}

static void deep(void *arg, int depth)
{
	volatile char pad[64];

	pad[0] = (char)depth;
	if (depth == 0)
		pthread_exit((char *)arg + 3);
	if (depth > 0)
		deep(arg, depth - 1);
	pad[1] = pad[0]; /* keeps the call from becoming a jump */
}

static void *by_deep_exit(void *arg)
{
	deep(arg, 100);
	return NULL;
}

int main(void)
{
	char base[8];

	CHECK(join(spawn(by_return, base)) == base + 1);
	passed("returned value");
	CHECK(join(spawn(by_exit, base)) == base + 2);
	passed("pthread_exit value");
	CHECK(join(spawn(by_deep_exit, base)) == base + 3);
	passed("pthread_exit a hundred frames deep");

	pthread_t t = spawn(by_return, base);

	CHECK_OK(pthread_join(t, NULL));
	passed("join without asking for the value");

	CHECK(join(spawn(by_return, NULL)) == (void *)1);
	CHECK(join(spawn(by_return, (void *)-2L)) == PTHREAD_CANCELED);
	passed("values that look special are still values");
	return 0;
}
