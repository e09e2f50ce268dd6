/*
 * stat: `weftctl stat`: one line of counts and rates now and then, as vmstat has them.
 *
 * The first line is of the first interval: what was before nobody has seen.
 *
 * Must never: print a rate of no time.
 */
#include "ctl/counts.h"
#include "ctl/verbs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t second = 1000000000;

static void head(void)
{
	printf("%8s %5s %6s %8s %6s %7s %5s %6s %10s %10s %6s\n", "THREADS", "RUN", "READY", "WAIT", "CALLS", "PS", "MS", "IDLE",
	       "RUNS/s", "CALLS/s", "CPU%");
}

static void line(const struct counts *was, const struct counts *c)
{
	char ps[32];

	snprintf(ps, sizeof(ps), "%d/%d", c->psbusy, c->ps);
	printf("%8lu %5lu %6lu %8lu %6lu %7s %5d %6d %10.0f %10.0f %6.1f\n", c->threads, c->running, c->runnable, c->waiting,
	       c->calls, ps, c->ms, c->msidle, counts_rate(was, c, was->runs, c->runs),
	       counts_rate(was, c, was->syscalls, c->syscalls), counts_rate(was, c, was->cpu, c->cpu) / 1e7);
	fflush(stdout);
}

static int loop(const struct proc *p, uint64_t every, unsigned long most)
{
	struct counts was, now;
	uint64_t next = now_ns() + every;

	if (!counts_take(p, &was)) {
		say("%d: has ended", p->pid);
		return EXIT_REFUSED;
	}
	for (unsigned long i = 0; i < most && !signalled(); i++, next += every, was = now) {
		struct timespec at = { (time_t)(next / second), (long)(next % second) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (signalled())
			break;
		if (!counts_take(p, &now)) {
			say("%d: has ended", p->pid);
			break;
		}
		if (i % 20 == 0)
			head();
		line(&was, &now);
		if (ferror(stdout))
			break;
	}
	return written();
}

int verb_stat(int argc, char **argv)
{
	uint64_t every = second;
	unsigned long most = argc > 2 ? ~0UL : 1;
	struct proc *p;
	char *end = "";
	int status;

	if (argc > 3)
		most = strtoul(argv[3], &end, 10);
	if (argc < 2 || argc > 4 || (argc > 2 && !parse_time(argv[2], &every)) || *end || !most ||
	    (argc > 3 && (argv[3][0] < '0' || argv[3][0] > '9')))
		return usage_of("stat");
	p = open_scheduled(argv[1], &status);
	if (!p)
		return status;
	until_signalled();
	status = loop(p, every, most);
	proc_close(p);
	return status;
}
