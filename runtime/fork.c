/*
 * fork: the scheduler across fork(2).
 *
 * The parent holds the locks whose data the child keeps (tables of Gs, stacks, memory) while the kernel
 * copies.  In the child one G and one kernel thread exist: the G that forked becomes the main G on M0; other
 * Gs are gone, as POSIX says of threads; their stacks stay mapped (values of the program may lie there).
 * Queues, timers, the parking lot and the idle lists start empty.  sysmon starts with the next thread: most
 * children exec.
 *
 * Must never: start a kernel thread, park or yield in the child before the rebuild is complete.
 */
#include "runtime/gmp.h"

void runtime_fork_prepare(void)
{
	lock(&sched.lock);
	lock(&sched.gfreelock);
	lock(&sched.allglock);
	stack_fork_lock();
	arena_fork_lock();
}

void runtime_fork_parent(void)
{
	arena_fork_unlock();
	stack_fork_unlock();
	unlock(&sched.allglock);
	unlock(&sched.gfreelock);
	unlock(&sched.lock);
}

static void reset_p(struct p *pp)
{
	pp->m = NULL;
	pp->link = NULL;
	atomic_store(&pp->sysm, NULL);
	pp->mon_schedwhen = 0; /* a preemption signal that was on its way went to the parent */
	atomic_store(&pp->runqhead, 0);
	atomic_store(&pp->runqtail, 0);
	atomic_store(&pp->runnext, NULL);
	/* Cached free Gs of other Ps may have been half moved when the copy was made. */
	pp->gfree = NULL;
	pp->ngfree = 0;
	/* The ids of this process start elsewhere (g_seedids). */
	pp->tids = (struct idcache){ 0 };
	pp->hand_m = NULL;
	lock_init(&pp->timerslock, Timers);
	pp->ntimers = 0;
	pp->timerlist = NULL;
	atomic_store(&pp->timer0, 0);
	atomic_store(&pp->status, Pidle);
}

static void reset_sched(void)
{
	sched.runq = sched.urgent = (struct gqueue){ 0 };
	atomic_store(&sched.runqsize, 0);
	atomic_store(&sched.urgentsize, 0);
	atomic_store(&sched.monuntil, 0);
	atomic_store(&sched.monwake, 0);
	atomic_store(&sched.monpolls, false);
	sched.midle = sched.mdead = sched.mfree = NULL;
	sched.nmidle = 0;
	sched.pidle = sched.pstart = NULL;
	sched.nmwanted = 0;
	atomic_store(&sched.npidle, 0);
	atomic_store(&sched.nmspinning, 0);
	atomic_store(&sched.needspinning, 0);
	atomic_store(&sched.sysmonwait, 0);
	atomic_store(&sched.lastpoll, 1);
	atomic_store(&sched.polluntil, 0);
	atomic_store(&sched.pollbreak, 0);
	sched.gfree = sched.godd = NULL;
	sched.ngfree = sched.ngodd = 0;
}

void runtime_fork_child(void)
{
	struct g *self = weft_tls.g;
	int n = atomic_load(&gomaxprocs);

	runtime_fork_parent(); /* same thread, same locks */
	for (uint32_t i = 0; i < atomic_load(&sched.nallgs); i++) {
		struct g *gp = g_at(i);

		if (gp == self)
			continue;
		atomic_store(&gp->status, Gdead);
		atomic_store(&gp->m, NULL);
	}
	reset_sched();
	lot_fork_child();
	netpoll_fork_child();
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		reset_p(allp[i]);
		if (i >= n) {
			atomic_store(&allp[i]->status, Pdead);
		} else if (i > 0) {
			allp[i]->link = sched.pidle;
			sched.pidle = allp[i];
			atomic_fetch_add(&sched.npidle, 1);
		}
	}
	atomic_store(&self->parkaddr, NULL);
	self->sysdepth = 0;
	self->tls->nop = NOP_NONE; /* sysmon may have been asking */
	self->tid = (uint32_t)os_getpid();
	self->tls->tid = self->tid;
	g_seedids();
	g_main_ = self;
	start_m0(self, m0.fs, (char *)m0.g0top);
	if (self->lockdepth) {
		self->lockedm = &m0;
		m0.lockedg = self;
	}
	acquirep(&m0, allp[0]);
	sysmon_forget();
	handoff_fork_child();
	pinreport_fork_child();
	aside_fork_child();
}
