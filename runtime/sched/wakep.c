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
	/* One G lives, and the caller's M has a P: it finds what is queued. */
	pp = unlikely(getp() && alone_without_spawner()) ? NULL : pidleget();
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
 * How long an M takes from its wake-up until it looks for work: a fifth of HELP_WORTH where a CPU is free, up to
 * milliseconds where the CPUs are busy with other programs, a client say.
 */
void m_came(struct m *mp)
{
	uint64_t mean = load_relaxed(&sched.helplate), took = since(mp->helpsince, nanotime());

	mp->helpsince = 0;
	took = took < WAITS_LONG ? took : WAITS_LONG;
	store_relaxed(&sched.helplate, mean - mean / SERVICE_MEAN + took / SERVICE_MEAN);
}

/* ns of work that is worth an M's wake-up. */
static uint64_t help_worth(void)
{
	uint64_t twice = 2 * load_relaxed(&sched.helplate);

	return twice > HELP_WORTH ? twice : HELP_WORTH;
}

/*
 * How long one of the Gs that the poller and timers queue on pp runs: as the last ones did, or those that ran of
 * the batch that is not over.  On a P that is never done with them no batch ever is.
 */
static uint64_t service(struct p *pp)
{
	uint32_t runs = load_relaxed(&pp->runs) - pp->hint.batchruns;

	if (!pp->hint.batchwhen || runs < SERVICE_MEAN)
		return load_relaxed(&pp->hint.meanservice);
	return since(pp->hint.batchwhen, nanotime()) / runs;
}

/*
 * Is an idle P to be woken for n Gs on pp?  That depends on how long each of them runs, and on how soon another M
 * comes: a hundred short ones are done before it has a CPU; of two that take 40 us each, one waits for the other while
 * a CPU is idle.  What timers bring must wait for too long: sleepers do not wait for one another.
 */
bool p_batch_worth_helping(struct p *pp, unsigned n)
{
	uint64_t each, worth;

	if (n > weft_opt.pollsurplus)
		return true;
	if (n <= 1 || load_relaxed(&sched.npidle) == 0)
		return false;
	each = service(pp);
	worth = help_worth();
	if (!pp->hint.batchpolled && worth < WAITS_LONG)
		worth = WAITS_LONG;
	return each >= SERVICE_LONG || each * n >= worth;
}

void p_batch_queued(struct p *pp)
{
	if (p_batch_worth_helping(pp, runqlen(pp)))
		wakep_for(pp);
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
		if (ns / (did ? did : 1) * n >= help_worth())
			wakep_for(pp);
	}
	unpin();
}
