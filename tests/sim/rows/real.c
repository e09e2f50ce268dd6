/*
 * real: one row on the real machine.  rowreal ROW CPUS [SCALE]
 *
 * A plain pthread program: it runs natively, or under weft with as many Ps as CPUs.  The process that started
 * it looks at its kernel threads from outside, in the sleeps before and after what is measured: this prints a
 * line when they begin.  It does not wait for an answer: a system call that lasts makes sysmon look more often
 * for a while.  Prints at the end: ns, ideal ns, wake-to-run p50 and p99 in ns.
 *
 * Must never: link or include anything of weft's.
 */
#define _GNU_SOURCE
#include "tests/sim/rows/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void rows_fail(const char *what)
{
	fprintf(stderr, "rowreal: %s\n", what);
	_exit(1);
}

static void must(int err)
{
	if (err)
		rows_fail(strerror(err));
}

uint64_t rows_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct timespec timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* ---- threads --------------------------------------------------------------------------------- */

struct thread {
	pthread_t id;
	void (*fn)(void *);
	void *arg;
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	t->fn(t->arg);
	return NULL;
}

struct thread *go(void (*fn)(void *), void *arg)
{
	struct thread *t = malloc(sizeof(*t));

	*t = (struct thread){ .fn = fn, .arg = arg };
	must(pthread_create(&t->id, NULL, thread_main, t));
	return t;
}

void join(struct thread *t)
{
	must(pthread_join(t->id, NULL));
	free(t);
}

/* ---- computing: so many turns of a loop, however long they take here and now ------------------ */

static double turns_per_ns;

static void spin(uint64_t turns)
{
	static volatile uint64_t last;
	uint64_t x = turns;

	/* Each turn waits for the one before. */
	for (uint64_t i = 0; i < turns; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	last = x;
}

static void calibrate(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 200; i++) {
		uint64_t began = rows_now(), ns;

		spin(50000);
		ns = rows_now() - began;
		least = ns < least ? ns : least;
	}
	turns_per_ns = 50000.0 / (double)least;
}

void compute(uint64_t ns)
{
	spin((uint64_t)((double)ns * turns_per_ns));
}

int nap(uint64_t ns)
{
	struct timespec t = timespec(ns);

	return clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* ---- locks ----------------------------------------------------------------------------------- */

void mutex_init(struct mutex *m)
{
	must(pthread_mutex_init(&m->m, NULL));
}

void mutex_lock(struct mutex *m)
{
	pthread_mutex_lock(&m->m);
}

void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->m);
}

void cond_init(struct cond *c)
{
	pthread_condattr_t a;

	must(pthread_condattr_init(&a));
	must(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
	must(pthread_cond_init(&c->c, &a));
	pthread_condattr_destroy(&a);
}

int cond_wait(struct cond *c, struct mutex *m, uint64_t ns)
{
	struct timespec t;

	if (!ns)
		return pthread_cond_wait(&c->c, &m->m);
	t = timespec(rows_now() + ns);
	return -pthread_cond_timedwait(&c->c, &m->m, &t);
}

void cond_signal(struct cond *c, unsigned n)
{
	if (n == 1)
		pthread_cond_signal(&c->c);
	else
		pthread_cond_broadcast(&c->c);
}

void barrier_init(struct barrier *b, unsigned count)
{
	must(pthread_barrier_init(&b->b, NULL, count));
}

void barrier_wait(struct barrier *b)
{
	pthread_barrier_wait(&b->b);
}

/* ---- streams --------------------------------------------------------------------------------- */

void stream_open(struct stream *s)
{
	if (pipe(s->fd))
		rows_fail("pipe");
}

void stream_write(struct stream *s)
{
	if (write(s->fd[1], "x", 1) != 1)
		rows_fail("write");
}

void stream_read(struct stream *s)
{
	char c;

	if (read(s->fd[0], &c, 1) != 1)
		rows_fail("read");
}

void stream_close(struct stream *s)
{
	close(s->fd[0]);
	close(s->fd[1]);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void tell(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static void settle(void)
{
	tell("settles");
}

static void begun(void)
{
}

static void over(void)
{
	tell("over");
	nap(SETTLE);
}

int main(int argc, char **argv)
{
	const struct row *r = argc > 2 ? row_of(argv[1]) : NULL;
	unsigned cpus = argc > 2 ? (unsigned)atoi(argv[2]) : 0, scale = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	struct rowtimes t;

	if (!r || !cpus || !scale) {
		fprintf(stderr, "usage: rowreal ROW CPUS [SCALE]\n");
		return 2;
	}
	calibrate();
	row_measure(r, cpus, scale, settle, begun, over, &t);
	printf("%lu %lu %lu %lu\n", t.ns, t.ideal, t.p50, t.p99);
	return 0;
}
