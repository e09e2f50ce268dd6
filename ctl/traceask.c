/*
 * traceask: asks a process that runs for a trace, and takes its events while it writes them.
 *
 * What the library is asked for is a lease: where this command is killed, the trace ends by itself.  A trace that is on
 * already, by the option or for another weftctl, is taken part in: events from before the request are left out.
 *
 * Must never: leave a trace on.
 */
#include "ctl/modfiles.h"
#include "ctl/trace.h"
#include "ctl/verbs.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ENDS: the end of another's trace and a look between are no more than so many refusals. */
enum { POLL_US = 20000, ANSWER_US = 2000, ENDS = 4 };

static const uint64_t LATE_NS = 60000000000;    /* that a process may have no CPU */
static const uint64_t PATIENCE_NS = 1000000000; /* that a process is waited for at least */
static const uint64_t QUIET_NS = 100000000;     /* one that was idle for so long is */
static const uint64_t LEASE_NS = 2000000000;    /* a trace is on for so long without being asked for again */

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

/* ---- leases ---------------------------------------------------------------------------------- */

/*
 * The process is traced while somebody renews `until`, and some time longer: one that is killed leaves no trace on.
 * Each has a place in `taker` beside that, so that the first to end leaves the trace to the others.
 */
struct lease {
	const struct proc *p;
	int place;                   /* -1: none yet, or all are taken */
	uint64_t last;               /* what was written there */
};

static size_t place_of(int i)
{
	return offsetof(struct trace_control, taker) + (size_t)i * sizeof(uint64_t);
}

/* Two may have seen it free: the one whose time is not there any more looks for another at its next look. */
static void find_place(struct lease *l, uint64_t now)
{
	if (l->place >= 0 && control(l->p, place_of(l->place)) == l->last)
		return;
	l->place = -1;
	for (int i = 0; i < TRACE_TAKERS && l->place < 0; i++)
		if (control(l->p, place_of(i)) < now)
			l->place = i;
}

/* False: it cannot be written to. */
static bool renew(struct lease *l)
{
	uint64_t now = now_ns();

	find_place(l, now);
	l->last = now + LEASE_NS;
	if (l->place >= 0 && !set_control(l->p, place_of(l->place), l->last))
		return false;
	return control(l->p, offsetof(struct trace_control, until)) >= l->last ||
	       set_control(l->p, offsetof(struct trace_control, until), l->last);
}

/* sysmon ends it at its next look, if nobody else takes events. */
static void end(struct lease *l)
{
	uint64_t now = now_ns();
	bool others = false;

	if (l->place >= 0 && control(l->p, place_of(l->place)) == l->last)
		set_control(l->p, place_of(l->place), 0);
	for (int i = 0; i < TRACE_TAKERS; i++)
		others |= control(l->p, place_of(i)) > now;
	if (!others)
		set_control(l->p, offsetof(struct trace_control, until), 1);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static bool is_idle(const struct proc *p)
{
	return (int32_t)proc_sched(p, LF_sched_npidle) >= proc_gomaxprocs(p);
}

/* By SIGSTOP, or a debugger. */
static bool is_stopped(const struct proc *p)
{
	char path[64], text[512];
	const char *state;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", p->pid);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	/* Its name, which stands before, may have any character. */
	state = strrchr(text, ')');
	return state && (strncmp(state, ") T", 3) == 0 || strncmp(state, ") t", 3) == 0);
}

/* A trace is written at at; *start: since when. */
static bool is_written(const struct proc *p, uint64_t at, uint64_t *start)
{
	struct trace_header h;

	if (!at || !proc_read(p, at, &h, sizeof(h)) || h.end)
		return false;
	*start = h.start;
	return true;
}

/* One from before the request, which may be ending: sysmon looks each 10 ms at least, while the process runs. */
static bool goes_on(struct lease *l, uint64_t at, uint64_t start)
{
	uint64_t again;

	usleep(POLL_US);
	return renew(l) && control(l->p, offsetof(struct trace_control, at)) == at && is_written(l->p, at, &again) &&
	       again == start;
}

/*
 * Asks, and waits until events are written; 0, and *why: they are not.  sysmon sleeps while the process is idle: it
 * begins when that is over, if that is within ns.  Beside others that have the CPU it comes late, and is waited for, so
 * many ns more.  *since: the trace is older than the request, which was then; else 0.
 */
static uint64_t begin(struct lease *l, uint64_t bytes, uint64_t ns, uint64_t late, uint64_t *since, const char **why)
{
	const struct proc *p = l->p;
	uint64_t ended = control(p, offsetof(struct trace_control, ended));
	uint64_t asked = now_ns(), busy = asked, start;

	*why = "it has ended";
	if (!set_control(p, offsetof(struct trace_control, bytes), bytes))
		return 0;
	for (; !stopped && !proc_gone(p) && renew(l); usleep(ANSWER_US)) {
		uint64_t now = now_ns(), at = control(p, offsetof(struct trace_control, at));

		if (is_written(p, at, &start) && (start >= asked || (!is_stopped(p) && goes_on(l, at, start)))) {
			*since = start >= asked ? 0 : asked;
			return at;
		}
		*why = "no trace began (it has no memory)";
		if (control(p, offsetof(struct trace_control, ended)) > ended + ENDS)
			return 0;
		busy = is_idle(p) ? busy : now;
		*why = "it is stopped: no trace began";
		if (now >= asked + ns && is_stopped(p))
			return 0;
		*why = "no trace began (the process was idle all the time)";
		if (now >= asked + ns && now >= busy + QUIET_NS)
			return 0;
		*why = "no trace began (the process had no CPU)";
		if (now >= asked + ns + late)
			return 0;
	}
	*why = stopped ? "no trace began (interrupted)" : "it has ended";
	return 0;
}

/* The events of the next ns. */
static enum taken take(struct lease *l, uint64_t at, uint64_t ns, struct tracelog *log)
{
	uint64_t until = now_ns() + ns;
	enum taken how;

	for (;;) {
		how = log_take(log, l->p, at);
		if (how != TOOK || log->failed || stopped || now_ns() >= until)
			return how;
		usleep(POLL_US);
		if (!renew(l))
			return TOOK_GONE;
	}
}

static bool head_of(const struct proc *p, uint64_t at, uint64_t since, struct tracelog *log)
{
	struct trace_header h;
	char why[128];

	if (!proc_read(p, at, &h, sizeof(h)) || !log_begin(log, &h, TRACE_MAGIC, why, sizeof(why)))
		return false;
	log->since = since;
	return true;
}

bool trace_glance(struct proc *p, uint64_t ns, uint64_t bytes, struct tracelog *log)
{
	struct lease l = { p, -1, 0 };
	const char *why;
	uint64_t since, at = begin(&l, bytes, ns, 0, &since, &why);
	bool there = at && head_of(p, at, since, log) && take(&l, at, ns, log) != TOOK_GONE;

	end(&l);
	if (there)
		log_sort(log);
	return there;
}

/* Where its files lie: what was there at the begin is known when the process is gone. */
static void take_maps(struct tracelog *log)
{
	const char *maps;
	size_t n;

	maps = modfiles_maps(&n);
	log_maps(log, maps, n);
}

bool trace_process(struct proc *p, uint64_t ns, uint64_t bytes, struct tracelog *log, struct gnames *names)
{
	struct lease l = { p, -1, 0 };
	const char *why;
	enum taken how;
	uint64_t since, at;

	modfiles_look(p->pid);
	at = begin(&l, bytes, ns > PATIENCE_NS ? ns : PATIENCE_NS, LATE_NS, &since, &why);
	if (!at || !head_of(p, at, since, log)) {
		end(&l);
		say("%d: %s", p->pid, at ? "it has ended" : why);
		return false;
	}
	how = take(&l, at, ns, log);
	if (how == TOOK) {
		log_take_stacks(log, p, at);
		proc_each_g(p, take_name, names);
	}
	end(&l);
	if (how == TOOK && is_stopped(p))
		say("%d: it is stopped: what was before that is there", p->pid);
	if (how != TOOK)
		say("%d: %s: what was read until then is there", p->pid,
		    how == TOOK_GONE || proc_gone(p) ? "it ended while it was traced" : "the trace ended early");
	if (!proc_gone(p))
		modfiles_look(p->pid); /* what was loaded meanwhile */
	take_maps(log);
	if (names->n)
		qsort(names->at, names->n, sizeof(*names->at), by_goid);
	return true;
}
