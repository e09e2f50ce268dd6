/*
 * virtual: one row on the simulated machine.  rowbench --row NAME --cpus N [--scale N] [--seed S] [--costs
 * FILE] [--noslack]
 *
 * Prints a line: row, CPUs, ns, ideal ns, wake-to-run p50 and p99 in ns, wake-ups of Ms a second, sysmon's
 * share of a CPU, share of the time for which the scheduler's lock was held, steps.  --list names the rows,
 * --show the costs.
 */
#include "tests/sim/rows/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/sched/gmp.h"
#include "tests/sim/cost.h"

struct simopts opt = { .maxsteps = UINT64_MAX, .maxtime = 600000000000, .measured = true, .fine = true, .seed = 1 };

static const struct row *row;
static unsigned scale = 1;

/* ---- what rows.h wants ----------------------------------------------------------------------- */

uint64_t rows_now(void)
{
	return os_nanotime();
}

void rows_fail(const char *what)
{
	sim_fail("%s", what);
}

void mutex_init(struct mutex *m)
{
	m->word = 0;
}

void cond_init(struct cond *c)
{
	c->seq = 0;
}

void barrier_init(struct barrier *b, unsigned count)
{
	*b = (struct barrier){ .count = count };
}

struct arrival {
	struct barrier *b;
	uint32_t round;
	bool last;
};

/* Under the lot's lock, as shim/sync/barrier.c. */
static int arrive(void *arg)
{
	struct arrival *a = arg;

	if (a->b->round != a->round)
		return 1;
	if (++a->b->in < a->b->count)
		return 0;
	a->b->in = 0;
	a->b->round++;
	a->last = true;
	return 1;
}

void barrier_wait(struct barrier *b)
{
	struct arrival a = { b, b->round, false };
	struct park pk = { .addr = b, .refuse = arrive, .arg = &a, .reason = WaitBarrier };

	lot_park(&pk);
	if (a.last)
		lot_wake(b, b->count, 0, READY_TAIL, NULL, NULL);
}

void stream_open(struct stream *s)
{
	*s = (struct stream){ .fd = fd_stream() };
}

void stream_write(struct stream *s)
{
	fd_write(fd_file(s->fd), 1);
}

/* As shim/fd/fdwait.c. */
void stream_read(struct stream *s)
{
	struct netwait w;

	netpoll_look(&w, &s->slot, NETPOLL_IN);
	if (fd_read(s->fd, 1) == 1)
		return;
	if (netpoll_hold(&w, s->fd, true) != NETPOLL_HELD)
		rows_fail("a stream is not watched");
	if (w.moved)
		netpoll_next(&w);
	for (;;) {
		if (!w.moved)
			netpoll_park(&w, 0, WaitIO);
		w.moved = false;
		if (fd_read(w.fd, 1) == 1)
			break;
		w.woken = false;
	}
	netpoll_release(&w, false, false);
}

void stream_close(struct stream *s)
{
	netpoll_closing(&s->slot, s->fd);
	os_close(s->fd);
	netpoll_closed(&s->slot);
}

/* ---- the run --------------------------------------------------------------------------------- */

static uint64_t wakes, sysmon, held;

/* sysmon is the task that asked for a short slice; the /proc reader does not run here. */
static void count(uint64_t *woken, uint64_t *used)
{
	*woken = *used = 0;
	for (unsigned i = 0; i < sim.ntasks; i++) {
		if (sim.tasks[i].wants)
			*used += sim.tasks[i].used;
		else
			*woken += sim.tasks[i].wakes;
	}
}

static void settle(void)
{
}

static void begun(void)
{
	count(&wakes, &sysmon);
	line_reset();
}

static void over(void)
{
	uint64_t w, s;

	count(&w, &s);
	wakes = w - wakes;
	sysmon = s - sysmon;
	held = line_held();
}

static void main_g(void)
{
	struct rowtimes t;
	double seconds;

	line_watch(&sched.lock.word);
	row_measure(row, opt.cpus, scale, settle, begun, over, &t);
	seconds = (double)t.ns / 1e9;
	printf("%s\t%u\t%lu\t%lu\t%lu\t%lu\t%.0f\t%.5f\t%.5f\t%lu\n", row->name, opt.cpus, t.ns, t.ideal, t.p50, t.p99,
	       (double)wakes / seconds, (double)sysmon / (double)t.ns, (double)held / (double)t.ns, sim.steps);
	fflush(stdout);
}

static int usage(void)
{
	fprintf(stderr, "usage: rowbench --row NAME --cpus N [--scale N] [--seed S] [--costs FILE] [--noslack]"
			" [--trace] | --list | --show\n");
	return 2;
}

int main(int argc, char **argv)
{
	bool show = false;

	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) &&
	    personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE) >= 0)
		execve("/proc/self/exe", argv, (char *[]){ NULL }); /* nor what the caller's variables shift */
	for (int i = 1; i < argc; i++) {
		const char *o = argv[i];

		if (!strcmp(o, "--list")) {
			for (const struct row *r = rows; r->name; r++)
				printf("%s\t%s\n", r->name, r->what);
			return 0;
		}
		if (!strcmp(o, "--show"))
			show = true;
		else if (!strcmp(o, "--noslack"))
			cost_noslack();
		else if (!strcmp(o, "--trace"))
			opt.trace = true;
		else if (i + 1 == argc)
			return usage();
		else if (!strcmp(o, "--row"))
			row = row_of(argv[++i]);
		else if (!strcmp(o, "--cpus"))
			opt.cpus = opt.procs = (unsigned)strtoul(argv[++i], NULL, 0);
		else if (!strcmp(o, "--scale"))
			scale = (unsigned)strtoul(argv[++i], NULL, 0);
		else if (!strcmp(o, "--seed"))
			opt.seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(o, "--costs")) {
			if (!cost_read(argv[++i])) {
				fprintf(stderr, "rowbench: %s: no costs in it\n", argv[i]);
				return 2;
			}
		} else
			return usage();
	}
	if (show) {
		cost_print();
		return 0;
	}
	if (!row || !opt.cpus || opt.cpus > MAXCPUS || !scale)
		return usage();
	opt.workload = row->name;
	arena_init();
	sim_init();
	world_run(main_g);
	_exit(0);
}
