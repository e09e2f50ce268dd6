/*
 * mutex.c: locks: free, fought over, with work around them, and how fairly they are shared out.
 *
 * mutexwork is the row where collapsing a lock onto one processor costs something: much of the work
 * lies outside the lock, and only a second processor can do it meanwhile.
 */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static double lock_unlock(long n, const struct bench *b)
{
	pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	uint64_t start = now_ns();

	(void)b;
	for (long i = 0; i < n; i++) {
		must(pthread_mutex_lock(&mu));
		must(pthread_mutex_unlock(&mu));
	}
	return (double)(now_ns() - start);
}

static const struct bench *lone_row;

static void *lone_main(void *arg)
{
	measure(lone_row, lock_unlock, 100000);
	return arg;
}

/* In a second thread: libc takes short cuts while a process has only one. */
void bench_lock(const struct bench *b)
{
	pthread_t id;

	lone_row = b;
	must(pthread_create(&id, NULL, lone_main, NULL));
	must(pthread_join(id, NULL));
}

struct contest {
	pthread_mutex_t mu;
	pthread_rwlock_t rw;
	long counter; /* under mu or the write lock */
	long n, threads;
	const struct bench *row;
};

/* Work the compiler can neither drop nor fold; about a nanosecond a loop. */
static void spin_loops(long loops)
{
	for (long i = 0; i < loops; i++)
		__asm__ volatile("" : : : "memory");
}

static void mutex_body(long i, void *arg)
{
	struct contest *c = arg;

	for (long k = share(c->n, c->threads, i); k > 0; k--) {
		must(pthread_mutex_lock(&c->mu));
		c->counter++;
		must(pthread_mutex_unlock(&c->mu));
	}
}

static double mutex_contest(long n, const struct bench *b)
{
	struct contest c = {.mu = PTHREAD_MUTEX_INITIALIZER, .n = n, .threads = b->a};
	double ns = team_run(b->a, mutex_body, &c);

	if (c.counter != n)
		die("the counter under the mutex", 0);
	return ns;
}

void bench_mutex(const struct bench *b)
{
	measure(b, mutex_contest, 100 * b->a);
}

static void work_body(long i, void *arg)
{
	struct contest *c = arg;

	for (long k = share(c->n, c->threads, i); k > 0; k--) {
		must(pthread_mutex_lock(&c->mu));
		c->counter++;
		spin_loops(c->row->a);
		must(pthread_mutex_unlock(&c->mu));
		spin_loops(c->row->b);
	}
}

static double work_contest(long n, const struct bench *b)
{
	struct contest c = {.mu = PTHREAD_MUTEX_INITIALIZER, .n = n, .threads = 8, .row = b};
	double ns = team_run(c.threads, work_body, &c);

	if (c.counter != n)
		die("the counter under the mutex", 0);
	return ns;
}

void bench_mutexwork(const struct bench *b)
{
	measure(b, work_contest, 8000);
}

struct fair {
	pthread_mutex_t mu;
	atomic_int stop;
	long *counts;
};

static void fair_body(long i, void *arg)
{
	struct fair *f = arg;

	while (!atomic_load_explicit(&f->stop, memory_order_relaxed)) {
		must(pthread_mutex_lock(&f->mu));
		f->counts[i]++;
		must(pthread_mutex_unlock(&f->mu));
	}
}

static void *fair_clock(void *arg)
{
	struct fair *f = arg;

	nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
	atomic_store(&f->stop, 1);
	return NULL;
}

/* How often the least lucky thread got the lock, in percent of the luckiest, over half a second. */
void bench_mutexfair(const struct bench *b)
{
	struct fair f = {.mu = PTHREAD_MUTEX_INITIALIZER};
	long min, max;
	pthread_t id;

	f.counts = calloc((size_t)b->a, sizeof(*f.counts));
	if (!f.counts)
		die("calloc", 0);
	must(pthread_create(&id, NULL, fair_clock, &f));
	team_run(b->a, fair_body, &f);
	must(pthread_join(id, NULL));
	min = max = f.counts[0];
	for (long i = 1; i < b->a; i++) {
		min = f.counts[i] < min ? f.counts[i] : min;
		max = f.counts[i] > max ? f.counts[i] : max;
	}
	report(b->name, "", max ? 100.0 * (double)min / (double)max : 0, "%");
	free(f.counts);
}

static void rwlock_body(long i, void *arg)
{
	struct contest *c = arg;
	long seen = 0;

	for (long k = share(c->n, c->threads, i); k > 0; k--) {
		if (k % 100 == 0) {
			must(pthread_rwlock_wrlock(&c->rw));
			c->counter++;
		} else {
			must(pthread_rwlock_rdlock(&c->rw));
			if (c->counter < seen)
				die("a counter read under the read lock", 0);
			seen = c->counter;
		}
		must(pthread_rwlock_unlock(&c->rw));
	}
}

static double rwlock_contest(long n, const struct bench *b)
{
	struct contest c = {.rw = PTHREAD_RWLOCK_INITIALIZER, .n = n, .threads = b->a};
	double ns = team_run(b->a, rwlock_body, &c);
	long writes = 0;

	for (long i = 0; i < b->a; i++)
		writes += share(n, b->a, i) / 100;
	if (c.counter != writes)
		die("the counter under the write lock", 0);
	return ns;
}

void bench_rwlock(const struct bench *b)
{
	measure(b, rwlock_contest, 8000);
}
