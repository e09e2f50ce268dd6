/*
 * home: the M on which a G made its child processes.
 *
 * To the kernel the parent of a child is the kernel thread that made it, and so is the tracer of what
 * a thread attached to: the child's PR_SET_PDEATHSIG comes when that kernel thread ends, ptrace(2)
 * answers to it alone, and so does wait(2) with __WNOTHREAD.  To the program it is the G.  So the M
 * that made a child is set aside for its G: the M runs no other G (m->lockedg), while the G itself
 * runs anywhere, and comes back (it is locked for that time) to make another child or where the
 * kernel thread matters.  The M waits for it asleep, with nothing of the scheduler's.
 *
 * The M is free again when the G, on this M, has waited for its last child.  When the G ends and
 * children are left, the M leaves for good, and the kernel tells them.  M0 cannot leave: what main
 * made there is told when the process ends.
 *
 * Rejected: an M that stays, but runs others: one of them may block in the kernel for ever when the
 * G wants to say something to its tracee; two Gs may have children on it, of which one ends.  To
 * lock the G to it for good: each of its switches is then two of the kernel's.
 *
 * With nearly as many Ms as there may be, none is set aside: the kernel may then tell such a child
 * too late.  M0 is set aside for main alone; a G that cannot leave it has none.
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

/* On g0, of a G that is locked to another M, which is asleep or about to be: that one gets the P. */
static void gohome_m(void *arg)
{
	struct g *gp = arg;
	struct m *mp;

	TRACE(YIELD, gp->shim.goid, 0, NULL, 0, false);
	mp = offm(gp);

	if (gp->lockedm == mp) /* it was switched on the way, and is there */
		execute(mp, gp, true);
	startlockedm(mp, gp);
	schedule(NULL);
}

void home_go(struct g *gp)
{
	while (getm() != gp->lockedm)
		mcall(gohome_m);
}

void home_made(struct g *gp)
{
	/* What is read without the lock is a hint: one more or one fewer does no harm. */
	if (!gp->home && (gp == g_main_ || gp->lockedm != &m0) && load_relaxed(&sched.nm) + SPARE_BELOW <= sched.maxm)
		gp->home = gp->lockedm;
}

void runtime_child_gone(void)
{
	struct g *gp = weft_tls.g;

	if (!gp || likely(!gp->home))
		return;
	pin();
	if (gp->home == getm() && !os_has_children()) {
		gp->home = NULL;
		if (!gp->lockdepth)
			getm()->lockedg = NULL;
	}
	unpin();
}

/* No other thread wakes this M without a P: such a wake-up says that its G has ended.  Pinned. */
void home_leave(struct g *gp)
{
	if (gp->home == getm())
		return; /* exit0() sees to it */
	mwake(gp->home);
	gp->home = NULL;
}

/* On g0 of such an M, without a P.  Returns when it has one, for others; or never. */
void home_over(struct m *mp)
{
	mp->lockedg = NULL;
	if (mp != &m0 && os_has_children())
		mexit(mp);
	while (!mp->p)
		stopm(mp, 0);
}
