/*
 * traceverb: `weftctl trace`: an execution trace of a process that runs, or one that it wrote itself, for other tools.
 *
 * Must never: say that a file is whole when events were lost.
 */
#include "ctl/trace.h"
#include "ctl/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t second = 1000000000;

struct wish {
	const char *from, *to, *pid;
	uint64_t ns, bytes;
	bool perfetto;
};

bool parse_time(const char *s, uint64_t *ns)
{
	static const struct unit {
		const char *name;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "m", 60e9 } };
	char *end;
	double v = strtod(s, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != s && strcmp(end, units[i].name) == 0 && v * units[i].ns >= 1 && v * units[i].ns < 3600e9) {
			*ns = (uint64_t)(v * units[i].ns);
			return true;
		}
	return false;
}

/* "64m", "512k", bytes alone. */
static bool parse_bytes(const char *s, uint64_t *bytes)
{
	unsigned shift = 0;
	uint64_t v;
	char *end;

	if (s[0] < '0' || s[0] > '9')
		return false;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end == 'k' || *end == 'm')
		shift = *end++ == 'k' ? 10 : 20;
	if (errno || *end || !v || v > UINT64_MAX >> shift)
		return false;
	*bytes = v << shift;
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
		switch (c) {
		case 'o':
			w->to = optarg;
			break;
		case 'f':
			w->from = optarg;
			break;
		case 'b':
			if (!parse_bytes(optarg, &w->bytes))
				return false;
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
		if (log_take_file(&log, w.from, TRACE_MAGIC, why, sizeof(why)))
			status = write_out(&log, &names, &w);
		else
			say("%s: %s", w.from, why);
	} else {
		p = open_scheduled(w.pid, &status);
		if (!p)
			return status;
		until_signalled();
		if (trace_process(p, w.ns, w.bytes, &log, &names))
			status = write_out(&log, &names, &w);
		proc_close(p);
	}
	free(names.at);
	log_free(&log);
	return status;
}
