/*
 * CPU clocks: a thread's own clock (CLOCK_THREAD_CPUTIME_ID and pthread_getcpuclockid) never runs
 * backwards over any switch, advances while it computes, and hardly while others do; the process's
 * clock holds the sum.
 */
#include "check.h"

static pthread_barrier_t bar;

static long compute(int n)
{
	volatile long x = 1;

	for (int i = 0; i < n * 1000; i++)
		x = x * 3 + 1;
	return x;
}

static void *lazy(void *arg)
{
	long long began = now_ns(CLOCK_THREAD_CPUTIME_ID), last = began, now;

	pthread_barrier_wait(&bar);
	for (int i = 0; i < 50; i++) {
		CHECK_SYS(usleep(1000));
		now = now_ns(CLOCK_THREAD_CPUTIME_ID);
		CHECK(now >= last);
		last = now;
	}
	return (void *)(long)(last - began);
}

static void *busy(void *arg)
{
	clockid_t mine;
	long long began, last, now, other;

	CHECK_OK(pthread_getcpuclockid(pthread_self(), &mine));
	began = last = now_ns(CLOCK_THREAD_CPUTIME_ID);
	pthread_barrier_wait(&bar);
	do {
		compute(20);
		now = now_ns(CLOCK_THREAD_CPUTIME_ID);
		other = now_ns(mine);
		CHECK(now >= last);
		CHECK(other >= now);
		last = other;
		sched_yield();
	} while (last - began < 60 * 1000000LL);
	(void)arg;
	return (void *)(long)(last - began);
}

int main(void)
{
	long long process = now_ns(CLOCK_PROCESS_CPUTIME_ID), total = 0;
	pthread_t l, b[3];
	clockid_t clock;

	CHECK_OK(pthread_barrier_init(&bar, NULL, 5));
	l = spawn(lazy, NULL);
	for (int i = 0; i < 3; i++)
		b[i] = spawn(busy, NULL);
	CHECK_OK(pthread_getcpuclockid(b[0], &clock));
	CHECK(now_ns(clock) >= 0);
	pthread_barrier_wait(&bar);
	for (int i = 0; i < 3; i++)
		total += (long)join(b[i]);
	process = now_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
	CHECK(process >= total);
	passed("three busy threads, each with 60 ms of its own, and the process has the sum");
	/* 50 short wake-ups: far from what each busy thread used beside it. */
	CHECK((long)join(l) < total / 3);
	passed("a sleeper's clock hardly moved");
	return 0;
}
