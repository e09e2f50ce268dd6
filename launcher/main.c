/*
 * main: runs a program with libweft.so preloaded.
 *
 *	weft [OPTION...] [--] PROGRAM [ARG...]
 *
 * It becomes the program (exec, same process), so signals, exit codes and job control stay the
 * program's. All it leaves behind is two environment variables: LD_PRELOAD, with ours first, and
 * WEFT, the options; and where the program gets fewer Ps than it sees CPUs, OMP_WAIT_POLICY.
 * Strict where the library is lenient: a bad option costs one line in a running server, but here it
 * is a typing error of somebody who is watching.
 *
 * Must never: print on stdout except for --help, --version and --options; run anything under a
 * false flag, that is, start a program that will not have the library in it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "compat/preload.h"
#include "launcher/program.h"
#include "launcher/rawfile.h"
#include "runtime/arch/cpu.h"
#include "runtime/base/options.h"

#if !defined(PKGLIBDIR) || !defined(BINDIR)
#error "PKGLIBDIR, BINDIR: where make install puts libweft.so and weft"
#endif

extern char **environ;

/* A message is one line, and sets no terminal's title, whatever a name in it holds. */
static void print_plainly(const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == 0x7f)
			fprintf(stderr, "\\%03o", c);
		else
			fputc(c, stderr);
	}
}

static void say(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		text = (char *)"out of memory: cannot say why (free some)";
	fputs("weft: ", stderr);
	print_plainly(text);
	fputc('\n', stderr);
}

void refuse(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(code);
}

void advise(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

static char *format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		refuse(EXIT_OWN, "out of memory: cannot start (free some)");
	va_end(ap);
	return s;
}

/* --- what goes to stdout ---------------------------------------------------------------------- */

static const char usage[] = "Usage: weft [OPTION...] [--] PROGRAM [ARG...]\n";

static _Noreturn void finish_stdout(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		refuse(EXIT_OWN, "standard output: %s (make room, or name another place)",
		       strerror(errno));
	exit(0);
}

static _Noreturn void help(void)
{
	fputs(usage, stdout);
	fputs("Runs an unmodified program with its threads scheduled as goroutines are:\n"
	      "many threads on few kernel threads.\n\n"
	      "  -p, --procs=N           same as -o procs=N\n"
	      "  -o, --option=KEY=VALUE  sets an option of the scheduler; may be repeated\n"
	      "      --options           prints the options of the scheduler, tab-separated\n"
	      "      --help              prints this text\n"
	      "      --version           prints the version\n\n"
	      "Options of the scheduler, type and default:\n",
	      stdout);
	for (size_t i = 0; i < weft_option_count; i++) {
		const struct option_desc *d = &weft_option_table[i];

		printf("  %-12s %-5s %-24s %s\n", d->name, d->type, d->dflt, d->help);
	}
	fputs("\nTimes take ns, us, ms, s; sizes take k, m, g.  The same options are read from the\n"
	      "variable WEFT=KEY=VALUE,KEY=VALUE; GOMAXPROCS stands in for procs where that is not set.\n"
	      "Exit status: the program's, or 125 weft's own failure, 126 the program cannot run\n"
	      "(under weft), 127 not found.\n",
	      stdout);
	finish_stdout();
}

static _Noreturn void version(void)
{
	puts("weft " PACKAGE_VERSION);
	finish_stdout();
}

/* For scripts: the completion and the man page are made from this. */
static _Noreturn void list_options(void)
{
	for (size_t i = 0; i < weft_option_count; i++) {
		const struct option_desc *d = &weft_option_table[i];

		printf("%s\t%s\t%s\t%s\n", d->name, d->type, d->dflt, d->help);
	}
	finish_stdout();
}

/* --- options ---------------------------------------------------------------------------------- */

static const char *source; /* where the text being checked came from, for the message */

static void bad_option(const char *entry, int len, const char *why)
{
	refuse(EXIT_OWN, "%s %.*s: %s (see weft --help)", source, len, entry, why);
}

static void check_options(const char *from, const char *text)
{
	static struct weft_options scratch;

	source = from;
	weft_options_parse(&scratch, text, bad_option);
}

/* text,more; either may be empty. */
static char *join(char *text, const char *more)
{
	char *s = format("%s%s%s", text, *text && *more ? "," : "", more);

	free(text);
	return s;
}

static char *add_procs(char *options, const char *n)
{
	char *s = format("procs=%s", n);

	if (strchr(n, ','))
		refuse(EXIT_OWN, "--procs=%s: more than one number (see weft --help)", n);
	check_options("option", s);
	options = join(options, s);
	free(s);
	return options;
}

/* Returns the options in the form of the WEFT variable; leaves optind at the program's name. */
static char *parse_command_line(int argc, char **argv)
{
	enum { HELP = 256, SHOW_VERSION, LIST_OPTIONS };
	static const struct option longopts[] = {
		{ "help", no_argument, NULL, HELP },
		{ "version", no_argument, NULL, SHOW_VERSION },
		{ "options", no_argument, NULL, LIST_OPTIONS },
		{ "procs", required_argument, NULL, 'p' },
		{ "option", required_argument, NULL, 'o' },
		{ 0 },
	};
	char *options = format("%s", "");
	int c;

	opterr = 0; /* one line, in our own form */
	while ((c = getopt_long(argc, argv, "+:p:o:", longopts, NULL)) != -1) {
		switch (c) {
		case HELP:
			help();
		case SHOW_VERSION:
			version();
		case LIST_OPTIONS:
			list_options();
		case 'p':
			options = add_procs(options, optarg);
			break;
		case 'o':
			check_options("option", optarg);
			options = join(options, optarg);
			break;
		case ':':
			refuse(EXIT_OWN, "%s: its value is missing (see weft --help)", argv[optind - 1]);
		default:
			refuse(EXIT_OWN, "%s: no such option (see weft --help)",
			       optopt > 0 && optopt < HELP ? (char[]){ '-', (char)optopt, 0 } :
							     argv[optind - 1]);
		}
	}
	return options;
}

/* --- environment ------------------------------------------------------------------------------ */

/*
 * The directory of this executable.  Without /proc by the name that it was started by, which is as
 * good unless somebody renames it at this moment.  NULL: neither says.
 */
static char *own_directory(void)
{
	const char *started = (const char *)getauxval(AT_EXECFN);
	static char name[PATH_MAX]; /* static: a small stack (ulimit -s) has no room */
	char *exe = NULL, *slash;
	ssize_t n = readlink("/proc/self/exe", name, sizeof(name) - 1);

	/* The kernel says it without links; one that does not begin so is outside our root. */
	if (n > 0 && name[0] == '/') {
		name[n] = '\0';
		exe = strdup(name);
	}
	if (!exe && started)
		exe = realpath(started, NULL);
	slash = exe ? strrchr(exe, '/') : NULL;
	if (!slash)
		return NULL;
	*slash = '\0';
	return exe;
}

/* How to get from the directory of an installed weft to that of its library: ../lib/weft, say. */
static char *installed_way(void)
{
	size_t same = 0;
	char *up = format("%s", "");

	for (size_t i = 0;; i++) {
		bool end = !BINDIR[i] || BINDIR[i] == '/';

		if (end && (!PKGLIBDIR[i] || PKGLIBDIR[i] == '/'))
			same = i;
		if (!BINDIR[i] || BINDIR[i] != PKGLIBDIR[i])
			break;
	}
	for (const char *p = &BINDIR[same]; *p; p++) {
		char *more = *p == '/' ? format("%s../", up) : NULL;

		if (more) {
			free(up);
			up = more;
		}
	}
	return format("%s%s", up, PKGLIBDIR[same] ? &PKGLIBDIR[same + 1] : ".");
}

static char *library_in(const char *dir, const char *way)
{
	char *path = format("%s/%s%slibweft.so", dir, way, *way ? "/" : "");
	char *found = access(path, F_OK) == 0 ? path : NULL;

	/* Without what a way of dots leaves in it. */
	if (found && *way)
		found = realpath(path, NULL);
	if (found != path)
		free(path);
	return found;
}

/*
 * Next to the launcher (a build directory); where the installation has it, wherever that was moved;
 * else where it was installed.
 */
static char *find_library(void)
{
	char *dir = own_directory();
	char *path = dir ? library_in(dir, "") : NULL;

	if (!path && dir)
		path = library_in(dir, installed_way());
	if (!path)
		path = library_in(PKGLIBDIR, "");
	if (path)
		return path;
	if (!dir)
		refuse(EXIT_OWN, "libweft.so: not in %s, and where weft itself is nothing tells without "
		       "/proc (mount it, or start weft by its path)", PKGLIBDIR);
	refuse(EXIT_OWN, "libweft.so: neither beside %s/weft nor in %s (run make install, or use weft from "
	       "its build directory)", dir, PKGLIBDIR);
}

static char *usable_library(void)
{
	char *path = find_library();

	/*
	 * ld.so splits LD_PRELOAD at spaces and colons and expands $ORIGIN; nothing can be quoted.
	 */
	if (strpbrk(path, " :$"))
		refuse(EXIT_OWN, "%s: a path with a space, colon or dollar cannot be preloaded (move "
		       "weft elsewhere)", path);
	if (!library_usable(path))
		refuse(EXIT_OWN, "%s: not a readable " ARCH_NAME " library (build or install weft again)", path);
	return path;
}

/*
 * Ours first, and once: the program's calls must reach us before any other preloaded library.
 */
static void set_preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *others = strdup(old ? old : ""), *list;

	if (!others)
		refuse(EXIT_OWN, "out of memory: cannot start (free some)");
	list = preload_without_weft(others, others) ? format("%s:%s", library, others) :
						      format("%s", library);
	free(others);
	if (setenv("LD_PRELOAD", list, 1) < 0)
		refuse(EXIT_OWN, "LD_PRELOAD: %s (free some memory)", strerror(errno));
	free(list);
}

/*
 * The command line, which has been checked, wins over the variable: later entries win.  *opt is what the
 * program gets.
 */
static void set_options(const char *options, struct weft_options *opt)
{
	const char *old = getenv("WEFT");
	char *text = format("%s", old ? old : "");

	text = join(text, options);
	if (*text && setenv("WEFT", text, 1) < 0)
		refuse(EXIT_OWN, "WEFT: %s (free some memory)", strerror(errno));
	free(text);
	source = "WEFT:";
	weft_options_read(opt, environ, bad_option);
}

/*
 * A thread of an OpenMP program that waits for others looks for them in a loop, for milliseconds, unless there are more
 * threads than CPUs.  It counts the machine's, so with fewer Ps it keeps the threads that it waits for from
 * running (two threads, procs=1, 2,000 parallel regions: up to 12 s, and 0.15 to 0.19 where they give way).
 * OpenMP has a word that says how to wait.  What the user says of it, by any name, stands.
 *
 * Rejected: an affinity mask of as many CPUs as there are Ps.  sched_getcpu() would name others, and programs that keep
 * something for each CPU would look beyond the end of it.
 */
static void set_openmp(const struct weft_options *opt)
{
	static const char *const words[] = { "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY" };
	cpu_set_t cpus;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (getenv(words[i]))
			return;
	if (!opt->procs || opt->disable || sched_getaffinity(0, sizeof(cpus), &cpus) ||
	    opt->procs >= (unsigned)CPU_COUNT(&cpus))
		return;
	if (setenv("OMP_WAIT_POLICY", "passive", 1) < 0)
		refuse(EXIT_OWN, "OMP_WAIT_POLICY: %s (free some memory)", strerror(errno));
}

/* --- start ------------------------------------------------------------------------------------ */

/* A text file without #! is a shell script to execvp; binary rubbish is not. */
static int is_text(const char *path)
{
	char head[128];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;

	if (f)
		fclose(f);
	return f && !memchr(head, 0, n);
}

static _Noreturn void run(const char *path, char **argv, int argc)
{
	execv(path, argv);
	if (errno == ENOEXEC && is_text(path)) {
		char **sh = calloc((size_t)argc + 2, sizeof(*sh));

		if (!sh)
			refuse(EXIT_OWN, "out of memory: cannot start (free some)");
		sh[0] = (char *)"sh";
		sh[1] = (char *)path;
		memcpy(sh + 2, argv + 1, (size_t)argc * sizeof(*sh)); /* with the final NULL */
		program_check("/bin/sh");
		execv("/bin/sh", sh);
	}
	refuse(errno == ENOENT ? EXIT_NOTFOUND : EXIT_CANNOT, "%s: %s (it cannot be executed here)",
	       path, strerror(errno));
}

int main(int argc, char **argv)
{
	char *options = parse_command_line(argc, argv);
	struct weft_options opt;
	char *path;

	if (optind >= argc)
		refuse(EXIT_OWN, "no program: nothing to run (see weft --help)");
	path = program_find(argv[optind]);
	program_check(path);
	set_options(options, &opt);
	set_openmp(&opt);
	if (!opt.disable) {
		rawfile_clear(opt.trace);
		rawfile_clear(opt.profile);
	}
	set_preload(usable_library());
	run(path, argv + optind, argc - optind);
}
