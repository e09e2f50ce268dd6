/*
 * Unnamed semaphores: values, trywait (EAGAIN), overflow, timed waits on both clocks, a pool of 5
 * places among 100 threads, and a semaphore freed by the waiter as soon as it was let through.
 */
#include "check.h"
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t pool, end;
static atomic_int inside, most;

static void wait_on(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

static void *user(void *arg)
{
	for (int i = 0; i < 100; i++) {
		wait_on(&pool);

		int now = atomic_fetch_add(&inside, 1) + 1, seen = most;

		while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
			;
		CHECK(now <= 5);
		sched_yield();
		atomic_fetch_sub(&inside, 1);
		CHECK_SYS(sem_post(&pool));
	}
	return arg;
}

static void values(void)
{
	sem_t s;
	int v;

	CHECK_ERR(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
	CHECK_SYS(sem_init(&s, 0, 2));
	CHECK_SYS(sem_wait(&s));
	CHECK_SYS(sem_trywait(&s));
	CHECK_ERR(sem_trywait(&s), EAGAIN);
	CHECK_SYS(sem_getvalue(&s, &v));
	CHECK_EQ(v, 0);
	CHECK_SYS(sem_destroy(&s));
	CHECK_SYS(sem_init(&s, 0, SEM_VALUE_MAX));
	CHECK_ERR(sem_post(&s), EOVERFLOW);
	CHECK_SYS(sem_getvalue(&s, &v));
	CHECK_EQ(v, SEM_VALUE_MAX);
	CHECK_SYS(sem_destroy(&s));
	passed("values");
}

static void timed(void)
{
	long long began = now_ns(CLOCK_MONOTONIC);
	struct timespec ts = after_ms(CLOCK_REALTIME, 40);
	sem_t s;

	CHECK_SYS(sem_init(&s, 0, 0));
	CHECK_ERR(sem_timedwait(&s, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, 40);
	CHECK_ERR(sem_clockwait(&s, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 75 * 1000000LL);
	ts.tv_nsec = 1000000000;
	CHECK_ERR(sem_timedwait(&s, &ts), EINVAL);
	ts.tv_nsec = 0;
	CHECK_ERR(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &ts), EINVAL);
	CHECK_SYS(sem_post(&s));
	ts.tv_sec = 0;
	CHECK_SYS(sem_timedwait(&s, &ts));
	CHECK_ERR(sem_timedwait(&s, &ts), ETIMEDOUT);
	CHECK_SYS(sem_destroy(&s));
	passed("time-outs");
}

static void *post_it(void *s)
{
	CHECK_SYS(sem_post(s));
	return NULL;
}

static void freed_at_once(void)
{
	for (int i = 0; i < 1000; i++) {
		sem_t *s = malloc(sizeof *s);
		pthread_t t;

		CHECK_SYS(sem_init(s, 0, 0));
		t = spawn(post_it, s);
		wait_on(s);
		CHECK_SYS(sem_destroy(s));
		memset(s, 0xa5, sizeof *s);
		free(s);
		join(t);
	}
	passed("1000 semaphores freed by their waiter");
}

int main(void)
{
	pthread_t t[100];

	values();
	timed();
	CHECK_SYS(sem_init(&pool, 0, 5));
	CHECK_SYS(sem_init(&end, 0, 0));
	for (int i = 0; i < 100; i++)
		t[i] = spawn(user, NULL);
	for (int i = 0; i < 100; i++)
		join(t[i]);
	CHECK(most >= 1 && most <= 5);
	passed("never more than 5 of 100 inside");
	freed_at_once();
	return 0;
}
