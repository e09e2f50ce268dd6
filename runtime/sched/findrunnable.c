/*
 * findrunnable: what an M with a P runs next, when the local queue does not decide it.
 *
 * The order: timers that are due; once in 61 schedules the descriptors and the global queue; woken
 * Gs; the local queue; the global queue; the descriptors; another P's queue.  Then the M idles
 * (idle.c).
 *
 * Must never: be called except on an M's g0 stack; sleep.
 */
#include "runtime/sched/sched_inline.h"

/* A G runs on pp: its M is not in the scheduler, where it would come to pp's queue by itself.  A hint. */
bool p_computes(struct p *pp)
{
	struct m *mp = load_relaxed(&pp->m);

	return load_relaxed(&pp->status) == Prunning && mp && load_relaxed(&mp->curg);
}

/* ns for which what is queued there has aged while pp ran one G; 0: it has not. */
static uint64_t ran_alone(const struct p *pp, uint64_t now)
{
	uint64_t age = since(load_relaxed(&pp->mark.time), now);

	return load_relaxed(&pp->runs) == load_relaxed(&pp->mark.runs) && age >= (uint64_t)weft_opt.stealage ? age : 0;
}

/* Coprime to n, so that steps of so many visit each of n once. */
static uint32_t stride_of(struct m *mp, uint32_t n)
{
	for (;;) {
		uint32_t stride = (uint32_t)(nextrand(&mp->rng) % n) + 1, a = stride, b = n;

		while (a % b) {
			uint32_t r = a % b;

			a = b;
			b = r;
		}
		if (b == 1)
			return stride;
	}
}

static struct g *stealwork(struct m *mp, bool *inherit, bool *again)
{
	struct p *pp = mp->p;
	uint32_t n = 0;
	uint64_t now = nanotime();

	mp->young = NULL;
	mp->stole = false;
	while (n < MAXPROCS && allp[n])
		n++;
	for (int pass = 0; pass < STEAL_PASSES; pass++) {
		uint32_t i = (uint32_t)(nextrand(&mp->rng) % n), stride = stride_of(mp, n);
		bool last = pass == STEAL_PASSES - 1;

		for (uint32_t k = 0; k < n; k++, i = (i + stride) % n) {
			struct p *v = allp[i];
			struct g *gp;
			uint64_t alone;

			if (v == pp)
				continue;
			if (last) {
				bool ran = false;

				timers_check(v, now, &ran);
				if (ran) {
					gp = runqget(pp, inherit);
					if (gp)
						return gp;
					*again = true;
				}
			}
			/* Of the idle Ps only one whose M is being made has work. */
			if (load_relaxed(&v->status) == Pidle &&
			    runqempty(v))
				continue;
			alone = ran_alone(v, now);
			gp = runqsteal(pp, v, last, now);
			if (gp) {
				if (alone)
					waker_seen(v, alone);
				*inherit = false;
				mp->stole = true;
				trace_steal(gp, v, pp);
				mp->left = runqlen(pp) + runqlen(v);
				return gp;
			}
			if (last && !mp->young && !runqempty(v) && p_computes(v)) {
				mp->young = v;
				mp->youngruns = load_relaxed(&v->runs);
			}
		}
		/* The marks do not age within one look: another pass would find the same. */
		if (weft_opt.stealage && pass == 0)
			pass = STEAL_PASSES - 2;
	}
	return NULL;
}

/*
 * At every GLOBAL_TICK'th schedule; once, however many Gs share it.  Not while much is queued: Gs
 * that the poller brings would run before the global queue, and a local queue that is refilled
 * again and again never leaves the global queue its turn (a quarter of 1,000 busy connections were
 * starved so).  sysmon looks if that lasts.
 */
bool poll_is_due(struct p *pp)
{
	return netpoll_watching() &&
	       pp->hint.polltick != load_relaxed(&pp->schedtick) &&
	       load_relaxed(&sched.runqsize) == 0 &&
	       runqlen(pp) < RUNQ_SIZE - NETPOLL_BATCH;
}

/*
 * Where Gs compute no M is idle, and none polls.  What sysmon sees as the poller wakes it at once, but not while it
 * sleeps off what it owes.
 */
static bool poll_is_late(struct p *pp)
{
	uint64_t last;

	if (!load_relaxed(&pp->mon.cpubound) || !netpoll_watching())
		return false;
	last = load_seqcst(&sched.lastpoll);
	return last && since(last, nanotime()) >= SYSMON_DEBT && runqlen(pp) < RUNQ_SIZE - NETPOLL_BATCH;
}

/*
 * Gs that were woken without a P go first, but a row of them must not starve the local queue: after
 * WAKEUP_ROW wakeslices one local G at least has its turn.  (When a row was three Gs, however short, eight
 * sleepers of 100 us were late by 370 us.)
 */
static bool wakeupq_first(struct p *pp, uint32_t tick)
{
	uint64_t now;

	if (load_seqcst(&sched.wakeupqsize) == 0)
		return false;
	now = nanotime();
	if (tick != pp->hint.wakeupqtick + 1)
		pp->hint.wakeupqwhen = now;
	else if (now - pp->hint.wakeupqwhen >= WAKEUP_ROW * (uint64_t)weft_opt.wakeslice)
		return false;
	pp->hint.wakeupqtick = tick;
	return true;
}

/*
 * At every GLOBAL_TICK'th schedule the global queue goes first: a local queue that is refilled
 * again and again would never leave it its turn.  Where Gs compute for whole slices that would put
 * one G too many on this P and one too few on another (of four Gs on two Ps three share one: 67 %
 * each, and 200 %).  There the global queue goes first only if no P took from it for as long as the
 * local Gs may need.
 */
static bool globrunq_first(struct p *pp, uint32_t tick)
{
	uint32_t gets = load_relaxed(&sched.globrunqgets);
	uint32_t ring = runqring(pp);
	uint64_t now;

	if (tick % GLOBAL_TICK)
		return false;
	if (load_seqcst(&sched.runqsize) == 0) {
		pp->hint.globrunqsince = 0;
		return false;
	}
	if (!load_relaxed(&pp->mon.cpubound) || ring == 0)
		return true;
	now = nanotime();
	if (pp->hint.globrunqseen != gets || !pp->hint.globrunqsince) {
		pp->hint.globrunqseen = gets;
		pp->hint.globrunqsince = now;
	}
	return now - pp->hint.globrunqsince >=
	       ((ring < GLOBAL_WAIT_GS ? ring : GLOBAL_WAIT_GS) + GLOBAL_WAIT_SLICES) * (uint64_t)weft_opt.slice;
}

/* The poller or a heap of timers is about to queue Gs on pp: notes when, unless earlier ones are still queued. */
void p_batch_begins(struct p *pp, bool polled)
{
	if (pp->hint.batchwhen)
		return;
	pp->hint.batchpolled = polled;
	pp->hint.batchwhen = nanotime();
	pp->hint.batchruns = load_relaxed(&pp->runs);
}

/*
 * The Gs that the poller and timers queued on pp have run: how long did each take?  Measured by elapsed time,
 * which costs a tenth of reading the M's CPU clock, and includes waiting for a CPU.  Hence the mean of many.
 */
static void p_batch_drained(struct p *pp)
{
	uint32_t runs = load_relaxed(&pp->runs) - pp->hint.batchruns;
	uint64_t meanservice = load_relaxed(&pp->hint.meanservice);
	uint64_t now = nanotime(), each = runs ? (now - pp->hint.batchwhen) / runs : meanservice;

	/* The first counts whole: Gs that compute for long shall not wait for each other while others are seen. */
	store_relaxed(&pp->hint.meanservice,
		      meanservice ? meanservice - meanservice / SERVICE_MEAN + each / SERVICE_MEAN : each);
	/* sysmon asks what the descriptors bring (is_draining()). */
	if (pp->hint.batchpolled)
		store_relaxed(&pp->hint.drainedwhen, now);
	pp->hint.batchwhen = 0;
}

/*
 * The poller that finds work takes a P and wakes no other M, so nobody sleeps until the timers of the idle Ps are due.
 * The next M without work does.  Meanwhile a P whose own timers are due looks at theirs, and one that comes here at a
 * GLOBAL_TICK'th schedule (nextlocal() may decide that one: then sysmon sees to them).  (Before, a third of 64 sleepers
 * stood still for up to 10 ms, until sysmon looked, while one of 16 Ps ran the others: simulated, in one run of 70.)
 */
static void timers_unwatched(struct p *pp, uint64_t now)
{
	bool ran = false;

	if (load_seqcst(&sched.npidle) == 0 || load_seqcst(&sched.lastpoll) == 0)
		return;
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (allp[i] != pp && load_seqcst(&allp[i]->timer0) && load_relaxed(&allp[i]->status) != Prunning)
			timers_check(allp[i], now, &ran);
}

/* What is due on pp, and elsewhere if nobody waits for it. */
static void timers_due(struct p *pp)
{
	uint64_t now = nanotime();
	bool ran = false;

	timers_check(pp, now, &ran);
	if (ran)
		timers_unwatched(pp, now);
}

/* From the global queue what is due before the P's own Gs. */
static struct g *global_first(struct p *pp, uint32_t tick)
{
	bool globfirst = globrunq_first(pp, tick);
	struct g *gp = NULL;

	if (globfirst || wakeupq_first(pp, tick)) {
		lock(&sched.lock);
		gp = globrunqget(pp, 1, !globfirst);
		unlock(&sched.lock);
	}
	return gp;
}

/* From there a share of all. */
static struct g *global_rest(struct p *pp)
{
	struct g *gp = NULL;

	if (load_seqcst(&sched.runqsize) > 0) {
		lock(&sched.lock);
		/* Woken Gs that are still queued have had their row. */
		gp = globrunqget(pp, 0, false);
		unlock(&sched.lock);
	}
	return gp;
}

/* With a P in hand: something to run, or NULL. */
struct g *findwork(struct m *mp, bool *inherit)
{
	struct p *pp = mp->p;
	struct g *gp;
	bool again;

	do {
		uint32_t tick;

		again = false;
		*inherit = false;
		if (load_seqcst(&pp->timer0))
			timers_due(pp);
		tick = load_relaxed(&pp->schedtick);
		if (tick % GLOBAL_TICK == 0)
			timers_unwatched(pp, nanotime());
		if (tick % GLOBAL_TICK == 0 && poll_is_due(pp)) {
			/* A busy queue must not starve Gs that wait for data. */
			pp->hint.polltick = tick;
			netpoll_nowait();
		} else if (unlikely(poll_is_late(pp))) {
			netpoll_nowait();
		}
		gp = global_first(pp, tick);
		if (!gp)
			gp = runqget(pp, inherit);
		if (!gp)
			gp = global_rest(pp);
		if (gp)
			return gp;
		if (pp->hint.batchwhen)
			p_batch_drained(pp);
		/*
		 * Where many descriptors become ready at a time, asking first saves giving the P
		 * away and taking it back.  Where one at a time does, it is a system call for
		 * nothing before the one that sleeps.
		 */
		if (load_relaxed(&sched.pollmany) &&
		    (nobody_polls() || load_seqcst(&sched.sysmonpolls)) && netpoll_nowait()) {
			gp = runqget(pp, inherit);
			if (gp)
				return gp;
		}
		if (mp->spinning || SPINNERS_PART * load_seqcst(&sched.nmspinning) <
					    load_acquire(&gomaxprocs) - load_seqcst(&sched.npidle)) {
			if (!mp->spinning)
				setspinning(mp);
			gp = stealwork(mp, inherit, &again);
			if (gp)
				return gp;
		}
	} while (again);
	return NULL;
}
