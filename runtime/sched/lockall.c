/*
 * lockall: from some moment on every G keeps the kernel thread that it is on.
 *
 * For a run-time in the process that takes a thread for a kernel thread while it is inside, with
 * masks, stacks and ids of the kernel's that it sets itself, and cannot be seen to be entered or
 * left: Go, loaded as a library.  A G is locked when it leaves its M for the first time after that
 * moment, before another M can run it.  Such a run-time also spins and waits for others without a
 * word to us, so there are as many Ps as Gs, and none waits for a turn.
 *
 * Rejected: to lock each G at once; a parked one has no M yet, and wherever it goes on is as good.
 *
 * Must never: be undone.
 */
#include "runtime/sched/gmp.h"

_Atomic unsigned duties;

/* gp is on mp, which is the caller's, pinned and about to take gp off it. */
void duties_leave(struct g *gp, struct m *mp)
{
	unsigned d = load_relaxed(&duties);

	if (d & DutyCputime)
		cputime_leave(gp, mp);
	if (d & DutyGs)
		gp->gs = mp->gs = arch_getgs();
	if ((d & DutyLockAll) && !gp->lockedforgood) {
		gp->lockedforgood = true;
		if (gp->lockdepth++ == 0) {
			gp->lockedm = mp;
			mp->lockedg = gp;
		}
	}
}

bool runtime_all_locked(void)
{
	return load_relaxed(&duties) & DutyLockAll;
}

void runtime_uses_gs(void)
{
	fetch_or_acq_rel(&duties, DutyGs);
}

void runtime_lockall(void)
{
	unsigned gs = (unsigned)load_acquire(&sched.nglive) + 1;
	unsigned ps = (unsigned)load_acquire(&gomaxprocs);

	fetch_or_acq_rel(&duties, DutyLockAll);
	procresize(gs > ps ? gs : ps, 0);
}
