/*
 * trace: what a run did, for a person: virtual time, CPU, M or other task, P, G, function and what.
 *
 * The last lines are kept as they are noted, and made to text only when they are wanted: most never are.
 *
 * Must never: be a point, or change what the run does.
 */
#include "tests/sim/sim.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/sched/gmp.h"

static struct sim_shared own;
struct sim_shared *sim_shared = &own;

enum { LINES = 64, SHOWN = 40 };
struct line {
	const char *fmt;
	uintptr_t a, b;
	const void *pc, *at;
	uint64_t clock;
	int cpu, p;
	uint64_t g;
	char task[16];
};
static struct line lines[LINES];
static unsigned nlines;

/* ---- names of functions and objects ---------------------------------------------------------- */

static const Elf64_Sym *symbols;
static const char *strings;
static size_t nsymbols;
static uintptr_t base;

static int first_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	base = info->dlpi_addr;
	return 1;
}

static bool load_symbols(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	const char *file;
	const Elf64_Ehdr *eh;
	const Elf64_Shdr *sh;

	if (nsymbols || fd < 0 || fstat(fd, &st))
		return nsymbols;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return false;
	eh = (const Elf64_Ehdr *)file;
	sh = (const Elf64_Shdr *)(file + eh->e_shoff);
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		symbols = (const Elf64_Sym *)(file + sh[i].sh_offset);
		nsymbols = sh[i].sh_size / sizeof(*symbols);
		strings = file + sh[sh[i].sh_link].sh_offset;
	}
	dl_iterate_phdr(first_base, NULL);
	return nsymbols;
}

/* "name" or "name+offset"; "" when the address is in none. */
static void name_of(const void *at, bool function, char *to, size_t size)
{
	uintptr_t a = (uintptr_t)at - base;

	*to = 0;
	if (!at || !load_symbols())
		return;
	a = (uintptr_t)at - base;
	for (size_t i = 0; i < nsymbols; i++) {
		const Elf64_Sym *s = &symbols[i];
		int type = ELF64_ST_TYPE(s->st_info);

		if (type != (function ? STT_FUNC : STT_OBJECT) || a < s->st_value || a >= s->st_value + s->st_size)
			continue;
		if (function || a == s->st_value)
			snprintf(to, size, "%s", strings + s->st_name);
		else
			snprintf(to, size, "%s+%lu", strings + s->st_name, a - s->st_value);
		return;
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void number(char *to, char letter, int64_t n)
{
	if (n < 0)
		snprintf(to, 24, "-");
	else
		snprintf(to, 24, "%c%ld", letter, n);
}

static void print(const struct line *l)
{
	char p[24], g[24], function[64], object[64];

	number(p, 'p', l->p);
	number(g, 'g', (int64_t)l->g - 1);
	name_of(l->pc, true, function, sizeof(function));
	name_of(l->at, false, object, sizeof(object));
	printf("  %12.3f us  cpu%-2d %-8s %-3s %-5s ", (double)(l->clock - SIM_BEGIN) / 1000, l->cpu, l->task, p, g);
	if (*function)
		printf("%s: ", function);
	printf(l->fmt, l->a, l->b); /* only %s and %lu of the two */
	printf("%s%s\n", *object ? " " : "", object);
}

static void note(const char *fmt, uintptr_t a, uintptr_t b, const void *pc, const void *at)
{
	struct line *l = &lines[nlines++ % LINES];
	struct g *gp = weft_tls.g;
	struct m *mp = gp ? load_relaxed(&gp->m) : weft_tls.m;

	l->fmt = fmt;
	l->a = a;
	l->b = b;
	l->pc = pc;
	l->at = at;
	l->clock = sim.cur->clock;
	l->cpu = sim.cur->cpu;
	if (mp && *sim.cur->name == 't') /* by its id, since it has one */
		snprintf(sim.cur->name, sizeof(sim.cur->name), "m%d", mp->id);
	l->p = mp && mp->p ? mp->p->id : -1;
	l->g = gp ? gp->shim.goid + 1 : 0;
	memcpy(l->task, sim.cur->name, sizeof(l->task));
	if (opt.trace)
		print(l);
}

void sim_trace(const char *fmt, uintptr_t a, uintptr_t b)
{
	note(fmt, a, b, NULL, NULL);
}

void sim_trace_access(const char *what, const void *pc, const void *at)
{
	note(what, 0, 0, pc, at);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void print_task(const struct task *t)
{
	static const char *const names[] = { "free", "ready", "running", "blocked", "ended" };
	char object[64];

	name_of(t->futex, false, object, sizeof(object));
	printf("  task %d %s: %s%s%s", t->tid, t->name, names[t->state], t->state == TASK_BLOCKED ? ": " : "",
	       t->state == TASK_BLOCKED ? t->why : "");
	if (t->futex)
		printf(" %s", *object ? object : "of an M or a waiter");
	if (t->state == TASK_BLOCKED && t->deadline)
		printf(", until %.3f us", (double)(t->deadline - SIM_BEGIN) / 1000);
	printf(", at %.3f us\n", (double)(t->clock - SIM_BEGIN) / 1000);
}

static void print_p(struct p *pp)
{
	static const char *const names[] = { "idle", "running", "in a system call", "stopped", "dead",
					     "asked to give way" };
	uint64_t first = load_relaxed(&pp->timer0);

	printf("  p%d: %s, %u Gs queued", pp->id, names[load_relaxed(&pp->status)], runqlen(pp));
	if (pp->m)
		printf(", m%d", pp->m->id);
	if (first)
		printf(", first timer at %.3f us", (double)(first - SIM_BEGIN) / 1000);
	printf("%s\n", load_relaxed(&pp->mon.cpubound) ? ", computes" : "");
}

static void print_state(void)
{
	sim.choosing = true; /* none of it is a point */
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].state != TASK_FREE && sim.tasks[i].state != TASK_ENDED)
			print_task(&sim.tasks[i]);
	for (int i = 0; sim.judged && i < MAXPROCS && allp[i]; i++)
		print_p(allp[i]);
	printf("  %d Ps, %d idle; %d Gs in the global queues; %d Ms spin\n", load_relaxed(&gomaxprocs),
	       load_relaxed(&sched.npidle), load_relaxed(&sched.runqsize), load_relaxed(&sched.nmspinning));
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	sim_shared->fault = fmt;
	sim_shared->steps_at_fault = sim.steps;
	sim_shared->nanswers = sim_record.n;
	if (!opt.trace)
		for (unsigned i = nlines > SHOWN ? nlines - SHOWN : 0; i < nlines; i++)
			print(&lines[i % LINES]);
	print_state();
	printf("FAULT seed=%lu workload=%s procs=%u cpus=%u %s%s%s step=%lu: ", opt.seed, opt.workload, opt.procs,
	       opt.cpus, opt.fine ? "fine" : "coarse", opt.pct ? " pct" : "", opt.tso ? " tso" : "", sim.steps);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}
