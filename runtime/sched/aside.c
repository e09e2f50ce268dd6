/*
 * aside: Ms that are set aside for one G each, and the M in reserve that the others run on.
 *
 * A G that changes its kernel thread, or needs it to stay the same, is locked to its M: the M then runs no
 * other G.  So does the home of a G with children (home.c).  All other Gs need an M that is not set aside,
 * and such an M cannot be made at any time: the spawner makes it under locks of libc's and of the program's
 * malloc, whose holder may be one of the Gs that have no M.  Hence
 *
 *	the rule	an M is set aside only by a G that saw, pinned on it, another M on the idle list
 *
 * from which follows that one M at least is never set aside.  Suppose that all were, and take the G that
 * looked last.  The M that it found idle was set aside as well, by a G that looked while it ran there: later.
 *
 * A G that finds no idle M asks for one and waits.  The M that it runs on is the others' meanwhile: they
 * have their turns, the holder of that lock too.  So the wait ends, but where the kernel gives no more
 * threads, or where the caller itself holds the lock: ASIDE_NS bounds it.
 *
 * A caller that may well hold the lock asks, and goes on without another M: a handler of the program, which
 * may have interrupted malloc; a fork in the middle of its handlers.  That its M is set aside all the same
 * keeps the M for the holder: a call that waits in the handler gives the M to no other G, which might not come
 * back from the kernel.  For the same reason such a caller does not wait a moment: in it the P may be taken.
 * So does a caller that may not wait (trylock): the other M comes meanwhile, unless the lock's holder waits
 * for a G that has the spawner's.
 *
 * M0 cannot end, so a G that is not main leaves it before it is locked for long.
 *
 * Rejected: to make the M when one is set aside (that is too late: the lock); to give a P to an M that is
 * set aside (it differs from the others: niceness, CPUs, filters).
 *
 * Must never: wait with sched.lock, or pinned.
 */
#include "runtime/sched/gmp.h"

/* ---- one M in reserve ------------------------------------------------------------------------ */

/* the last M made in reserve: until it has started, another would not help; never freed */
static struct m *lastspare;
static _Atomic bool refused; /* the kernel gave no thread for it: until it gives one again */
static _Atomic bool hopeless; /* some G asked again for STANDSTILL_NS, and was refused: until the same */

/* What is read without the lock is a hint: one more or one fewer does no harm. */
bool m_wants_spare(void)
{
	struct m *last = load_relaxed(&lastspare);

	return !(fromnow_holds(FROMNOW_NOMORE) || load_relaxed(&sched.nmidle) > 0 ||
		 load_relaxed(&sched.pstart) ||
		 load_relaxed(&sched.nm) + SPARE_BELOW > sched.maxm ||
		 (last && !load_relaxed(&last->ostid)));
}

/* An M that is idle at first; false: none is to be had. */
bool m_make_idle(void)
{
	struct m *mp;
	bool single;

	lock(&sched.lock);
	single = load_relaxed(&sched.single); /* the last look of retire() (onlymain.c) may have been */
	if (!single)
		sched.nmstarting++;
	unlock(&sched.lock);
	if (single)
		return false;
	mp = newm(NULL);
	if (!mp) {
		lock(&sched.lock);
		sched.nmstarting--;
		unlock(&sched.lock);
	}
	store_relaxed(&lastspare, mp);
	store_relaxed(&refused, !mp);
	if (mp)
		store_relaxed(&hopeless, false);
	return mp != NULL;
}

/* spawner only. */
void m_make_spare(void)
{
	if (m_wants_spare())
		m_make_idle();
}

void aside_fork_child(void)
{
	lastspare = NULL; /* it will never start in the child */
	store_relaxed(&refused, false);
	store_relaxed(&hopeless, false);
}

/* ---- the rule -------------------------------------------------------------------------------- */

/*
 * No M can be had in reserve, or none is needed: the caller is the only G.  Who has to leave M0, since some time
 * (0: nobody has to), does not take the kernel's first no for an answer: a child that it makes there counts as
 * main's, and other processes may have taken all threads that there may be for a moment alone.
 */
static bool needless(uint64_t since)
{
	if (runtime_alone() || !spawner_runs() || fromnow_holds(FROMNOW_NOMORE) ||
	    fromnow_holds(FROMNOW_LOCKED) || load_relaxed(&sched.nm) + SPARE_BELOW > sched.maxm)
		return true;
	if (likely(!load_relaxed(&refused)))
		return false;
	if (!since || load_relaxed(&hopeless))
		return true;
	if (nanotime() < since + STANDSTILL_NS)
		return false;
	store_relaxed(&hopeless, true);
	return true;
}

/* Not the poller: that may be sysmon. */
static bool another_there(void)
{
	return load_relaxed(&sched.nmidle) > 0;
}

/*
 * Waits for an idle M.  The spawner may need a lock whose holder waits for this P: so others have their
 * turn after STARTING_LONG.  Not at once: those that were created later, and compute, would all run
 * before the caller.
 */
static void await_another(uint64_t until, uint64_t since)
{
	for (struct moment w = { 0 }; !another_there() && !needless(since); moment_wait(&w)) {
		spawner_want_spare();
		if (nanotime() >= until)
			return;
		if (moment_over(&w, STARTING_LONG))
			gosched();
	}
}

/* On g0, with an M on the idle list: that one gets the P, and the G as the next to run. */
static void leave_m0(void *arg)
{
	struct g *gp = arg;
	struct m *mp = offm(gp);

	runqput(mp->p, gp, true);
	handoffp(releasep(mp));
	while (!mp->p)
		stopm(mp, 0);
	schedule(NULL);
}

static bool on_stack(const struct g *gp, uintptr_t sp)
{
	return sp - (uintptr_t)gp->stack.base < (uintptr_t)(gp->stack.top - gp->stack.base);
}

/*
 * A handler of the program runs.  One that was left by an exception says nothing of that: the stack pointer is above
 * its frame then, or on another stack.
 */
static bool in_handler(const struct g *gp)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0), handler = weft_tls.handlersp;

	if (likely(!handler))
		return false;
	if (sp < handler && on_stack(gp, sp) == on_stack(gp, handler))
		return true;
	weft_tls.handlersp = 0;
	return false;
}

/* Until when a caller waits that has the deadline until (0: none). */
static uint64_t patience(const struct g *gp, uint64_t until)
{
	uint64_t most = nanotime() + ASIDE_NS;

	if (in_handler(gp))
		return ASIDE_NOW;
	return until && until < most ? until : most;
}

/* Returns pinned, on the M that the caller is to be locked to. */
static void come_to(struct g *gp, bool leaves, uint64_t until)
{
	uint64_t began = nanotime();
	bool over = false;

	leaves = leaves && gp != g_main_ && !fromnow_holds(FROMNOW_LOCKED);
	until = patience(gp, until);
	for (;;) {
		bool from_m0;

		pin();
		from_m0 = leaves && getm() == &m0;
		if (over || (!from_m0 && (another_there() || needless(0))))
			return;
		if (getm() == &m0) /* as in preempt_here(): we may be in a handler */
			m0.sigmask = os_sigmask_get();
		unpin();
		await_another(until, from_m0 ? began : 0);
		/* M0 may be woken for another reason and find the G first: then it leaves again. */
		if (from_m0 && another_there())
			mcall(leave_m0);
		over = nanotime() >= until || (!another_there() && needless(from_m0 ? began : 0));
	}
}

/* ---- locked Gs ------------------------------------------------------------------------------- */

static void lock_to_m(bool leaves, uint64_t until)
{
	struct g *gp = weft_tls.g;

	if (!gp)
		return;
	if (unlikely(gp->lockdepth || gp->shim.sysdepth || gp->home || weft_tls.locks))
		pin();
	else
		come_to(gp, leaves, until);
	if (gp->lockdepth++) { /* before, or as all are (lockall.c) */
		unpin();
		return;
	}
	gp->lockedm = unlikely(gp->home != NULL) && !gp->shim.sysdepth ? gp->home : getm();
	gp->lockedm->lockedg = gp;
	unpin();
	if (unlikely(gp->home != NULL))
		home_go(gp);
}

void lockosthread(enum lockfor what, uint64_t until)
{
	static bool said;
	struct g *gp = weft_tls.g;

	lock_to_m(what != LOCK_SHARED, until);
	if (what == LOCK_OWN && !until && gp && gp != g_main_ && gp->lockdepth == 1 && gp->lockedm == &m0 &&
	    !exchange_relaxed(&said, true))
		weft_say("no kernel thread is to be had (what a thread changes of its own, main has too)");
}

void unlockosthread(bool made)
{
	struct g *gp = weft_tls.g;

	if (!gp || !gp->lockdepth)
		return;
	if (made)
		home_made(gp);
	if (--gp->lockdepth)
		return;
	/*
	 * Pinned, so that both change together: a G whose lockedm has no lockedg would be handed to
	 * that M for nothing.
	 */
	pin();
	if (gp->lockedm != gp->home)
		gp->lockedm->lockedg = NULL;
	gp->lockedm = NULL;
	unpin();
}
