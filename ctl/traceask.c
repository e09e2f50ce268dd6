/*
 * traceask: asks a process that runs for a trace, and takes its events while it writes them.
 *
 * What the library is asked for has an end of its own: where this command is killed, the trace ends by itself.
 *
 * Must never: leave a trace on.
 */
#include "ctl/trace.h"
#include "ctl/verbs.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POLL_US = 20000, ANSWER_US = 2000, SPARE_NS = 1000000000 };

static const uint64_t LATE_NS = 60000000000; /* that a process may have no CPU */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

void until_signalled(void)
{
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
}

bool signalled(void)
{
	return stopped;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int by_goid(const void *a, const void *b)
{
	const struct gname *x = a, *y = b;

	return (x->goid > y->goid) - (x->goid < y->goid);
}

const char *gnames_find(const struct gnames *names, uint64_t goid)
{
	struct gname key = { .goid = goid };
	const struct gname *found = names->n ? bsearch(&key, names->at, names->n, sizeof(key), by_goid) : NULL;

	return found ? found->name : NULL;
}

static bool take_name(const struct proc_g *g, void *arg)
{
	struct gnames *names = arg;
	struct gname *more = names->n & (names->n + 1) ? names->at
						      : realloc(names->at, (2 * names->n + 2) * sizeof(*more));

	if (!more)
		return false;
	names->at = more;
	names->at[names->n].goid = g->goid;
	memcpy(names->at[names->n++].name, g->name, sizeof(g->name));
	return true;
}

/* ---- a process that runs --------------------------------------------------------------------- */

static uint64_t control(const struct proc *p, size_t at)
{
	uint64_t v = 0;

	return proc_read(p, p->addr[LA_trace] + at, &v, sizeof(v)) ? v : 0;
}

static bool set_control(const struct proc *p, size_t at, uint64_t v)
{
	return proc_write(p, p->addr[LA_trace] + at, &v, sizeof(v));
}

/* It shall be traced for ns from now on. */
static bool want(const struct proc *p, uint64_t ns)
{
	return set_control(p, offsetof(struct trace_control, until), now_ns() + ns + SPARE_NS);
}

static bool is_idle(const struct proc *p)
{
	return (int32_t)proc_sched(p, LF_sched_npidle) >= proc_gomaxprocs(p);
}

/*
 * Asks, and waits until the buffers are there; 0: the process has ended, or has no memory.  sysmon sleeps while the
 * process is idle: it begins when that is over, if that is within ns.  Beside others that have the CPU it comes late, and
 * is waited for, so many ns.
 */
static uint64_t begin(const struct proc *p, uint64_t bytes, uint64_t ns, uint64_t late)
{
	uint64_t at = control(p, offsetof(struct trace_control, at));
	uint64_t ended = control(p, offsetof(struct trace_control, ended));
	uint64_t until = now_ns() + ns;

	if (at)
		return at; /* it writes one already, by the option */
	if (!set_control(p, offsetof(struct trace_control, bytes), bytes))
		return 0;
	while (!stopped && !proc_gone(p)) {
		uint64_t now = now_ns();

		if (now >= until && (is_idle(p) || now >= until + late))
			break;
		if (!want(p, ns))
			break;
		at = control(p, offsetof(struct trace_control, at));
		if (at || control(p, offsetof(struct trace_control, ended)) != ended)
			break;
		usleep(ANSWER_US);
	}
	return at;
}

/* The events of the next ns.  False: the process has ended. */
static bool take(const struct proc *p, uint64_t at, uint64_t ns, struct tracelog *log)
{
	uint64_t until = now_ns() + ns;
	bool there;

	do {
		there = log_take(log, p, at);
		if (there && now_ns() < until && !stopped)
			usleep(POLL_US);
	} while (there && !stopped && now_ns() < until && !log->failed);
	return there;
}

static bool head_of(const struct proc *p, uint64_t at, struct tracelog *log)
{
	struct trace_header h;
	char why[128];

	return proc_read(p, at, &h, sizeof(h)) && log_begin(log, &h, TRACE_MAGIC, why, sizeof(why));
}

/* sysmon ends it at its next look. */
static void end(const struct proc *p)
{
	set_control(p, offsetof(struct trace_control, until), 1);
}

bool trace_glance(struct proc *p, uint64_t ns, uint64_t bytes, struct tracelog *log)
{
	uint64_t at = begin(p, bytes, ns, 0);
	bool there = at && head_of(p, at, log) && take(p, at, ns, log);

	end(p);
	return there;
}

bool trace_process(struct proc *p, uint64_t ns, uint64_t bytes, struct tracelog *log, struct gnames *names)
{
	uint64_t at = begin(p, bytes, ns, LATE_NS);
	bool there;

	if (!at) {
		set_control(p, offsetof(struct trace_control, until), 0);
		say("%d: %s", p->pid, proc_gone(p) ? "it has ended" :
		    "no trace began (the process was idle all the time, or has no memory)");
		return false;
	}
	if (!head_of(p, at, log)) {
		say("%d: it has ended", p->pid);
		return false;
	}
	there = take(p, at, ns, log);
	if (there) {
		proc_read(p, at, &log->head, sizeof(log->head));
		proc_each_g(p, take_name, names);
		log_take_stacks(log, p, at);
		end(p);
	}
	if (!there)
		say("%d: it ended while it was traced: what was read until then is written, without stacks", p->pid);
	qsort(names->at, names->n, sizeof(*names->at), by_goid);
	return true;
}
