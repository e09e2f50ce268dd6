/*
 * profile: `weftctl profile`: where a process spends CPU time, where its threads wait and for whom, and where they are.
 *
 * Threads and CPU time are looked at from outside: all Gs once, or the Gs that compute a hundred times a second.  Waits
 * are those of an execution trace: waits.c.  What a process wrote itself is read: saved.c.
 *
 * Must never: leave the process stopped, or a trace on; take a sample for more time than has passed.
 */
#include "ctl/modfiles.h"
#include "ctl/pprof.h"
#include "ctl/saved.h"
#include "ctl/stack.h"
#include "ctl/waits.h"
#include "ctl/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As Go's and pprof's: a hundred samples a second. */
enum { PERIOD_NS = 10000000 };

enum kind { CPU, BLOCK, MUTEX, THREADS, KINDS };

static const struct {
	const char *option;
	struct pprof_type type[PPROF_VALUES];
	int ntypes;
} kinds[KINDS] = {
	[CPU] = { "--cpu", { { "samples", "count" }, { "cpu", "nanoseconds" } }, 2 },
	[BLOCK] = { "--block", { { "contentions", "count" }, { "delay", "nanoseconds" } }, 2 },
	[MUTEX] = { "--mutex", { { "contentions", "count" }, { "delay", "nanoseconds" } }, 2 },
	[THREADS] = { "--threads", { { "threads", "count" } }, 1 },
};

struct profile {
	struct proc *p;
	struct stacks *s;
	struct pprof *pp;
	enum kind kind;
	uint64_t ns;                /* how long */
	const char *from, *to;      /* from: NULL: the process */
	uint64_t lost;              /* events of the trace */
};

/* pprof wants return addresses: where a thread is, is one and 1. */
static int as_returns(const struct proc_g *g, uint64_t *pc, int n)
{
	if (n > 0 && (g->status == GRUNNING || g->status == GSYSCALL))
		pc[0]++;
	return n;
}

/* ---- where they are -------------------------------------------------------------------------- */

static const char *state_of(const struct proc_g *g)
{
	if (g->status == GWAITING)
		return proc_reason(g->waitreason);
	return g->status == GSYSCALL ? "in a system call" : proc_status(g->status);
}

static bool add_thread(const struct proc_g *seen, void *arg)
{
	struct profile *f = arg;
	const int64_t one = 1;
	struct proc_g g = *seen;
	uint64_t pc[STACK_DEPTH];
	int n = as_returns(&g, pc, stacks_fresh(f->s, &g, pc, STACK_DEPTH));

	if (n >= 0)
		pprof_add(f->pp, pc, n, "state", state_of(&g), &one);
	return true;
}

/* ---- CPU time -------------------------------------------------------------------------------- */

struct tick {
	struct profile *f;
	int64_t value[PPROF_VALUES];
};

static bool add_running(const struct proc_m *m, void *arg)
{
	struct tick *t = arg;
	uint64_t pc[STACK_DEPTH];
	char label[64];
	struct proc_g g;
	int n;

	if (!m->curg || !proc_g_at(t->f->p, m->curg, &g) || !stacks_computes(t->f->s, &g))
		return true;
	n = as_returns(&g, pc, stacks_of(t->f->s, &g, pc, STACK_DEPTH));
	proc_string(t->f->p, g.label, label, sizeof(label));
	if (n)
		pprof_add(t->f->pp, pc, n, "label", label[0] ? label : NULL, t->value);
	return true;
}

static void sample_cpu(struct profile *f)
{
	uint64_t now = now_ns(), until = now + f->ns, last = now, next = now + PERIOD_NS;

	stacks_stop(f->s);
	while (now < until && !signalled() && !proc_gone(f->p)) {
		struct timespec at = { (time_t)(next / 1000000000), (long)(next % 1000000000) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = now_ns();
		/* A sample stands for the time since the last, also where this command was late. */
		proc_each_m(f->p, add_running, &(struct tick){ f, { 1, (int64_t)(now - last) } });
		last = now;
		next += ((now - next) / PERIOD_NS + 1) * PERIOD_NS;
	}
	f->ns -= until > now ? until - now : 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void name(void *arg, uint64_t pc, struct pprof_place *to)
{
	struct profile *f = arg;
	struct place at;

	stacks_place(f->s, pc, false, &at);
	snprintf(to->file, sizeof(to->file), "%s", at.file[0] ? at.file : at.module);
	to->line = at.line;
	if (at.raw[0])
		snprintf(to->function, sizeof(to->function), "%s", at.raw);
	else
		stacks_text(f->s, pc, false, to->function, sizeof(to->function));
}

static bool add_mapping(const char *path, uint64_t start, uint64_t end, uint64_t offset, void *arg)
{
	struct pprof_map map = { .start = start, .end = end, .offset = offset };

	snprintf(map.path, sizeof(map.path), "%s", path);
	pprof_map(arg, &map);
	return true;
}

static int write_out(struct profile *f, int pid, int64_t began,
		     void (*place)(void *arg, uint64_t pc, struct pprof_place *at), void *arg)
{
	int last = kinds[f->kind].ntypes - 1;

	if (!pprof_samples(f->pp) && f->kind != THREADS)
		say("%d: %s", pid, f->kind == CPU ? "no thread computed in that time" : "no thread waited in that time");
	if (!pprof_write(f->pp, f->to, began, f->kind == THREADS ? 0 : (int64_t)f->ns, f->kind == CPU ? PERIOD_NS : 0,
			 place, arg)) {
		say("%s: %s", f->to, strerror(errno));
		return EXIT_REFUSED;
	}
	printf("%s: %zu stacks, %ld %s\n", f->to, pprof_samples(f->pp), (long)pprof_sum(f->pp, last),
	       f->kind == THREADS ? "threads" : f->kind == CPU ? "ns of CPU time" : "ns of waiting");
	if (f->lost)
		say("%lu events were overwritten before they were read: waits are missing", f->lost);
	return written();
}

static int profile(struct profile *f)
{
	struct timespec began;
	int status = EXIT_REFUSED;
	bool good = true;

	clock_gettime(CLOCK_REALTIME, &began);
	f->s = stacks_open(f->p);
	f->pp = pprof_open(kinds[f->kind].type, kinds[f->kind].ntypes);
	if (!f->s || !f->pp) {
		say("no memory");
	} else {
		until_signalled();
		if (f->kind == THREADS) {
			stacks_stop(f->s);
			proc_each_g(f->p, add_thread, f);
		} else if (f->kind == CPU) {
			sample_cpu(f);
		} else {
			good = waits_gather(f->p, f->ns, f->kind == MUTEX, f->pp, &f->lost);
			/* One that is gone has the names that it had. */
			if (!proc_gone(f->p))
				stacks_renew(f->s);
		}
		if (good) {
			modfiles_each_code(add_mapping, f->pp);
			status = write_out(f, f->p->pid, (int64_t)began.tv_sec * 1000000000 + began.tv_nsec, name, f);
		}
	}
	pprof_close(f->pp);
	stacks_close(f->s);
	return status;
}

static int profile_saved(struct profile *f)
{
	static const enum profile_value value[KINDS] = { PROFILE_CPU, PROFILE_BLOCK, PROFILE_MUTEX };
	int status = EXIT_REFUSED;
	struct saved *s;
	char why[128];
	uint64_t rest;

	if (f->kind == THREADS) {
		say("%s: it does not say where threads were (--threads wants a process)", f->from);
		return EXIT_USAGE;
	}
	s = saved_open(f->from, why, sizeof(why));
	f->pp = s ? pprof_open(kinds[f->kind].type, kinds[f->kind].ntypes) : NULL;
	if (f->pp) {
		rest = saved_add(s, value[f->kind], f->pp);
		saved_modules(s, f->pp);
		f->ns = saved_lasted(s);
		status = write_out(f, saved_pid(s), saved_began(s), saved_place, s);
		if (rest)
			say("%lu ns more have no stack: there was no room for it, or a handler or a coroutine ran", rest);
	} else {
		say("%s: %s", f->from, s ? "no memory" : why);
	}
	pprof_close(f->pp);
	saved_close(s);
	return status;
}

/* Options may stand behind the words. */
static bool parse(int argc, char **argv, struct profile *f, const char **pid)
{
	bool timed = false;

	f->kind = KINDS;
	f->ns = 10 * 1000000000ULL;
	for (int i = 1; i < argc; i++) {
		enum kind k = 0;

		while (k < KINDS && strcmp(argv[i], kinds[k].option) != 0)
			k++;
		if (k < KINDS) {
			if (f->kind != KINDS)
				return false;
			f->kind = k;
		} else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
			f->to = argv[++i];
		} else if (strcmp(argv[i], "-f") == 0 && i + 1 < argc) {
			f->from = argv[++i];
		} else if (argv[i][0] == '-') {
			return false;
		} else if (!*pid) {
			*pid = argv[i];
		} else if (timed || !parse_time(argv[i], &f->ns)) {
			return false;
		} else {
			timed = true;
		}
	}
	return f->kind != KINDS && f->to && !f->from == !!*pid;
}

int verb_profile(int argc, char **argv)
{
	struct profile f = { 0 };
	const char *pid = NULL;
	int status;

	if (!parse(argc, argv, &f, &pid))
		return usage_of("profile");
#ifndef HAVE_LIBDW
	say("this weftctl was built without libdw, and has no stacks (build it where libdw-dev is)");
	return EXIT_REFUSED;
#endif
	if (f.from)
		return profile_saved(&f);
	f.p = open_scheduled(pid, &status);
	if (!f.p)
		return status;
	status = profile(&f);
	proc_close(f.p);
	return status;
}
