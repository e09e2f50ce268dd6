/*
 * proc: which G runs.  The scheduler's core; read this file first.
 *
 * G    a user-level thread: a stack, a glibc thread block, a saved stack pointer.
 * M    a kernel thread.  Runs scheduler code on its g0 stack and Gs on theirs.
 * P    the right to run Gs, gomaxprocs of them, each with a local queue and timers.  An M must own a P to
 *      run a G; an M in a system call leaves its P behind, where sysmon may take it.
 *
 * schedule() runs on g0, never returns, and starts at the top of g0's stack each time (mcall), so
 * nothing on g0 survives a switch.  FS belongs to the stack: on g0 it is the M's block, on a G the
 * G's.
 *
 * Where weft departs from Go (options, see options.def; the figures that decided are in README.md
 * beside this file):
 *   readywake=0    ready() from a running G wakes nobody: the G just readied most likely runs next here.
 *   wakesurplus=N  creation wakes an idle P only when more than N Gs are queued locally.
 *   nap=NS         an idle M looks again after a nap, doubling, while another P is busy.
 *   stealage=NS    only work that has waited is stolen.
 * sysmon backs all of them up: it finds queued work beside an idle P within its period.
 * findrunnable.c looks for what a P runs next.  idle.c is for an M that finds nothing, and has the
 * rule against lost wake-ups.
 *
 * Must never: block while holding a P; call libc; run on a G's stack after the G was published
 * elsewhere.
 */
#include "runtime/sched/sched_inline.h"

struct sched sched = { .lock = LOCK_INIT(Sched),
		       .gfreelock = LOCK_INIT(Gfree),
		       .allglock = LOCK_INIT(Allgs) };
struct p *allp[MAXPROCS];
_Atomic int32_t gomaxprocs;
struct m m0;
struct g *g_main_;
struct runtime_hooks hooks;
int weft_on;
__thread struct weft_tls weft_tls __attribute__((tls_model("initial-exec")));

void mcall(void (*fn)(void *))
{
	struct g *gp = weft_tls.g;
	struct m *mp;

	/*
	 * The G is pinned until it runs again: no handler may run between the reading of g0's top
	 * and the switch, nor during the switch back.
	 */
	pin();
	mp = load_relaxed(&gp->m);
	if (unlikely(duties()))
		duties_leave(gp, mp);
	arch_mcall(&gp->sp, mp->fs, mp->g0top, fn, gp);
	/* While it was off there was no M to send a signal to. */
	if (unlikely(load_relaxed(&gp->interrupted)))
		weft_tls.need_resched = 1;
	unpin();
}

/*
 * gp was woken, or has ended, before it left its stack (park.c); its M is about to, unless the
 * kernel stopped it there.
 */
void g_await_off(struct g *gp)
{
	for (struct moment w = { 0 }; load_acquire(&gp->m);)
		moment_step(&w);
}

void execute(struct m *mp, struct g *gp, bool inherit)
{
	if (unlikely(!gp->sp))
		g_begin(mp->p, gp, NULL);
	prepare_switch(mp, gp, inherit);
	finish_switch(mp, gp);
	arch_gogo(gp->sp, gp->shim.fs);
}

/*
 * The M of a locked G, with a P, when all that waits stands in the global queue.  True: its own G is
 * first and goes on.  When the first is locked to another M, that one gets the P: a third M that
 * took it, looked and passed it on would double the switches of two that yield to each other.
 */
static bool own_turn(struct m *mp)
{
	struct p *pp = mp->p;
	uint64_t first = load_seqcst(&pp->timer0);
	struct m *owner = NULL;
	struct g *gp;

	if (pp->own || !runqempty(pp) || (first && nanotime() >= first) || weft_opt.chaos ||
	    pp->id >= load_acquire(&gomaxprocs))
		return false;
	lock(&sched.lock);
	gp = sched.wakeupq.head ? sched.wakeupq.head : sched.runq.head;
	if (gp && gp->lockedm) {
		owner = gp->lockedm;
		globrunqget(pp, 1, true);
		if (owner != mp)
			owner->nextp = releasep(mp);
	}
	unlock(&sched.lock);
	if (owner && owner != mp)
		mwake(owner);
	return owner == mp;
}

void schedule(void *unused)
{
	struct m *mp = weft_tls.m;

	(void)unused;
	for (;;) {
		struct g *gp;
		bool inherit;

		if (mp->p && !mp->spinning && (gp = nextlocal(mp, &inherit)))
			execute(mp, gp, inherit);
		if (mp->lockedg) {
			if (!mp->p || !own_turn(mp))
				stoplockedm(mp);
			if (unlikely(!mp->lockedg))
				continue;
			execute(mp, mp->lockedg, false);
		}
		if (mp->p && unlikely(load_relaxed(&mp->p->gfreeflush)))
			g_cachefree(mp->p);
		if (p_retire_if_dying(mp))
			idle(mp);
		gp = findrunnable(mp, &inherit);
		if (mp->spinning)
			resetspinning(mp);
		mp->napns = 0;
		/* It may be locked on its way off its M (lockall.c), where a waker found it already. */
		if (unlikely(load_acquire(&gp->m)))
			g_await_off(gp);
		if (gp->lockedm && gp->lockedm != mp) {
			startlockedm(mp, gp);
			continue;
		}
		execute(mp, gp, inherit);
	}
}

int g_start(struct g *gp, bool locked)
{
	struct p *pp;

	if (unlikely(!sysmon_start()))
		return -EAGAIN;
	g_set_tls(gp, gp->shim.fs, gp->shim.tid);
	if (unlikely(locked))
		return g_start_locked(gp);
	fetch_add_acq_rel(&sched.nglive, 1);
	gp->tls->locks = 1; /* pinned as everything that was switched away; entry() unpins */
	store_release(&gp->shim.status, Grunnable);
	pin();
	trace_create(gp);
	pp = getp();
	if (pp && !pp->own) {
		/*
		 * In the order of creation, as natively: a G that was created earlier is not pushed
		 * out of runnext.
		 */
		bool first = !load_relaxed(&pp->runnext);

		if (first)
			first = putnext(pp, gp);
		else
			runqput(pp, gp, false);
		/* runqlen() counts runnext: a G that is alone there is no surplus. */
		if (weft_opt.wakesurplus == 0 ||
		    (!first && runqlen(pp) > weft_opt.wakesurplus))
			wakep_for(pp);
		else if (unlikely(waker_computes_on()))
			waker_ready(weft_tls.g, pp, READY_TAIL);
	} else {
		ready(gp, READY_TAIL);
	}
	nonewprivs_born();
	unpin();
	return 0;
}

static void gosched_m(void *arg)
{
	struct g *gp = arg;

	TRACE(YIELD, gp->shim.goid, 0, NULL, 0, false);
	offm(gp);
	lock(&sched.lock);
	globrunqput(gp, false);
	unlock(&sched.lock);
	schedule(NULL);
}

static void goyield_m(void *arg)
{
	struct g *gp = arg;

	TRACE(YIELD, gp->shim.goid, 0, NULL, 0, false);
	runqput(offm(gp)->p, gp, false);
	schedule(NULL);
}

void gosched(void)
{
	struct g *gp = weft_tls.g;
	struct p *pp;
	bool alone;

	if (gp && realtime_keeps(gp, 0)) {
		pin();
		realtime_keep(gp);
		unpin();
	}
	/*
	 * The kernel's turn as well, where it decides between Ms that both have work: with more Ps
	 * than CPUs, and for a locked G, whose M may share its only CPU, at a real-time priority,
	 * with the one it yields to.
	 */
	if (unlikely(load_relaxed(&sched.oversubscribed) ||
		     (gp && gp->lockdepth)))
		os_osyield();
	pin();
	pp = getp();
	/* Nothing else is runnable: return, as sched_yield(2) does. */
	alone = !pp || pp->own || (runqempty(pp) && load_seqcst(&sched.runqsize) == 0 &&
			load_seqcst(&pp->timer0) == 0 && !weft_opt.chaos);
	unpin();
	if (!alone)
		mcall(gosched_m);
}

void runtime_yieldhere(void)
{
	struct g *gp = weft_tls.g;
	struct m *mp;

	if (unlikely(weft_tls.need_resched))
		preempt_resched();
	if (likely(!weft_opt.chaos) || !gp || gp->shim.sysdepth || gp->shim.ownp)
		return;
	if (realtime_keeps(gp, 0)) {
		pin();
		realtime_keep(gp);
		unpin();
		return;
	}
	mp = getm();
	switch (nextrand(&mp->rng) % CHAOS_PART) {
	case 0:
		mcall(gosched_m);
		break;
	case 1:
		mcall(goyield_m);
		break;
	}
}
