/*
 * sleep.c: what sleeping costs in processor time, and how late a sleeper wakes when others spin.
 *
 * The spinners make no call at all: only a scheduler that can take the processor away from them lets
 * the sleeper run on time (or ever).
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define MS 1000000L

static void sleep_ms(void)
{
	if (nanosleep(&(struct timespec){.tv_nsec = MS}, NULL))
		die("nanosleep", errno);
}

static void sleeps_body(long i, void *arg)
{
	const struct bench *b = arg;

	(void)i;
	for (long k = 0; k < b->b; k++) {
		uint64_t start = now_ns();

		sleep_ms();
		if (now_ns() - start < MS)
			die("a sleep shorter than asked for", 0);
	}
}

/* Creation and join are in the processor time too, one hundredth of each per sleep. */
void bench_sleeps(const struct bench *b)
{
	uint64_t cpu;
	double wall;

	/* Once unmeasured, so that stacks and threads are warm in every implementation. */
	team_run(b->a, sleeps_body, (void *)b);
	cpu = cpu_ns();
	wall = team_run(b->a, sleeps_body, (void *)b);
	cpu = cpu_ns() - cpu;
	report(b->name, "", (double)cpu / (double)(b->a * b->b), "ns");
	report(b->name, "-wall", wall / (double)b->b, "ns");
}

struct spin {
	atomic_int stop;
	atomic_long total;
	const struct bench *row;
	uint64_t *late;
};

static void *spinner_main(void *arg)
{
	struct spin *s = arg;
	long loops = 0;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed))
		loops++;
	atomic_fetch_add(&s->total, loops);
	return NULL;
}

static void *sleeper_main(void *arg)
{
	struct spin *s = arg;

	for (long i = 0; i < s->row->b; i++) {
		uint64_t start = now_ns();

		sleep_ms();
		s->late[i] = now_ns() - start - MS;
	}
	atomic_store(&s->stop, 1);
	return NULL;
}

void bench_spinners(const struct bench *b)
{
	struct spin s = {.row = b};
	pthread_t *ids = calloc((size_t)b->a + 1, sizeof(*ids));
	uint64_t start = now_ns();

	s.late = calloc((size_t)b->b, sizeof(*s.late));
	if (!ids || !s.late)
		die("calloc", ENOMEM);
	for (long i = 0; i < b->a; i++)
		must(pthread_create(&ids[i], NULL, spinner_main, &s));
	must(pthread_create(&ids[b->a], NULL, sleeper_main, &s));
	for (long i = 0; i <= b->a; i++)
		must(pthread_join(ids[i], NULL));
	print_quantiles(b, s.late, b->b);
	/* How much the spinners got meanwhile: preempting them must not be paid for by them. */
	report(b->name, "-spin", (double)s.total * 1e3 / (double)(now_ns() - start), "loops/us");
	free(ids);
	free(s.late);
}
