/*
 * wakep: an idle P is given to an M that looks for work.
 *
 * The M that was woken finds work and wakes the next, two where more than that is queued.  So the Ms that
 * are on their way grow in number with those that have come: a tree.  (With one at a time on its way the
 * hundredth M ran after a hundred times what a wake-up takes: trees of short tasks on 128 CPUs took 2.8 times
 * the ideal, then 1.8.)
 *
 * needspinning tells the next M that is about to go idle to look again: work came while no P was idle.  Its
 * writer sets it and then reads npidle; findrunnable() counts its P in npidle and then reads needspinning; both
 * seq_cst, so one of them sees the other (tests/model/spinning.pml).
 *
 * Must never: be called before the work is published; wait.
 */
#include "runtime/sched/gmp.h"

/*
 * Is no P idle?  Then the next M about to go idle must look once more.  That is told without sched.lock, which a
 * busy machine would take at each new thread.
 */
static bool all_busy(void)
{
	if (!load_seqcst(&sched.needspinning))
		store_seqcst(&sched.needspinning, 1);
	return load_seqcst(&sched.npidle) == 0;
}

/*
 * True: the caller counts in nmspinning for the M that it wakes.  One may spin at any time, and as many as one in
 * SPINNERS_PART of the busy Ps.
 */
static bool one_more_spinner(void)
{
	int32_t n = load_seqcst(&sched.nmspinning);

	do {
		int32_t idle = load_seqcst(&sched.npidle);

		if (n > 0 && (n + 1) * SPINNERS_PART > load_acquire(&gomaxprocs) - idle)
			return false;
		if (idle == 0 && all_busy())
			return false;
	} while (!cas_seqcst(&sched.nmspinning, &n, n + 1));
	return true;
}

void wakep_for(struct p *own)
{
	struct p *pp;

	/*
	 * seq_cst with the decrement of nmspinning in findrunnable(): the work is published before this looks for a
	 * spinner (idle.c, "Spinning").
	 */
	fence_seqcst();
	if (!one_more_spinner())
		return;
	lock(&sched.lock);
	pp = pidleget();
	if (unlikely(!pp)) {
		/* All busy: the next M about to go idle must look once more. */
		store_seqcst(&sched.needspinning, 1);
		fetch_sub_seqcst(&sched.nmspinning, 1);
		unlock(&sched.lock);
		return;
	}
	store_seqcst(&sched.needspinning, 0);
	if (own)
		runq_mark(own);
	startm_locked(pp, true);
}

void wakep(void)
{
	wakep_for(NULL);
}

/*
 * The Gs stand behind one another in the queue of this P.  The estimate of how long one runs is the time since the last
 * such call here, over the Gs that ran since; where the P was idle meanwhile it is too long, but then a wake-up costs
 * little.
 */
void wakep_for_woken(unsigned n)
{
	struct p *pp;

	pin();
	pp = getp();
	if (pp && !pp->own && load_relaxed(&sched.npidle) > 0) {
		uint64_t now = nanotime(), ns = now - pp->hint.manywhen;
		uint32_t runs = load_relaxed(&pp->runs), did = runs - pp->hint.manyruns;

		pp->hint.manywhen = now;
		pp->hint.manyruns = runs;
		if (ns / (did ? did : 1) * n >= HELP_WORTH)
			wakep_for(pp);
	}
	unpin();
}
