/*
 * scale.c: what one operation costs among N threads, or N locks: one row a run.
 *
 * Usage: scale ROW N.  Prints `ROW N NAME VALUE UNIT` lines; where a limit ends it, `ROW N ! WHY` and exit status 0.
 *
 *	threads		make and memory of N threads that park in one condition variable; turn: waking them, a ring
 *			of turns and joining them, for each turn
 *	sleepers	processor time of a sleep of 1 ms, N threads, each at least twice
 *	locks		lock and unlock of N mutexes in turn, signal of N condition variables without a waiter
 *
 * Must never: assert a time; leave a thread behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 64 << 10, TURNS = 200000, SLEEPS = 20000 };

static const char *row;
static long n;
static pthread_t *threads;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t parked_cond = PTHREAD_COND_INITIALIZER, go_cond = PTHREAD_COND_INITIALIZER;
static long parked, turns, sleeps;
static bool go;
static sem_t *sems;

static double clock_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

static void report(const char *name, double value, const char *unit)
{
	printf("%s %ld %s %.0f %s\n", row, n, name, value, unit);
	fflush(stdout);
}

/* The process goes at once: threads may be parked for good. */
static void ended(const char *what, long at, int err)
{
	printf("%s %ld ! %s: %s (after %ld of %ld)\n", row, n, what, strerror(err), at, n);
	fflush(stdout);
	_exit(0);
}

/* Bytes of memory, page tables included. */
static double memory(void)
{
	char line[256];
	long kb = 0, v;
	FILE *f = fopen("/proc/self/status", "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &v) == 1 || sscanf(line, "VmPTE: %ld", &v) == 1)
			kb += v;
	fclose(f);
	return (double)kb * 1024;
}

/* Until wake(); the last that comes tells make(). */
static void park(void)
{
	pthread_mutex_lock(&mu);
	if (++parked == n)
		pthread_cond_signal(&parked_cond);
	while (!go)
		pthread_cond_wait(&go_cond, &mu);
	pthread_mutex_unlock(&mu);
}

/* Parks, then takes turns round a ring of semaphores. */
static void *parker(void *arg)
{
	long i = (long)(intptr_t)arg;

	park();
	for (long t = i; t < turns; t += n) {
		while (sem_wait(&sems[i]))
			;
		sem_post(&sems[(i + 1) % n]);
	}
	return NULL;
}

static void *sleeper(void *arg)
{
	park();
	for (long k = 0; k < sleeps; k++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return arg;
}

static void *room(size_t size)
{
	void *p = calloc((size_t)n, size);

	if (!p)
		ended("memory for the table", 0, ENOMEM);
	return p;
}

static void make(void *(*fn)(void *))
{
	pthread_attr_t a;

	threads = room(sizeof(*threads));
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : STACK);
	for (long i = 0; i < n; i++) {
		int err = pthread_create(&threads[i], &a, fn, (void *)(intptr_t)i);

		if (err)
			ended("pthread_create", i, err);
	}
	pthread_attr_destroy(&a);
	pthread_mutex_lock(&mu);
	while (parked < n)
		pthread_cond_wait(&parked_cond, &mu);
	pthread_mutex_unlock(&mu);
}

static void wake(void)
{
	pthread_mutex_lock(&mu);
	go = true;
	pthread_cond_broadcast(&go_cond);
	pthread_mutex_unlock(&mu);
}

static void join(void)
{
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void row_threads(void)
{
	double before, start;

	sems = room(sizeof(*sems));
	for (long i = 0; i < n; i++)
		sem_init(&sems[i], 0, 0);
	turns = n > TURNS ? n : TURNS / n * n;
	before = memory();
	start = now();
	make(parker);
	report("make", (now() - start) / (double)n, "ns");
	report("memory", (memory() - before) / (double)n, "bytes");
	start = now();
	wake();
	sem_post(&sems[0]);
	join();
	report("turn", (now() - start) / (double)turns, "ns");
}

static void row_sleepers(void)
{
	double cpu, start;

	sleeps = n * 2 > SLEEPS ? 2 : SLEEPS / n;
	make(sleeper);
	cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	start = now();
	wake();
	join();
	report("sleep-cpu", (clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)(n * sleeps), "ns");
	report("round", (now() - start) / (double)sleeps, "ns");
}

static void row_locks(void)
{
	pthread_mutex_t *m = room(sizeof(*m));
	pthread_cond_t *c = room(sizeof(*c));
	long rounds = n > 1000000 ? 1 : 1000000 / n;
	double start;

	for (long i = 0; i < n; i++) {
		pthread_mutex_init(&m[i], NULL);
		pthread_cond_init(&c[i], NULL);
	}
	start = now();
	for (long r = 0; r < rounds; r++)
		for (long i = 0; i < n; i++) {
			pthread_mutex_lock(&m[i]);
			pthread_mutex_unlock(&m[i]);
		}
	report("lock", (now() - start) / (double)(rounds * n), "ns");
	start = now();
	for (long r = 0; r < rounds; r++)
		for (long i = 0; i < n; i++)
			pthread_cond_signal(&c[i]);
	report("signal", (now() - start) / (double)(rounds * n), "ns");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} rows[] = { { "threads", row_threads }, { "sleepers", row_sleepers }, { "locks", row_locks } };

	if (argc == 3 && (n = atol(argv[2])) > 0)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (!strcmp(rows[i].name, row = argv[1])) {
				rows[i].run();
				return 0;
			}
	fprintf(stderr, "usage: scale threads|sleepers|locks N\n");
	return 2;
}
