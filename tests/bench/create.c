/*
 * create.c: the price of a thread's life: serially, ten thousand at once, and as fork/join.
 *
 * Default attributes throughout: a program that has not been modified asks for no small stack.
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static void *identity(void *arg)
{
	return arg;
}

static double create_join(long n, const struct bench *b)
{
	uint64_t start = now_ns();

	(void)b;
	for (long i = 0; i < n; i++) {
		pthread_t id;
		void *value;

		must(pthread_create(&id, NULL, identity, (void *)i));
		must(pthread_join(id, &value));
		if (value != (void *)i)
			die("a thread's exit value", 0);
	}
	return (double)(now_ns() - start);
}

void bench_create(const struct bench *b)
{
	measure(b, create_join, 100);
}

static double create_then_join(long n, const struct bench *b)
{
	pthread_t *ids = calloc((size_t)b->a, sizeof(*ids));
	uint64_t start;

	if (!ids)
		die("calloc", ENOMEM);
	start = now_ns();
	for (long round = 0; round < n; round++) {
		for (long i = 0; i < b->a; i++)
			must(pthread_create(&ids[i], NULL, identity, (void *)i));
		for (long i = 0; i < b->a; i++) {
			void *value;

			must(pthread_join(ids[i], &value));
			if (value != (void *)i)
				die("a thread's exit value", 0);
		}
	}
	free(ids);
	return (double)(now_ns() - start) / (double)b->a;
}

/* One round is what a program does that makes many threads once: stacks are cold. */
void bench_createmany(const struct bench *b)
{
	report(b->name, "", create_then_join(1, b), "ns");
}

static void *fib(void *arg)
{
	long n = (long)arg;
	pthread_t left;
	void *a, *b;

	if (n < 2)
		return arg;
	must(pthread_create(&left, NULL, fib, (void *)(n - 1)));
	b = fib((void *)(n - 2));
	must(pthread_join(left, &a));
	return (void *)((long)a + (long)b);
}

void bench_forkjoin(const struct bench *b)
{
	long want = 0, next = 1, threads = 0;
	uint64_t start;

	/* fib(n) makes fib(n+1) - 1 threads: one for each call with n >= 2. */
	for (long i = 0; i < b->a; i++) {
		long sum = want + next;

		want = next;
		next = sum;
	}
	threads = next - 1;
	start = now_ns();
	if ((long)fib((void *)b->a) != want)
		die("fib", 0);
	report(b->name, "", (double)(now_ns() - start) / (double)threads, "ns");
}
