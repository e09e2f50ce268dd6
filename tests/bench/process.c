/* process.c: what must not get worse: programs that never block, and programs without threads. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct work {
	long n, threads;
	uint64_t sum; /* relaxed adds */
};

/* A unit is 1,000 steps of a generator whose every step needs the one before. */
static void compute_body(long i, void *arg)
{
	struct work *w = arg;
	uint64_t x = 88172645463325252u + (uint64_t)i;

	for (long k = share(w->n, w->threads, i) * 1000; k > 0; k--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	__atomic_fetch_add(&w->sum, x, __ATOMIC_RELAXED);
}

static double units(long n, const struct bench *b)
{
	struct work w = {n, b->a, 0};
	double ns = team_run(b->a, compute_body, &w);

	if (!w.sum)
		die("the generators' sum", 0);
	return ns;
}

void bench_compute(const struct bench *b)
{
	measure(b, units, 1000);
}

/* The child inherits the environment, and with it whatever is preloaded here. */
static double starts(long n, const struct bench *b)
{
	static char *const argv[] = {"weft-bench", "--nothing", NULL};
	uint64_t start = now_ns();

	(void)b;
	for (long i = 0; i < n; i++) {
		pid_t pid;
		int status;

		must(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
		must_sys(waitpid(pid, &status, 0));
		if (status)
			die("the exit status of a program that does nothing", 0);
	}
	return (double)(now_ns() - start);
}

void bench_startup(const struct bench *b)
{
	measure(b, starts, 20);
}
