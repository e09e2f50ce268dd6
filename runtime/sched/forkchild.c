/*
 * forkchild: the scheduler in the child of a fork(2).
 *
 * In the child one G and one kernel thread exist: the G that forked becomes the main G on M0 (a
 * native thread that forked is made one); other Gs are gone, as POSIX says of threads; their
 * stacks stay mapped (values of the program may lie there), and they are used again only where memory is
 * refused (take_inherited() in scavenge.c).  Queues, timers, the parking lot, the
 * pools and the idle lists start empty.  sysmon starts with the next thread: most children exec.
 *
 * Nothing is locked in the parent while the kernel copies.  libc takes all locks of malloc between
 * its prepare handlers and the copy, and the holder of one of those may need a lock of weft's: a G
 * that lost its P inside malloc waits for sched.lock to get one.  (It was tried: the storm of forks
 * in tests/stress hangs.)  Nor may the caller be pinned: the P it holds while it waits there must
 * be takeable.  So other threads may be anywhere in their changes, and pages are not even copied at
 * one instant.  The child keeps only what cannot be half done: the table of Gs (entries made before
 * they are counted, and looked at again here), settings, memory that is on no list.  What was cut
 * for stacks and small objects and not yet used is lost to the child.
 *
 * Must never: start a kernel thread, park or yield in the child before the rebuild is complete;
 * read a list.
 */
#include "runtime/sched/gmp.h"

#include <string.h>

static void reset_p(struct p *pp)
{
	pp->m = NULL;
	pp->link = NULL;
	store_relaxed(&pp->sysm, NULL);
	pp->mon.schedwhen = 0; /* a preemption signal that was on its way went to the parent */
	store_relaxed(&pp->runqhead, 0);
	store_relaxed(&pp->runqtail, 0);
	store_relaxed(&pp->runnext, NULL);
	memset(pp->gfree, 0, sizeof(pp->gfree));
	store_relaxed(&pp->gfreeflush, false);
	/* The ids of this process start elsewhere (g_seedids). */
	pp->tids = (struct idcache){ 0 };
	pp->mon.blocked_m = NULL;
	lock_init(&pp->timerslock, Timers);
	/* The array may have been about to be exchanged for a bigger one. */
	memset(&pp->timers, 0, sizeof(pp->timers));
	pp->timerlist = NULL;
	store_relaxed(&pp->timer0, 0);
	store_relaxed(&pp->status, Pidle);
}

static void reset_sched(void)
{
	lock_init(&sched.lock, Sched);
	sched.runq = sched.wakeupq = (struct gqueue){ 0 };
	store_relaxed(&sched.runqsize, 0);
	store_relaxed(&sched.wakeupqsize, 0);
	store_relaxed(&sched.sysmonuntil, 0);
	store_relaxed(&sched.sysmonwake, 0);
	store_relaxed(&sched.sysmonpolls, false);
	store_relaxed(&sched.midle, NULL);
	sched.mdead = sched.mfree = NULL;
	sched.nmidle = 0;
	store_relaxed(&sched.nalarms, 0);
	store_relaxed(&sched.nprivasks, 0);
	store_relaxed(&sched.napper, NULL);
	sched.pidle = sched.pstart = NULL;
	store_relaxed(&sched.npstart, 0);
	sched.nmstarting = 0;
	sched.nresting = 0;
	store_relaxed(&sched.npidle, 0);
	store_relaxed(&sched.nmspinning, 0);
	store_relaxed(&sched.needspinning, 0);
	store_relaxed(&sched.sysmonwait, 0);
	store_relaxed(&sched.lastpoll, 1);
	store_relaxed(&sched.polluntil, 0);
	store_relaxed(&sched.netpollwakesig, 0);
	pstart_fork_child();
	gfree_fork_child();
	store_relaxed(&sched.scarce, false);
}

static void reset_gs(struct g *self)
{
	uint32_t n = load_relaxed(&sched.nallgs);

	/* Counted in a page that was copied late, its entry in one that was copied before. */
	while (n && !g_at(n - 1))
		n--;
	store_relaxed(&sched.nallgs, n);
	store_relaxed(&sched.inherited, n);
	g_fork_child();
	for (uint32_t i = 0; i < n; i++) {
		struct g *gp = g_at(i);

		if (gp == self || gstatus(gp) == Gidle)
			continue;
		gp->allgidx = i;
		store_relaxed(&gp->shim.status, Gdead);
		store_relaxed(&gp->m, NULL);
		gp->home = NULL;
	}
}

/* A thread that was no G becomes one: it is the only thread of the process. */
static struct g *adopt(void)
{
	struct g *gp = g_make();

	if (!gp)
		weft_throw("no memory for a process after a fork");
	gp->shim.goid = fetch_add_relaxed(&sched.goidgen, 1) + 1;
	g_setname(gp, "main");
	g_set_tls(gp, arch_getfs(), (uint32_t)os_getpid());
	return gp;
}

void runtime_fork_child(void)
{
	struct g *self = weft_tls.g;
	int n = load_relaxed(&gomaxprocs);

	/* sysmon may have been asking for the P; it does not exist here. */
	store_relaxed(&weft_tls.revoke, REVOKE_NONE);
	pin_m(); /* no P to be had yet */
	trace_fork_child(); /* first: no event of the child's among its parent's */
	reset_sched();
	persistent_fork_child();
	stack_fork_child();
	sigstack_fork_child();
	reset_gs(self);
	/* A G's M has it, is M0 now, and makes all others.  The caller may be behind a filter that forbids to ask. */
	if (self && fromnow_holds(FROMNOW_NONEWPRIVS))
		fromnow_set(FROMNOW_PRIVSGIVEN);
	m0.nonewprivs = fromnow_holds(FROMNOW_PRIVSGIVEN);
	store_relaxed(&privsyncs, 0);
	if (!self) {
		self = adopt();
		pin_m();
	}
	lot_fork_child();
	netpoll_fork_child();
	pollspin_fork_child();
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		reset_p(allp[i]);
		if (i >= n) {
			store_relaxed(&allp[i]->status, Pdead);
		} else if (i > 0) {
			allp[i]->link = sched.pidle;
			sched.pidle = allp[i];
			fetch_add_relaxed(&sched.npidle, 1);
		}
	}
	store_relaxed(&self->parkaddr, NULL);
	self->parked = NULL;
	self->shim.sysdepth = 0;
	store_relaxed(&self->priority, 0);
	if (self->shim.ownp & OwnHolds)
		self->lockdepth--;
	self->shim.ownp = 0;
	store_relaxed(&self->shim.holds, 0);
	self->home = NULL;
	self->cputime = self->systime = 0; /* this process's begin here, as M0's readings do */
	self->shim.tid = (uint32_t)os_getpid();
	self->tls->tid = self->shim.tid;
	g_seedids();
	g_main_ = self;
	schedinit_m0(self, m0.fs, (char *)m0.g0top);
	if (self->lockdepth) {
		self->lockedm = &m0;
		m0.lockedg = self;
	}
	acquirep(&m0, allp[0]);
	aside_fork_child();
	realtime_fork_child();
	sysmon_fork_child();
	blocked_fork_child();
	blockreport_fork_child();
	procfs_fork_child();
	dump_fork_child();
	layout_fork_child();
	unpin();
}
