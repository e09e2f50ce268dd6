/*
 * bench.c: the table of benchmarks, the driver and what families share.
 *
 * Usage: weft-bench [-t MS] [-n COUNT] NAME... ; weft-bench --list.
 * -t is the stretch one measurement aims at; -n replaces a row's thread count.
 * Lines printed: `NAME VALUE UNIT`. Exit status 1 with a message on stderr when anything is wrong.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double target_ns = 200e6;

static const struct bench table[] = {
	{"create", bench_create, 0, 0, "create and join, one after the other"},
	{"createmany", bench_createmany, 10000, 0, "create 10,000, then join them, each"},
	{"forkjoin", bench_forkjoin, 22, 0, "fib(22) with a thread per call, each thread"},
	{"cond", bench_cond, 0, 0, "mutex and condvar ping-pong, round trip"},
	{"sem", bench_sem, 0, 0, "semaphore ping-pong, round trip"},
	{"pipe", bench_pipe, 0, 0, "ping-pong over two pipes, round trip"},
	{"socketpair", bench_socketpair, 0, 0, "ping-pong over a stream socketpair, round trip"},
	{"eventfd", bench_eventfd, 0, 0, "ping-pong over two eventfds, round trip"},
	{"lock", bench_lock, 0, 0, "uncontended lock and unlock"},
	{"mutex2", bench_mutex, 2, 0, "one mutex, 2 threads, each lock and unlock"},
	{"mutex8", bench_mutex, 8, 0, "one mutex, 8 threads"},
	{"mutex64", bench_mutex, 64, 0, "one mutex, 64 threads"},
	{"mutex1000", bench_mutex, 1000, 0, "one mutex, 1000 threads"},
	{"mutexwork20", bench_mutexwork, 20, 2000, "8 threads, 20 loops inside, 2000 outside"},
	{"mutexwork200", bench_mutexwork, 200, 2000, "8 threads, 200 loops inside, 2000 outside"},
	{"mutexfair", bench_mutexfair, 8, 0, "8 threads, percent of min/max acquisitions"},
	{"rwlock", bench_rwlock, 8, 1, "rwlock, 8 threads, 1 % writes, each"},
	{"yield2", bench_yield, 2, 0, "sched_yield among 2 threads"},
	{"yield100", bench_yield, 100, 0, "sched_yield among 100 threads"},
	{"queue", bench_queue, 100, 100, "bounded queue, 100 producers, 100 consumers, per item"},
	{"barrier", bench_barrier, 1000, 0, "barrier of 1000, per arrival"},
	{"sleeps", bench_sleeps, 100, 100, "10,000 sleeps of 1 ms, cpu time per sleep"},
	{"spinners", bench_spinners, 4, 1, "lateness of a 1 ms sleeper among 4 spinners"},
	{"spinners8", bench_spinners, 4, 8, "lateness of 8 sleepers of 100 us among 4 spinners"},
	{"fair", bench_fair, 0, 3000, "shares of two spinners a processor, nobody else"},
	{"blocked", bench_blocked, 200, 0, "until another thread runs when one blocks in the kernel"},
	{"signalled", bench_signalled, 150, 2, "until a thread runs whose waker computes on"},
	{"park", bench_park, 20000, 0, "20,000 threads parked in a condvar and woken"},
	{"idle", bench_idle, 100, 0, "context switches a second of 100 parked threads"},
	{"compute", bench_compute, 4, 0, "4 threads that never block, per unit of work"},
	{"startup", bench_startup, 0, 0, "start of a program that makes no thread"},
	{"echo100x1", bench_echo, 100, 1, "echo, 100 connections, one request outstanding"},
	{"echo100", bench_echo, 100, 100, "echo, 100 connections, all outstanding"},
	{"echo1000", bench_echo, 1000, 1000, "echo, 1000 connections, all outstanding"},
	{"echo8000", bench_echo, 8000, 8000, "echo, 8000 connections, all outstanding"},
	{"echo8000x64", bench_echo, 8000, 64, "echo, 8000 connections, 64 outstanding"},
};
#define NTABLE (sizeof(table) / sizeof(table[0]))

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void report(const char *name, const char *suffix, double value, const char *unit)
{
	printf("%s%s %.*f %s\n", name, suffix, value < 100 ? 1 : 0, value, unit);
	fflush(stdout);
}

void die(const char *what, int err)
{
	fprintf(stderr, "weft-bench: %s: %s\n", what, err ? strerror(err) : "wrong result");
	/* _exit: other threads may be blocked for good in whatever went wrong. */
	_exit(1);
}

void measure(const struct bench *b, double (*op)(long n, const struct bench *b), long first)
{
	long n = first;
	double ns;

	for (;;) {
		ns = op(n, b);
		if (ns >= target_ns)
			break;
		double want = ns > 0 ? 1.2 * (double)n * target_ns / ns : 100.0 * (double)n;

		/* Growth is bounded: a first call of few operations says little about many. */
		if (want > 100.0 * (double)n)
			want = 100.0 * (double)n;
		n = want > (double)n ? (long)want : n + 1;
	}
	report(b->name, "", ns / (double)n, "ns");
}

struct team {
	pthread_mutex_t mu;
	pthread_cond_t arrived_cond, go_cond;
	long arrived, threads;
	int go;
	uint64_t last; /* when the last body ended; under mu */
	void (*body)(long i, void *arg);
	void *arg;
};

struct member {
	struct team *team;
	long i;
};

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct team *t = m->team;

	must(pthread_mutex_lock(&t->mu));
	if (++t->arrived == t->threads)
		must(pthread_cond_signal(&t->arrived_cond));
	while (!t->go)
		must(pthread_cond_wait(&t->go_cond, &t->mu));
	must(pthread_mutex_unlock(&t->mu));

	t->body(m->i, t->arg);

	uint64_t end = now_ns();

	must(pthread_mutex_lock(&t->mu));
	if (end > t->last)
		t->last = end;
	must(pthread_mutex_unlock(&t->mu));
	return NULL;
}

double team_run(long threads, void (*body)(long i, void *arg), void *arg)
{
	struct team t = {
		.mu = PTHREAD_MUTEX_INITIALIZER,
		.arrived_cond = PTHREAD_COND_INITIALIZER,
		.go_cond = PTHREAD_COND_INITIALIZER,
		.threads = threads,
		.body = body,
		.arg = arg,
	};
	struct member *members = calloc((size_t)threads, sizeof(*members));
	pthread_t *ids = calloc((size_t)threads, sizeof(*ids));
	uint64_t start;

	if (!members || !ids)
		die("calloc", ENOMEM);
	for (long i = 0; i < threads; i++) {
		members[i] = (struct member){&t, i};
		must(pthread_create(&ids[i], NULL, member_main, &members[i]));
	}
	must(pthread_mutex_lock(&t.mu));
	while (t.arrived < threads)
		must(pthread_cond_wait(&t.arrived_cond, &t.mu));
	start = now_ns();
	t.go = 1;
	must(pthread_cond_broadcast(&t.go_cond));
	must(pthread_mutex_unlock(&t.mu));
	for (long i = 0; i < threads; i++)
		must(pthread_join(ids[i], NULL));
	free(members);
	free(ids);
	return (double)(t.last - start);
}

long share(long n, long parts, long i)
{
	return n / parts + (i < n % parts);
}

/* Calls each(dir entry) for every kernel thread of this process and sums what it returns. */
static long sum_tasks(long (*each)(const char *tid))
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	long sum = 0;

	if (!d)
		die("opendir /proc/self/task", errno);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			sum += each(e->d_name);
	closedir(d);
	return sum;
}

static long one(const char *tid)
{
	(void)tid;
	return 1;
}

long kernel_threads(void)
{
	return sum_tasks(one);
}

/* The number after `key` in a /proc status file; 0 when the thread has gone meanwhile. */
static long status_number(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	char line[256];
	long value = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtol(line + strlen(key), NULL, 10);
	fclose(f);
	return value;
}

long resident_kb(void)
{
	return status_number("/proc/self/status", "VmRSS:");
}

static long task_voluntary(const char *tid)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	return status_number(path, "voluntary_ctxt_switches:");
}

static long task_involuntary(const char *tid)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	return status_number(path, "nonvoluntary_ctxt_switches:");
}

long context_switches(int voluntary)
{
	return sum_tasks(voluntary ? task_voluntary : task_involuntary);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void print_quantiles(const struct bench *b, uint64_t *ns, long n)
{
	if (n <= 0)
		die("no sample", 0);
	qsort(ns, (size_t)n, sizeof(*ns), by_value);
	report(b->name, "-p50", (double)ns[n / 2], "ns");
	report(b->name, "-p99", (double)ns[n - 1 - n / 100], "ns");
}

/* A row of the table; or echoN, or echoNxM: N connections, M requests outstanding. */
static bool lookup(char *name, struct bench *row)
{
	char *end;

	for (size_t i = 0; i < NTABLE; i++)
		if (!strcmp(table[i].name, name)) {
			*row = table[i];
			return true;
		}
	if (strncmp(name, "echo", 4))
		return false;
	*row = (struct bench){ .name = name, .run = bench_echo };
	row->a = row->b = strtol(name + 4, &end, 10);
	if (*end == 'x')
		row->b = strtol(end + 1, &end, 10);
	return row->a > 0 && row->b > 0 && !*end;
}

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: weft-bench [-t MS] [-n COUNT] NAME...   |   weft-bench --list\n");
	return status;
}

int main(int argc, char **argv)
{
	long count = 0;
	int i = 1;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (size_t k = 0; k < NTABLE; k++)
			printf("%-14s%s\n", table[k].name, table[k].help);
		return 0;
	}
	/* What the echo and startup benchmarks start; no use by hand. */
	if (argc > 1 && !strcmp(argv[1], "--echo-client"))
		return echo_client(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "--nothing"))
		return 0;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "-t"))
			target_ns = atof(argv[i + 1]) * 1e6;
		else if (!strcmp(argv[i], "-n"))
			count = atol(argv[i + 1]);
		else
			return usage(stderr, 2);
	}
	if (i >= argc || target_ns <= 0 || count < 0)
		return usage(stderr, 2);
	for (; i < argc; i++) {
		struct bench row;

		if (!lookup(argv[i], &row)) {
			fprintf(stderr, "weft-bench: %s: no such benchmark (see --list)\n", argv[i]);
			return 2;
		}
		if (count)
			row.a = count;
		row.run(&row);
	}
	return 0;
}
