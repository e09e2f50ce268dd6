/*
 * park.c: many threads asleep: what they cost while they sleep, and how fast all of them wake.
 *
 * A thread counts itself and waits under one mutex, so when the count is full and the mutex is
 * ours, every thread is inside pthread_cond_wait: the figures are of parked threads, not of
 * starting ones.
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct lot {
	pthread_mutex_t mu;
	pthread_cond_t full, leave;
	long parked, woken, want;
	int open;
};

static void *parker(void *arg)
{
	struct lot *lot = arg;

	must(pthread_mutex_lock(&lot->mu));
	if (++lot->parked == lot->want)
		must(pthread_cond_signal(&lot->full));
	while (!lot->open)
		must(pthread_cond_wait(&lot->leave, &lot->mu));
	lot->woken++;
	must(pthread_mutex_unlock(&lot->mu));
	return NULL;
}

static pthread_t *fill(struct lot *lot)
{
	pthread_t *ids = calloc((size_t)lot->want, sizeof(*ids));

	if (!ids)
		die("calloc", ENOMEM);
	for (long i = 0; i < lot->want; i++)
		must(pthread_create(&ids[i], NULL, parker, lot));
	must(pthread_mutex_lock(&lot->mu));
	while (lot->parked < lot->want)
		must(pthread_cond_wait(&lot->full, &lot->mu));
	must(pthread_mutex_unlock(&lot->mu));
	return ids;
}

static void empty(struct lot *lot, pthread_t *ids)
{
	must(pthread_mutex_lock(&lot->mu));
	lot->open = 1;
	must(pthread_cond_broadcast(&lot->leave));
	must(pthread_mutex_unlock(&lot->mu));
	for (long i = 0; i < lot->want; i++)
		must(pthread_join(ids[i], NULL));
	if (lot->woken != lot->want)
		die("the number of threads woken", 0);
	free(ids);
}

#define LOT(count)                                                                                 \
	{                                                                                          \
		.mu = PTHREAD_MUTEX_INITIALIZER, .full = PTHREAD_COND_INITIALIZER,                 \
		.leave = PTHREAD_COND_INITIALIZER, .want = (count)                                 \
	}

void bench_park(const struct bench *b)
{
	struct lot lot = LOT(b->a);
	long rss = resident_kb();
	uint64_t start = now_ns(), full, done;
	pthread_t *ids = fill(&lot);

	full = now_ns();
	report(b->name, "-live", (double)b->a, "threads");
	report(b->name, "-kernel", (double)kernel_threads(), "kthreads");
	report(b->name, "-rss", (double)(resident_kb() - rss) * 1024 / (double)b->a, "bytes");
	start = full - start;
	full = now_ns();
	empty(&lot, ids);
	done = now_ns();
	report(b->name, "-create", (double)start / (double)b->a, "ns");
	report(b->name, "-wake", (double)(done - full) / (double)b->a, "ns");
	report(b->name, "-total", (double)(start + done - full) / 1e6, "ms");
}

/* Nothing to do: nobody should wake. Our own sleep is one switch, and counts for everybody. */
void bench_idle(const struct bench *b)
{
	struct lot lot = LOT(b->a);
	pthread_t *ids = fill(&lot);
	struct timespec settle = {.tv_nsec = 200000000}, watch = {.tv_sec = 1};
	long before;
	uint64_t cpu;

	nanosleep(&settle, NULL);
	before = context_switches(1) + context_switches(0);
	cpu = cpu_ns();
	nanosleep(&watch, NULL);
	cpu = cpu_ns() - cpu;
	report(b->name, "-switches", (double)(context_switches(1) + context_switches(0) - before),
	       "/s");
	report(b->name, "-cpu", (double)cpu / 1e3, "us/s");
	empty(&lot, ids);
}
