/*
 * main: runs seeds.  sim [--runs N] [--seconds N] [--faults N] [--seed S] [--workload NAME] [--procs N] [--cpus N] [--fine] [--pct] [--tso] [--trace]
 *
 * Each run is a child process: the runtime's state is that of a process.  The last line says how many runs there were,
 * how many found a fault, and how many steps a second were made.  The exit status is 1 when one did.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct simopts opt = { .maxsteps = 30000000, .maxtime = 60000000000 };

/* What the children tell. */
static struct {
	uint64_t steps, runs;
} *shared;

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

enum { CPU_SECONDS = 100 }; /* of one run; one with maxsteps needs some seconds */

static void one(uint64_t seed, const struct simopts *given)
{
	static const unsigned cpus[] = { 1, 2, 2, 3, 4, 8 }, procs[] = { 1, 2, 2, 3, 4, 8 };
	const struct workload *w = workload_of(given->workload, seed);

	/* A loop without a point: SIGXCPU says so. */
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_SECONDS, CPU_SECONDS });
	opt = *given;
	opt.seed = seed;
	sim_init();
	if (!opt.cpus)
		opt.cpus = cpus[sim_random(6)];
	if (!opt.procs)
		opt.procs = procs[sim_random(6)];
	opt.workload = w->name;
	world_run(w->fn);
	shared->steps += sim.steps;
	shared->runs++;
	if (opt.trace)
		printf("seed %lu %s procs=%u cpus=%u: %lu steps, %.3f ms, %lu done\n", seed, w->name, opt.procs, opt.cpus, sim.steps,
		       (double)(sim_now() - 1000000000) / 1e6, progress);
	fflush(stdout);
	_exit(0);
}

static bool run(uint64_t seed, const struct simopts *given)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		one(seed, given);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("sim");
		exit(2);
	}
	if (WIFSIGNALED(status))
		printf("FAULT seed=%lu workload=%s: killed by signal %d\n", seed, workload_of(given->workload, seed)->name,
		       WTERMSIG(status));
	return status == 0;
}

static const char *value(int *i, int argc, char **argv)
{
	if (*i + 1 >= argc) {
		fprintf(stderr, "sim: %s wants a value\n", argv[*i]);
		exit(2);
	}
	return argv[++*i];
}

int main(int argc, char **argv)
{
	struct simopts given = opt;
	uint64_t runs = 1, seed = 1, faults = 0, most = 1, limit = UINT64_MAX;
	struct timespec a, b;
	double seconds;

	/* Addresses decide where in the parking lot a waiter is: they must be those of the last time. */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) && personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
	for (int i = 1; i < argc; i++) {
		const char *o = argv[i];

		if (!strcmp(o, "--runs"))
			runs = strtoull(value(&i, argc, argv), NULL, 0);
		else if (!strcmp(o, "--seed"))
			seed = strtoull(value(&i, argc, argv), NULL, 0);
		else if (!strcmp(o, "--seconds"))
			limit = strtoull(value(&i, argc, argv), NULL, 0);
		else if (!strcmp(o, "--faults"))
			most = strtoull(value(&i, argc, argv), NULL, 0);
		else if (!strcmp(o, "--workload"))
			given.workload = value(&i, argc, argv);
		else if (!strcmp(o, "--procs"))
			given.procs = (unsigned)strtoul(value(&i, argc, argv), NULL, 0);
		else if (!strcmp(o, "--cpus"))
			given.cpus = (unsigned)strtoul(value(&i, argc, argv), NULL, 0);
		else if (!strcmp(o, "--fine"))
			given.fine = true;
		else if (!strcmp(o, "--pct"))
			given.pct = true;
		else if (!strcmp(o, "--tso"))
			given.tso = true;
		else if (!strcmp(o, "--trace"))
			given.trace = true;
		else if (!strcmp(o, "--as-found"))
			;
		else {
			fprintf(stderr, "usage: sim [--runs N] [--seconds N] [--seed S] [--faults N] [--workload NAME] [--procs N] [--cpus N] [--fine] "
					"[--pct] [--tso] [--trace]\n");
			return 2;
		}
	}
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	b = a;
	for (uint64_t i = 0; i < runs && faults < most && (uint64_t)(b.tv_sec - a.tv_sec) < limit; i++) {
		faults += !run(seed + i, &given);
		clock_gettime(CLOCK_MONOTONIC, &b);
	}
	seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	printf("%lu runs, %lu faults, %lu steps, %.1f s, %.0f steps a second\n", shared->runs + faults, faults, shared->steps, seconds,
	       (double)shared->steps / seconds);
	return faults != 0;
}
