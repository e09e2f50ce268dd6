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

/* gp is on mp, which is the caller's, pinned and about to take gp off it. */
void lockall_leave(struct g *gp, struct m *mp)
{
	if (gp->lockedforgood)
		return;
	gp->lockedforgood = true;
	if (gp->lockdepth++ == 0) {
		gp->lockedm = mp;
		mp->lockedg = gp;
	}
}

void lockall(void)
{
	unsigned gs = (unsigned)load_acquire(&sched.nglive) + 1;
	unsigned ps = (unsigned)load_acquire(&gomaxprocs);

	procresize(gs > ps ? gs : ps, 0);
}
