/*
 * sleep.c: what sleeping costs in processor time, how late sleepers wake when others spin, and how
 * evenly those that spin share.
 *
 * The spinners make no call at all: only a scheduler that can take the processor away from them
 * lets the sleepers run on time (or ever).
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

/* The first `spinners` bodies spin until the others, which sleep, are done. */
struct spin {
	const char *name;
	long spinners, sleepers, samples; /* samples: naps of each sleeper */
	uint64_t nap;			  /* ns */
	atomic_long asleep;		  /* sleepers that are not done */
	uint64_t *loops;		  /* of each spinner */
	uint64_t *late;			  /* of each nap, ns */
};

static uint64_t spinner(struct spin *s)
{
	uint64_t loops = 0;

	while (atomic_load_explicit(&s->asleep, memory_order_relaxed))
		loops++;
	return loops;
}

static void sleeper(uint64_t *late, struct spin *s)
{
	const struct timespec nap = {(time_t)(s->nap / 1000000000u), (long)(s->nap % 1000000000u)};

	for (long i = 0; i < s->samples; i++) {
		uint64_t start = now_ns();

		if (nanosleep(&nap, NULL))
			die("nanosleep", errno);
		late[i] = now_ns() - start - s->nap;
	}
	atomic_fetch_sub(&s->asleep, 1);
}

static void spin_body(long i, void *arg)
{
	struct spin *s = arg;

	if (i < s->spinners)
		s->loops[i] = spinner(s);
	else
		sleeper(&s->late[(i - s->spinners) * s->samples], s);
}

/*
 * What those with least and with most got, in percent of an even share; and what all got together.
 */
static void report_shares(const struct spin *s, double wall)
{
	uint64_t least = UINT64_MAX, most = 0;
	double total = 0;

	for (long i = 0; i < s->spinners; i++) {
		least = s->loops[i] < least ? s->loops[i] : least;
		most = s->loops[i] > most ? s->loops[i] : most;
		total += (double)s->loops[i];
	}
	report(s->name, "-least", 100.0 * (double)least * (double)s->spinners / total, "%");
	report(s->name, "-most", 100.0 * (double)most * (double)s->spinners / total, "%max");
	/* Preempting them must not be paid for by them. */
	report(s->name, "-spin", total * 1e3 / wall, "loops/us");
}

static void spin_run(const struct bench *b, struct spin *s)
{
	double wall;

	s->name = b->name;
	s->asleep = s->sleepers;
	s->loops = calloc((size_t)s->spinners, sizeof(*s->loops));
	s->late = calloc((size_t)(s->sleepers * s->samples), sizeof(*s->late));
	if (!s->loops || !s->late)
		die("calloc", ENOMEM);
	wall = team_run(s->spinners + s->sleepers, spin_body, s);
	if (s->samples > 1)
		print_quantiles(b, s->late, s->sleepers * s->samples);
	report_shares(s, wall);
	free(s->loops);
	free(s->late);
}

/* One sleeper asks for a millisecond; several for a tenth: something always wants to run. */
void bench_spinners(const struct bench *b)
{
	spin_run(b, &(struct spin){.spinners = b->a, .sleepers = b->b, .samples = 500,
				   .nap = b->b == 1 ? MS : MS / 10});
}

/* Nobody else wants to run: two spinners a processor, b->b ms long. */
void bench_fair(const struct bench *b)
{
	long n = b->a ? b->a : 2 * sysconf(_SC_NPROCESSORS_ONLN);

	spin_run(b, &(struct spin){.spinners = n, .sleepers = 1, .samples = 1,
				   .nap = (uint64_t)b->b * MS});
}
