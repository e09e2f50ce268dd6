/*
 * cost: the table of costs.
 *
 * Each name is one that rows/measure.c prints.  A figure that it did not print is the one below: those are of a virtual
 * machine with two CPUs (AMD EPYC of 2022, KVM, Linux 6.18) while little else ran on it.
 */
#include "tests/sim/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTILES = 16 };

static struct figure {
	const char *name;
	double ns[QUANTILES];
	unsigned n;
	const char *what;
} figures[] = {
	{ "access", { 0.3 }, 1, "an access, and what is done with it: each plain one of the runtime, and each call" },
	{ "locked", { 1.7 }, 1, "a locked instruction on a line that is this CPU's" },
	{ "pause", { 24 }, 1, "the instruction of a loop that waits" },
	{ "clock", { 22 }, 1, "clock_gettime()" },
	{ "syscall", { 164 }, 1, "a system call that does nothing: each that has no line here" },
	{ "futexnone", { 223 }, 1, "FUTEX_WAKE that finds no sleeper, or FUTEX_WAIT that does not sleep" },
	{ "pipewrite", { 290 }, 1, "a byte into a pipe" },
	{ "pipenone", { 237 }, 1, "a read of an empty pipe" },
	{ "piperead", { 290 }, 1, "a byte from a pipe" },
	{ "eventfd", { 250 }, 1, "a write to an eventfd" },
	{ "epollctl", { 1443 }, 1, "a descriptor added to an epoll and taken out again" },
	{ "epollnone", { 158 }, 1, "epoll_wait() that finds nothing and does not wait" },
	{ "epoll", { 390 }, 1, "the same that finds one" },
	{ "signal", { 2664 }, 1, "tgkill() of the caller, with its handler" },
	{ "switch", { 2615 }, 1, "sched_yield() to another thread and back: two switches" },
	{ "thread", { 18307 }, 1, "pthread_create() and pthread_join()" },
	{ "miss", { 28 }, 1, "a line that another CPU wrote last" },
	{ "wakeup5", { 8600, 8800, 8900, 9000, 9100, 9200, 9300, 9400, 9500, 9600, 9800, 10000,
		     10300, 10800, 11500, 14000 },
	  QUANTILES, "from the call that wakes until the thread runs, its CPU idle for 5 us" },
	{ "wakeup100", { 7500, 12700, 13600, 14500, 15600, 16800, 18300, 19900, 22000, 24000, 26000, 28000,
		       30000, 34000, 40000, 60000 },
	  QUANTILES, "the same, idle for 100 us" },
	{ "wakeup2000", { 11100, 16200, 17700, 19900, 21400, 22600, 24100, 25900, 28000, 29900, 32000,
			34000, 37000, 40000, 50000, 80000 },
	  QUANTILES, "the same, idle for 2 ms" },
	{ "futexwake5", { 6500 }, 1, "the call that wakes, its thread's CPU idle for 5 us" },
	{ "futexwake100", { 6900 }, 1, "the same, idle for 100 us" },
	{ "futexwake2000", { 9000 }, 1, "the same, idle for 2 ms" },
	{ "cpuclock", { 308 }, 1, "another thread's CPU time" },
	{ "membarrier", { 483 }, 1, "MEMBARRIER_CMD_PRIVATE_EXPEDITED while another CPU computes" },
	{ "sleep", { 3000 }, 1, "CPU time of a thread for a sleep of 100 us" },
	{ "timer", { 17200, 19100, 20900, 22200, 23600, 24800, 26500, 28000, 30000, 32000, 33000, 35000,
		   37000, 40000, 50000, 60000 },
	  QUANTILES, "how late a sleep ends, its CPU idle and the thread without timer slack" },
	{ NULL, { 0 }, 0, NULL },
};

static struct figure *figure_of(const char *name)
{
	for (struct figure *f = figures; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

bool cost_read(const char *file)
{
	FILE *in = fopen(file, "re");
	char line[512];
	unsigned known = 0;

	if (!in)
		return false;
	while (fgets(line, sizeof(line), in)) {
		char *rest = line, *name = strsep(&rest, " \n");
		struct figure *f = figure_of(name);
		unsigned n = 0;

		if (!*name || *name == '#' || !f)
			continue;
		for (char *word; n < QUANTILES && (word = strsep(&rest, " \n"));)
			if (*word)
				f->ns[n++] = strtod(word, NULL);
		if (n) {
			f->n = n;
			known++;
		}
	}
	fclose(in);
	return known > 0;
}

void cost_print(void)
{
	for (struct figure *f = figures; f->name; f++) {
		printf("%-14s %8.1f", f->name, f->ns[f->n / 2]);
		if (f->n > 1)
			printf(" (%.0f to %.0f)", f->ns[0], f->ns[f->n - 1]);
		printf(" ns  %s\n", f->what);
	}
}

static double middle(const char *name)
{
	struct figure *f = figure_of(name);

	return f->ns[f->n / 2];
}

/* A draw from a distribution. */
static uint64_t drawn(const char *name)
{
	struct figure *f = figure_of(name);

	return (uint64_t)f->ns[sim_random(f->n)];
}

/* What kernel.c, os.c and world.c call a point, and the figure that stands for it, divided. */
static const struct {
	const char *what, *figure;
	unsigned part;
} points[] = {
	{ "clock", "clock", 1 },
	{ "futex wait", "futexnone", 1 },
	{ "futex wake", "futexnone", 1 },
	{ "tgkill", "signal", 2 },
	{ "handler of signal 32", "signal", 2 },
	{ "cpu clock", "cpuclock", 1 },
	{ "membarrier", "membarrier", 1 },
	{ "read", "piperead", 1 },
	{ "the peer writes", "pipewrite", 1 },
	{ "write", "eventfd", 1 },
	{ "epoll_ctl add", "epollctl", 2 },
	{ "epoll_ctl del", "epollctl", 2 },
	{ "epoll look", "epollnone", 1 },
	{ "epoll wait", "epollnone", 1 },
	{ "clone", "thread", 2 },
	{ NULL, NULL, 0 },
};

/* By address: the words are constants of the program. */
static uint64_t call_cost(const char *what)
{
	static struct {
		const char *what;
		uint64_t ns;
	} known[64];
	unsigned i = 0;

	for (; i < 64 && known[i].what; i++)
		if (known[i].what == what)
			return known[i].ns;
	if (i == 64)
		return (uint64_t)middle("syscall");
	known[i].what = what;
	known[i].ns = (uint64_t)middle("syscall");
	for (unsigned k = 0; points[k].what; k++)
		if (!strcmp(points[k].what, what))
			known[i].ns = (uint64_t)(middle(points[k].figure) / points[k].part);
	return known[i].ns;
}

uint64_t cost_point(enum point kind, const char *what)
{
	switch (kind) {
	case POINT_ATOMIC: /* line_atomic() has charged; but reading the clock is one, too */
		return !strcmp(what, "clock") ? call_cost(what) : 0;
	case POINT_LOCKED:
	case POINT_WORK:
		return 0;
	case POINT_CALL:
		break;
	}
	return call_cost(what);
}

#define ONCE(expr)                                                                                                    \
	static uint64_t value, known;                                                                                 \
	if (!known) {                                                                                                 \
		value = (uint64_t)(expr);                                                                             \
		known = 1;                                                                                            \
	}                                                                                                             \
	return value

uint64_t cost_switch(void)
{
	ONCE((middle("switch") - 2 * middle("syscall")) / 2);
}

uint64_t cost_wake(void)
{
	ONCE(middle("futexwake5") > middle("futexnone") ? middle("futexwake5") - middle("futexnone") : 0);
}

uint64_t cost_sleep(void)
{
	ONCE(middle("sleep"));
}

/* The waker's call has been charged before: what is measured begins before it. */
uint64_t cost_latency(uint64_t idle, bool timer)
{
	uint64_t late, call = cost_wake() + (uint64_t)middle("futexnone");

	if (timer)
		return drawn("timer");
	late = drawn(idle < 30000 ? "wakeup5" : idle < 500000 ? "wakeup100" : "wakeup2000");
	return late > call ? late - call : 0;
}

uint64_t cost_resched(void)
{
	return cost_switch();
}

static uint64_t slack = 50000; /* the kernel's own */

uint64_t cost_slack(void)
{
	return slack;
}

void cost_noslack(void)
{
	slack = 1;
}

uint64_t cost_slice(void)
{
	unsigned log = opt.cpus >= 8 ? 3 : opt.cpus >= 4 ? 2 : opt.cpus >= 2 ? 1 : 0;

	return 700000ULL * (1 + log); /* Linux: base_slice, of the EEVDF scheduler */
}

uint64_t cost_pause(void)
{
	ONCE(middle("pause"));
}

#define ONCE_FINE(expr)                                                                                               \
	static double value;                                                                                          \
	if (value == 0)                                                                                               \
		value = (expr);                                                                                       \
	return value

double cost_access(void)
{
	ONCE_FINE(middle("access"));
}

double cost_locked(void)
{
	ONCE_FINE(middle("locked"));
}

double cost_miss(void)
{
	ONCE_FINE(middle("miss"));
}
