/*
 * main: runs seeds.
 *
 *	--runs N, --seconds N   so many, or as many as there is time for, from --seed N on
 *	--faults N              until so many were found (1)
 *	--workload NAME         only this one; otherwise they take turns
 *	--procs N, --cpus N     otherwise the seed says
 *	--fine, --pct, --tso    a choice at each atomic access; PCT; store buffers
 *	--trace                 every step of each run; twice: the atomic accesses too
 *	--as-found              a fault is not shortened
 *	--shorten N             so many seconds at most (20)
 *	--reach FILE            where FILE says which functions were entered: an offset into the program a line
 *	                        (tests/sim/reach)
 *
 * Runs are made in child processes, some hundred in each (arena.c); the one after a fault is in a new one.  The
 * last line says how many runs there were, how many found a fault, and how many steps a second were made.  The
 * exit status is 1 when one did.
 */
#include "tests/sim/sim.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/sched/gmp.h"

struct simopts opt = { .maxsteps = 30000000, .maxtime = 60000000000 };

enum { CPU_SECONDS = 10 }; /* of a run; one with maxsteps needs two or three */

static unsigned count_of_workloads(void)
{
	unsigned n = 0;

	while (workloads[n].name)
		n++;
	return n;
}

static const struct workload *workload_of(const char *name, uint64_t seed)
{
	if (!name)
		return &workloads[seed % count_of_workloads()];
	for (const struct workload *w = workloads; w->name; w++)
		if (!strcmp(w->name, name))
			return w;
	fprintf(stderr, "sim: no workload %s\n", name);
	exit(2);
}

/* ---- one run ---------------------------------------------------------------------------------- */

static void crashed(int sig)
{
	/* The words are what shorten.c compares. */
	switch (sig) {
	case SIGSEGV:
		sim_fail("killed by SIGSEGV");
	case SIGBUS:
		sim_fail("killed by SIGBUS");
	case SIGXCPU:
		sim_fail("it computes, and comes to no point");
	default:
		sim_fail("killed by SIGABRT");
	}
}

static void catch(void)
{
	static char stack[1 << 17];
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = SA_ONSTACK };

	sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) }, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGABRT, &sa, NULL);
	sigaction(SIGXCPU, &sa, NULL);
}

/* A loop without a point: SIGXCPU says so. */
static void limit_cpu(void)
{
	struct rusage u;
	struct rlimit l;

	getrusage(RUSAGE_SELF, &u);
	getrlimit(RLIMIT_CPU, &l);
	l.rlim_cur = (rlim_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + CPU_SECONDS;
	setrlimit(RLIMIT_CPU, &l);
}

static void one(uint64_t seed, const struct simopts *given)
{
	static const unsigned cpus[] = { 1, 2, 2, 3, 4, 8 }, procs[] = { 1, 2, 2, 3, 4, 8 };
	const struct workload *w = workload_of(given->workload, seed);

	limit_cpu();
	sim_shared->seed = seed;
	opt = *given;
	opt.seed = seed;
	sim_init();
	if (!opt.cpus)
		opt.cpus = cpus[sim_random(6)];
	if (!opt.procs)
		opt.procs = procs[sim_random(6)];
	opt.workload = w->name;
	world_run(w->fn);
	sim_shared->steps += sim.steps;
	sim_shared->runs++;
	if (opt.trace)
		printf("seed %lu %s procs=%u cpus=%u: %lu steps, %.3f ms, %lu done\n", seed, w->name, opt.procs,
		       opt.cpus, sim.steps, (double)(sim_now() - SIM_BEGIN) / 1e6, progress);
}

static bool is_over(const struct timespec *until)
{
	struct timespec now;

	if (!until)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

static void __attribute__((noreturn)) child(uint64_t seed, uint64_t n, const struct simopts *given,
					     const struct timespec *until)
{
	struct simopts own = *given;

	catch();
	if (n > 1)
		arena_keep();
	for (uint64_t i = 0; i < n && (i == 0 || !is_over(until)); i++) {
		if (i > 0)
			arena_restore();
		one(seed + i, &own);
	}
	fflush(stdout);
	_exit(0);
}

/* n seeds in one process, until the first fault; true: there was none. */
static bool run_some(uint64_t seed, uint64_t n, const struct simopts *given, const struct timespec *until)
{
	pid_t pid;
	int status;

	fflush(stdout);
	sim_shared->fault = NULL;
	pid = fork();
	if (pid == 0)
		child(seed, n, given, until);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("sim");
		exit(2);
	}
	if (WIFSIGNALED(status)) {
		sim_shared->fault = "killed";
		printf("FAULT seed=%lu workload=%s: killed by signal %d\n", sim_shared->seed,
		       workload_of(given->workload, sim_shared->seed)->name, WTERMSIG(status));
	}
	return status == 0;
}

bool run_shown(uint64_t seed, const struct simopts *given)
{
	return run_some(seed, 1, given, NULL);
}

bool run_quietly(uint64_t seed, const struct simopts *given)
{
	struct simopts quiet = *given;
	int out, null;
	bool good;

	quiet.trace = 0;
	fflush(stdout);
	out = dup(1);
	null = open("/dev/null", O_WRONLY);
	dup2(null, 1);
	close(null);
	good = run_shown(seed, &quiet);
	fflush(stdout);
	dup2(out, 1);
	close(out);
	return good;
}

/* ---- many ------------------------------------------------------------------------------------- */

struct plan {
	uint64_t runs, seed, faults, seconds, shorten;
	const char *reach;
	struct simopts with;
};

static uint64_t value(int *i, int argc, char **argv)
{
	char *end;
	uint64_t v;

	if (*i + 1 >= argc) {
		fprintf(stderr, "sim: %s wants a value\n", argv[*i]);
		exit(2);
	}
	v = strtoull(argv[++*i], &end, 0);
	if (*end) {
		fprintf(stderr, "sim: %s wants a number\n", argv[*i - 1]);
		exit(2);
	}
	return v;
}

static bool parse_number(struct plan *p, int *i, int argc, char **argv)
{
	const char *o = argv[*i];

	if (!strcmp(o, "--runs"))
		p->runs = value(i, argc, argv);
	else if (!strcmp(o, "--seed"))
		p->seed = value(i, argc, argv);
	else if (!strcmp(o, "--seconds"))
		p->seconds = value(i, argc, argv);
	else if (!strcmp(o, "--faults"))
		p->faults = value(i, argc, argv);
	else if (!strcmp(o, "--shorten"))
		p->shorten = value(i, argc, argv);
	else if (!strcmp(o, "--procs"))
		p->with.procs = (unsigned)value(i, argc, argv);
	else if (!strcmp(o, "--cpus"))
		p->with.cpus = (unsigned)value(i, argc, argv);
	else
		return false;
	return true;
}

static bool parse_word(struct plan *p, int *i, int argc, char **argv)
{
	const char *o = argv[*i];

	if (!strcmp(o, "--fine"))
		p->with.fine = true;
	else if (!strcmp(o, "--pct"))
		p->with.pct = true;
	else if (!strcmp(o, "--tso"))
		p->with.tso = true;
	else if (!strcmp(o, "--trace"))
		p->with.trace++;
	else if (!strcmp(o, "--as-found"))
		p->shorten = 0;
	else if (!strcmp(o, "--reach") && *i + 1 < argc)
		p->reach = argv[++*i];
	else if (!strcmp(o, "--workload") && *i + 1 < argc)
		p->with.workload = argv[++*i];
	else
		return false;
	return true;
}

static void show_shorter(const struct plan *p)
{
	struct simopts with = p->with;
	struct sim_shared before = *sim_shared;

	with.seed = before.seed;
	shorten(&with, (unsigned)p->shorten);
	*sim_shared = before;
}

/* How many found a fault. */
static uint64_t run(const struct plan *p)
{
	enum { BATCH = 500 };
	uint64_t faults = 0;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)p->seconds;
	for (uint64_t done = 0; done < p->runs && faults < p->faults && (done == 0 || !is_over(&until));) {
		uint64_t left = p->runs - done;

		if (!run_some(p->seed + done, left < BATCH ? left : BATCH, &p->with, &until)) {
			faults++;
			if (p->shorten)
				show_shorter(p);
		}
		done = sim_shared->runs + faults;
	}
	return faults;
}

/* ---- what was reached ------------------------------------------------------------------------- */

extern const char __executable_start[], etext[];

static void reach_init(void)
{
	sim_reach = mmap(NULL, (size_t)(etext - __executable_start), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void reach_write(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		exit(2);
	}
	for (size_t i = 0; i < (size_t)(etext - __executable_start); i++)
		if (sim_reach[i])
			fprintf(f, "%zx\n", i);
	fclose(f);
}

int main(int argc, char **argv)
{
	struct plan p = { .runs = 1, .seed = 1, .faults = 1, .seconds = 1 << 30, .shorten = 20, .with = opt };
	uint64_t faults;
	struct timespec a, b;
	double seconds;

	/* Addresses decide where in the parking lot a waiter is: they must be those of the last time. */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) &&
	    personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
	for (int i = 1; i < argc; i++)
		if (!parse_number(&p, &i, argc, argv) && !parse_word(&p, &i, argc, argv)) {
			fprintf(stderr, "sim: what is %s? (see the head of tests/sim/main.c)\n", argv[i]);
			return 2;
		}
	sim_shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.reach)
		reach_init();
	arena_init();
	lot_init(); /* once, not in each child, for which it would be a third of the time */
	clock_gettime(CLOCK_MONOTONIC, &a);
	faults = run(&p);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (p.reach)
		reach_write(p.reach);
	seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	printf("%lu runs, %lu faults, %lu steps, %.1f s, %.0f steps a second\n", sim_shared->runs + faults, faults,
	       sim_shared->steps, seconds, (double)sim_shared->steps / seconds);
	return faults != 0;
}
