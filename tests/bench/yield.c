/* yield.c: sched_yield among a few and among many threads: the bare switch. */
#include "bench.h"

#include <errno.h>
#include <sched.h>

struct yielders {
	long n, threads;
};

static void yield_body(long i, void *arg)
{
	struct yielders *y = arg;

	for (long k = share(y->n, y->threads, i); k > 0; k--)
		must_sys(sched_yield());
}

static double yields(long n, const struct bench *b)
{
	return team_run(b->a, yield_body, &(struct yielders){n, b->a});
}

void bench_yield(const struct bench *b)
{
	measure(b, yields, 100 * b->a);
}
