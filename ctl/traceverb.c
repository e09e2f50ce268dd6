/*
 * traceverb: `weftctl trace`: an execution trace of a process that runs, or one that it wrote itself, for other tools.
 *
 * What the library is asked for has an end of its own: where this command is killed, the trace ends by itself.
 *
 * Must never: leave a trace on; say that a file is whole when events were lost.
 */
#include "ctl/trace.h"
#include "ctl/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POLL_US = 20000, ANSWER_US = 2000, SPARE_NS = 1000000000 };

static const uint64_t second = 1000000000;
static volatile sig_atomic_t stopped;

struct wish {
	const char *from, *to, *pid;
	uint64_t ns, bytes;
	bool perfetto;
};

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * second + (uint64_t)ts.tv_nsec;
}

static bool parse_time(const char *s, uint64_t *ns)
{
	static const struct unit {
		const char *name;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "m", 60e9 } };
	char *end;
	double v = strtod(s, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != s && strcmp(end, units[i].name) == 0 && v > 0 && v * units[i].ns < 3600e9) {
			*ns = (uint64_t)(v * units[i].ns);
			return true;
		}
	return false;
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

/*
 * Asks, and waits until the buffers are there; 0: the process has ended, or has no memory.  sysmon sleeps while the
 * process is idle: it begins when that is over.
 */
static uint64_t begin(const struct proc *p, const struct wish *w, uint64_t until)
{
	uint64_t at = control(p, offsetof(struct trace_control, at));
	uint64_t ended = control(p, offsetof(struct trace_control, ended));

	if (at)
		return at; /* it writes one already, by the option */
	if (!set_control(p, offsetof(struct trace_control, bytes), w->bytes) ||
	    !set_control(p, offsetof(struct trace_control, until), until + SPARE_NS))
		return 0;
	while (!stopped && now_ns() < until && !proc_gone(p)) {
		at = control(p, offsetof(struct trace_control, at));
		if (at || control(p, offsetof(struct trace_control, ended)) != ended)
			break;
		usleep(ANSWER_US);
	}
	return at;
}

static bool log_process(struct proc *p, const struct wish *w, struct tracelog *log, struct gnames *names)
{
	uint64_t until = now_ns() + w->ns, at = begin(p, w, until);
	struct trace_header h;
	char why[128];
	bool there;

	if (!at) {
		set_control(p, offsetof(struct trace_control, until), 0);
		say("%d: %s", p->pid, proc_gone(p) ? "it has ended" : "no trace began (the process was idle all the time, or has no memory)");
		return false;
	}
	if (!proc_read(p, at, &h, sizeof(h)) || !log_begin(log, &h, why, sizeof(why))) {
		say("%d: it has ended", p->pid);
		return false;
	}
	do {
		there = log_take(log, p, at);
		if (there && now_ns() < until && !stopped)
			usleep(POLL_US);
	} while (there && !stopped && now_ns() < until && !log->failed);
	if (there) {
		proc_read(p, at, &log->head, sizeof(log->head));
		proc_each_g(p, take_name, names);
		log_take_stacks(log, p, at);
		/* sysmon ends it at its next look. */
		set_control(p, offsetof(struct trace_control, until), 1);
	}
	if (!there)
		say("%d: it ended while it was traced: what was read until then is written, without stacks", p->pid);
	qsort(names->at, names->n, sizeof(*names->at), by_goid);
	return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_out(struct tracelog *log, const struct gnames *names, const struct wish *w)
{
	struct tracestacks *t;
	struct model_counts c = { 0 };
	FILE *to;
	bool good;

	if (log->failed) {
		say("no memory for so many events (trace for a shorter time)");
		return EXIT_REFUSED;
	}
	log_sort(log);
	to = fopen(w->to, "we");
	if (!to) {
		say("%s: %s", w->to, strerror(errno));
		return EXIT_REFUSED;
	}
	t = tracestacks_open(log);
	good = t && (w->perfetto ? perfetto_write(log, t, names, to, &c) : go_write(log, t, to, &c));
	good = fclose(to) == 0 && good;
	tracestacks_close(t);
	if (!good) {
		say("%s: it could not be written", w->to);
		return EXIT_REFUSED;
	}
	printf("%s: %zu events, %lu lost; %lu creates, %lu ends, %lu parks, %lu readies, %lu runs, %lu calls, "
	       "%lu preempted, %lu handed off, %lu blocked unseen, %lu stolen\n",
	       w->to, log->n, log->lost, c.create, c.destroy, c.block, c.unblock, c.start, c.syscalls, c.preempt,
	       c.handoff, c.unseen, c.steal);
	if (log->lost)
		say("%lu events were overwritten before they were read (-b takes more memory)", log->lost);
	if (c.made)
		printf("%s: %lu transitions were not seen and made up\n", w->to, c.made);
	return written();
}

static bool parse(int argc, char **argv, struct wish *w)
{
	int c;

	*w = (struct wish){ .ns = second, .bytes = 64 << 20 };
	optind = 1;
	opterr = 0;
	while ((c = getopt(argc, argv, "+:o:f:b:")) != -1) {
		char *end;

		switch (c) {
		case 'o':
			w->to = optarg;
			break;
		case 'f':
			w->from = optarg;
			break;
		case 'b':
			w->bytes = strtoull(optarg, &end, 10) << (*end == 'k' ? 10 : *end == 'm' ? 20 : 0);
			break;
		default:
			return false;
		}
		/* Options may stand behind the words. */
	}
	return true;
}

/* Options may stand behind the words: PID TIME -o FILE. */
static bool parse_words(int argc, char **argv, struct wish *w)
{
	char *options[64] = { argv[0] };
	int n = 1, words = 0;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && i + 1 < argc && n + 2 < 64) {
			options[n++] = argv[i++];
			options[n++] = argv[i];
		}
	}
	if (!parse(n, options, w))
		return false;
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-') {
			i++;
			continue;
		}
		if (words == 0)
			w->pid = argv[i];
		else if (words > 1 || !parse_time(argv[i], &w->ns))
			return false;
		words++;
	}
	if (!w->to || (w->from ? words != 0 : words < 1))
		return false;
	w->perfetto = strlen(w->to) > 9 && strcmp(w->to + strlen(w->to) - 9, ".perfetto") == 0;
	return true;
}

int verb_trace(int argc, char **argv)
{
	struct gnames names = { 0 };
	struct tracelog log = { 0 };
	struct wish w;
	struct proc *p;
	char why[128];
	int status = EXIT_REFUSED;

	if (!parse_words(argc, argv, &w))
		return usage_of("trace");
	if (w.from) {
		if (log_take_file(&log, w.from, why, sizeof(why)))
			status = write_out(&log, &names, &w);
		else
			say("%s: %s", w.from, why);
	} else {
		p = open_scheduled(w.pid, &status);
		if (!p)
			return status;
		signal(SIGINT, on_signal);
		signal(SIGTERM, on_signal);
		if (log_process(p, &w, &log, &names))
			status = write_out(&log, &names, &w);
		proc_close(p);
	}
	free(names.at);
	log_free(&log);
	return status;
}
