/*
 * weftapi: the functions of include/weft.h but for the version: what a program may ask of its scheduler.
 *
 * Each may be called by any thread at any time, before weft has started and where it is off, too.  They stand here and
 * not in the shim, for none is of POSIX, and what they ask is the runtime's alone.
 *
 * Must never: be called by weft itself.
 */
#define WEFT_IMPLEMENTATION
#include "runtime/process.h"
#include "runtime/running.h"
#include "runtime/sched/gmp.h"
#include "weft.h"

#include <string.h>

int weft_threads(void)
{
	return weft_on ? load_relaxed(&sched.nglive) : 0;
}

/* The option is what it was told last: sysmon does not follow the CPUs any more. */
int weft_procs(int n)
{
	int old = weft_on ? load_acquire(&gomaxprocs) : 0;

	if (n < 1 || n == old)
		return old;
	if (weft_on && (fromnow_holds(FROMNOW_LOCKED) || procresize((unsigned)n, 0)))
		return -1;
	*(volatile opt_uint *)&weft_opt.procs = (unsigned)n;
	return old;
}

int weft_lock_thread(void)
{
	if (!getg())
		return -1;
	lockosthread(LOCK_SHARED, 0);
	return 0;
}

void weft_unlock_thread(void)
{
	if (getg())
		unlockosthread(false);
}

void weft_yield(void)
{
	if (getg())
		gosched();
}

/* Numbers of several moments: nobody is stopped. */
size_t weft_counters(struct weft_counters *to, size_t size)
{
	struct weft_counters c = { 0 };

	if (!weft_on)
		return 0;
	c.threads = (unsigned long)load_relaxed(&sched.nglive);
	c.procs = (unsigned long)load_acquire(&gomaxprocs);
	c.idle_procs = (unsigned long)load_seqcst(&sched.npidle);
	c.queued = (unsigned long)load_seqcst(&sched.runqsize);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		c.runs += load_relaxed(&allp[i]->runs);
		c.syscalls += load_relaxed(&allp[i]->syscalltick);
	}
	lock(&sched.lock);
	c.kernel_threads = (unsigned long)sched.nm;
	c.idle_kernel_threads = (unsigned long)sched.nmidle;
	unlock(&sched.lock);
	size = size < sizeof(c) ? size : sizeof(c);
	memcpy(to, &c, size);
	return size;
}

int weft_dump(int fd)
{
	if (!weft_on || fd < 0)
		return -1;
	runtime_dump(fd);
	return 0;
}

void weft_label(const char *text)
{
	struct g *gp = getg();

	if (gp)
		store_release(&gp->shim.label, text);
}
