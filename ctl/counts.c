/*
 * counts: counts.h.
 *
 * Must never: stop the process; take longer than one walk over its tables.
 */
#include "ctl/counts.h"

#include "ctl/verbs.h"

#include <string.h>
#include <unistd.h>

static bool add_g(const struct proc_g *g, void *arg)
{
	struct counts *c = arg;

	c->threads++;
	c->running += g->status == GRUNNING;
	c->runnable += g->status == GRUNNABLE;
	c->calls += g->status == GSYSCALL;
	if (g->status == GWAITING) {
		c->waiting++;
		c->reason[g->waitreason < NREASON ? g->waitreason : 0]++;
	}
	return true;
}

static bool add_p(const struct proc_p *q, void *arg)
{
	struct counts *c = arg;

	c->psbusy += q->status == PRUNNING || q->status == PSYSCALL;
	c->queued += q->queued;
	c->runs += q->runs;
	c->schedules += q->schedtick;
	c->syscalls += q->syscalltick;
	return true;
}

/* The 14th and 15th word of /proc/PID/stat, in ticks; the second, a name, may hold anything. */
static uint64_t cpu_of(pid_t pid)
{
	unsigned long user = 0, kernel = 0;
	char path[64], text[1024], *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
		return 0;
	return (user + kernel) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool counts_take(const struct proc *p, struct counts *c)
{
	*c = (struct counts){ .when = now_ns() };
	proc_each_g(p, add_g, c);
	proc_each_p(p, add_p, c);
	c->ps = proc_gomaxprocs(p);
	c->ms = (int)proc_sched(p, LF_sched_nm);
	c->msidle = (int)proc_sched(p, LF_sched_nmidle);
	c->spinning = (int)proc_sched(p, LF_sched_nmspinning);
	c->queued += proc_sched(p, LF_sched_runqsize) + proc_sched(p, LF_sched_wakeupqsize);
	c->cpu = cpu_of(p->pid);
	return !proc_gone(p);
}

double counts_rate(const struct counts *was, const struct counts *now, uint64_t then, uint64_t here)
{
	uint64_t ns = now->when - was->when;

	/* A P that was taken away takes its counts with it. */
	return ns && here > then ? (double)(here - then) * 1e9 / (double)ns : 0;
}
