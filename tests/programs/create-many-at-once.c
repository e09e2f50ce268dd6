/*
 * 2,000 threads alive together, each created before any is joined, joined in an order unlike that
 * of creation; and a tree in which every thread creates and joins its two children.
 */
#include "check.h"
#include <stdint.h>

enum { THREADS = 2000 };

static void *square(void *arg)
{
	long n = (long)arg;

	sched_yield();
	return (void *)(n * n);
}

/* fib by threads: the tree is deep enough that parents wait in join while grandchildren start. */
static void *fib(void *arg)
{
	intptr_t n = (intptr_t)arg;

	if (n < 2)
		return (void *)n;

	pthread_t left = spawn(fib, (void *)(n - 1));
	pthread_t right = spawn(fib, (void *)(n - 2));
	intptr_t sum = (intptr_t)join(right);

	return (void *)(sum + (intptr_t)join(left));
}

int main(void)
{
	static pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(square, (void *)i);
	for (long i = 0; i < THREADS; i++) {
		long k = (i * 7 + 3) % THREADS; /* 7 and 2000 are coprime: each index once */

		CHECK_EQ((long)join(t[k]), k * k);
	}
	passed("2000 threads, joined out of order");

	CHECK_EQ((intptr_t)fib((void *)13), 233);
	passed("fib(13) with a thread per call");
	return 0;
}
