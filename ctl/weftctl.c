/*
 * weftctl: looks into a process that runs under weft, and sets what may be set while it runs.
 *
 * This file is the command line: the table of verbs, what each is for, what weftctl says.  Exit status: 0 done, 1 it
 * could not be done (and a line says why), 2 the command line.
 *
 * Must never: hold rights that its user has not (it is no set-user-ID program).
 */
#include "ctl/verbs.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments, *help;
} verbs[] = {
	{ "ps", verb_ps, "", "processes that run under weft" },
	{ "dump", verb_dump, "[-x] PID",
	  "every thread: what it waits for, since when, held by whom, from where; -x: each by itself" },
	{ "profile", verb_profile, "PID --cpu|--block|--mutex|--threads [TIME] -o FILE | -f RAW --cpu|--block|--mutex -o FILE",
	  "where CPU time goes, where threads wait, for whom, where they are: for go tool pprof" },
	{ "set", verb_set, "PID OPTION=VALUE...", "changes options while it runs: procs, slice, schedtrace and others" },
	{ "stat", verb_stat, "PID [INTERVAL [COUNT]]", "threads by state, Ps, Ms, runs and calls a second: a line each" },
	{ "top", verb_top, "PID", "the same on a terminal, live, with where threads are" },
	{ "trace", verb_trace, "PID [TIME] -o FILE [-b BYTES] | -f RAW -o FILE",
	  "an execution trace for go tool trace, or for Perfetto (FILE.perfetto)" },
};

enum { NVERBS = sizeof(verbs) / sizeof(*verbs) };

void say(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("weftctl: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int written(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_DONE;
	if (errno != EPIPE)
		say("standard output: %s", strerror(errno));
	return EXIT_REFUSED;
}

static const struct verb *find(const char *name)
{
	for (int i = 0; i < NVERBS; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

int usage_of(const char *name)
{
	const struct verb *v = find(name);

	fprintf(stderr, "usage: weftctl %s %s\n", v->name, v->arguments);
	return EXIT_USAGE;
}

static void help(FILE *to)
{
	fputs("usage: weftctl VERB [ARGUMENT...]\n\n"
	      "Looks into a process that runs under weft, started however it was; see weftctl(1).\n\n",
	      to);
	for (int i = 0; i < NVERBS; i++)
		fprintf(to, "  %s %s\n        %s\n", verbs[i].name, verbs[i].arguments, verbs[i].help);
	fputs("\n  --help     this text\n  --version  the version\n", to);
}

struct proc *open_process(const char *word, int *status)
{
	char *end, why[512];
	long pid = strtol(word, &end, 10);
	struct proc *p;

	if (*end != '\0' || end == word || pid <= 0 || pid > INT_MAX) {
		say("%s: not the id of a process", word);
		*status = EXIT_USAGE;
		return NULL;
	}
	p = proc_open((pid_t)pid, why, sizeof(why));
	if (!p) {
		say("%ld: %s", pid, why);
		*status = EXIT_REFUSED;
	}
	return p;
}

struct proc *open_scheduled(const char *word, int *status)
{
	struct proc *p = open_process(word, status);

	if (!p || p->on)
		return p;
	say("%d: weft is not at work in it (it has made no thread yet, or runs on plain threads)", p->pid);
	*status = EXIT_REFUSED;
	proc_close(p);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct verb *v;

	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help(stdout);
		return written();
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("weftctl %s\n", PACKAGE_VERSION);
		return written();
	}
	v = find(argv[1]);
	if (!v) {
		say("%s: no such verb (weftctl --help lists them)", argv[1]);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	return v->run(argc - 1, argv + 1);
}
