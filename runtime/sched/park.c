/*
 * park: the one way to block and the one way to wake.
 *
 * A G that parks was made Gwaiting before any thread could ready it, and goes to sleep whatever
 * happens.  It may be readied before it left its stack; gp->m tells the M that picks it when that
 * is so.  That M waits (prepare_switch) on g0, with no stack of its own still to leave, so two Ms cannot
 * wait for each other.  No lock is held across the switch.
 */
#include "runtime/sched/sched_inline.h"

/* No thread runs on gp's stack any more. */
static inline void release_stack(struct g *gp)
{
	/* Release: pairs with prepare_switch() on the M that was given gp to run, perhaps long ago. */
	store_release(&gp->m, NULL);
}

static void park_m(void *arg)
{
	struct m *mp = weft_tls.m;

	store_relaxed(&mp->curg, NULL);
	release_stack(arg);
	schedule(NULL);
}

/*
 * First of all on the stack of the G that runs next, which is pinned as everything that was
 * switched away.
 */
static inline struct m *finish_switch_self(void)
{
	struct g *gp = weft_tls.g;
	struct m *mp = load_relaxed(&gp->m);

	finish_switch(mp, gp);
	return mp;
}

static void finish_park(void *arg)
{
	finish_switch_self();
	release_stack(arg);
}

/*
 * Switches straight to the next G of this P, if that is what schedule() would do: that saves g0 and
 * one change of FS.  after runs on the next G's stack.
 * over: the caller will not return to its stack.  A next G that has not begun may have it, which goexit0() sees to:
 * that G's context would lie where the caller's frames are.
 */
static inline __attribute__((always_inline)) bool to_next(struct m *mp, struct g *gp, void (*after)(void *), bool over)
{
	bool inherit;
	struct g *next = nextlocal(mp, &inherit);

	if (!next)
		return false;
	if (unlikely(!next->sp)) {
		if (over) {
			mp->begins = next;
			mp->begininherits = inherit;
			return false;
		}
		g_begin(mp->p, next, NULL);
	}
	prepare_switch(mp, next, inherit);
	arch_switch(&gp->sp, next->sp, next->shim.fs, after, gp);
	return true;
}

void gopark_pinned(enum waitreason why, const void *addr)
{
	struct g *gp = weft_tls.g;
	struct m *mp = getm();

	if (unlikely(!mp || !mp->p))
		throw("gopark: g%lu has no P", gp->shim.goid);
	lockrank_none("gopark");
	gp->waitreason = (uint8_t)why;
	gp->waitaddr = addr;
	gp->gaveway = false;
	trace_park(gp, why, addr);
	if (weft_opt.dumpsig || weft_opt.schedtrace)
		gp->waitsince = nanotime();
	if (!to_next(mp, gp, finish_park, false))
		mcall(park_m);
	gp->waitreason = WaitNone;
	gp->waitaddr = NULL;
}

/* Makes a runnable G known to the scheduler. */
static inline __attribute__((always_inline)) void ready_pinned(struct g *gp, enum readyhow how)
{
	struct p *pp = getp();

	if (unlikely(load_relaxed(&realtime))) {
		if (gp->shim.ownp) {
			mwake(gp->lockedm);
			return;
		}
		if (pp && pp->own)
			pp = NULL;
	}
	if (likely(pp && how != READY_WOKEN)) {
		/* At the tail a waiter would have the lock, or could, for the slices of all Gs that compute. */
		if (how == READY_NEXT || (how == READY_LOCK && load_relaxed(&pp->mon.cpubound)))
			putnext(pp, gp);
		else
			runqput(pp, gp, false);
		if (weft_opt.readywake)
			wakep();
		else if (unlikely(waker_computes_on()))
			waker_ready(weft_tls.g, pp, how);
	} else {
		/*
		 * The caller has no P (native thread, sysmon, a G in a system call): no M would
		 * look at a local queue.  Or what is queued there computes for long.
		 */
		lock(&sched.lock);
		globrunqwoken(gp);
		unlock(&sched.lock);
		wakep();
		if (!pp)
			sysmon_wake_by(0);
	}
}

void ready(struct g *gp, enum readyhow how)
{
	pin();
	ready_pinned(gp, how);
	unpin();
}

void goready_pinned(struct g *gp, enum readyhow how)
{
	/*
	 * No compare-and-swap: exactly one waker gets hold of a parked G (parkinglot.h), two would be seen
	 * here or in execute().
	 */
	uint32_t s = load_acquire(&gp->shim.status);

	if (unlikely(s != Gwaiting))
		throw("goready: g%lu has status %u", gp->shim.goid, s);
	store_relaxed(&gp->shim.status, Grunnable);
	trace_ready(gp);
	ready_pinned(gp, how);
}

void goready(struct g *gp, enum readyhow how)
{
	pin();
	goready_pinned(gp, how);
	unpin();
}

/* No thread runs on gp's stack any more, and none will in this life. */
static void gdestroy(struct g *gp)
{
	bool drop = gp->drop;

	gp->lockedm = NULL;
	gp->lockdepth = 0;
	gp->lockedforgood = false;
	store_relaxed(&gp->shim.privlocked, false);
	store_relaxed(&gp->shim.nonewprivs, false);
	store_relaxed(&gp->shim.holds, 0);
	store_relaxed(&gp->shim.status, Gdead);
	/* Release: pairs with g_await_off(), after which another thread may use gp. */
	store_release(&gp->m, NULL);
	if (drop)
		g_free(gp);
}

static void finish_exit(void *arg)
{
	finish_switch_self();
	gdestroy(arg);
}

static void goexit0(void *arg)
{
	struct m *mp = weft_tls.m;
	struct g *gp = arg, *next = mp->begins;
	/* What was not waited for is told; none, and the M that made it goes on. */
	bool locked = mp->lockedg && (gp->lockdepth || os_has_children());

	store_relaxed(&mp->curg, NULL);
	gp->home = NULL;
	/*
	 * An M that ends stays marked: it must not start others, which would inherit what it
	 * carries.
	 */
	if (mp == &m0 || !locked)
		mp->lockedg = NULL;
	mp->begins = NULL;
	if (next)
		g_begin(mp->p, next, gp);
	gdestroy(gp);
	if (next)
		execute(mp, next, mp->begininherits);
	if (locked && mp != &m0) {
		/*
		 * What the locked G changed of its kernel thread (policy, affinity, namespaces) ends
		 * with that thread.  The kernel tells the child processes that it made.
		 */
		handoffp(releasep(mp));
		mexit(mp);
	}
	schedule(NULL);
}

/*
 * ended is called before the stack is left, so that the G that it readies can be switched to at
 * once.  The thread that frees the caller's G afterwards waits until the stack is left
 * (g_await_off).  ended says true: no thread will, and gdestroy() frees it.
 */
void goexit(bool (*ended)(void *arg), void *arg)
{
	struct g *gp = weft_tls.g;

	syscall_reset();
	if (unlikely(gp->shim.ownp))
		realtime_end(gp);
	if (fetch_sub_acq_rel(&sched.nglive, 1) == 1)
		hooks.lastexit();
	pin(); /* for good */
	if (unlikely(gp->home != NULL))
		home_leave(gp);
	gp->drop = ended(arg);
	trace_exit(gp);
	if (!to_next(getm(), gp, finish_exit, true))
		mcall(goexit0);
	__builtin_unreachable();
}
