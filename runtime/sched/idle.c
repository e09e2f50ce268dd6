/*
 * idle: how an M that finds no work gives its P up and sleeps, and which M looks for work
 * meanwhile.
 *
 * One of the idle Ms sleeps as the poller (netpoll.c), the others until they are woken or, while
 * some P is busy, for a nap.
 *
 * Spinning.  An M that has a P and looks for work in other queues counts in nmspinning.  Rule
 * against lost wake-ups, as in Go: a thread that submits work from outside a P first publishes it,
 * then reads nmspinning (wakep); an M that stops spinning first decrements nmspinning, then looks
 * at every queue again.  Both are sequentially consistent, so one of them sees the other.
 *
 * Must never: sleep with a P.
 */
#include "runtime/sched/sched_inline.h"

void setspinning(struct m *mp)
{
	mp->spinning = true;
	fetch_add_seqcst(&sched.nmspinning, 1);
	store_seqcst(&sched.needspinning, 0);
}

static bool much_queued(struct p *pp)
{
	uint32_t n = runqlen(pp);

	/* What timers and descriptors brought at once is short as a rule; the one that runs next is one of them. */
	return pp->hint.batchwhen ? p_batch_worth_helping(pp, n + 1) : n > weft_opt.wakesurplus;
}

/*
 * An M that found work stops spinning.  There may be more work, so another M may have to look; two where more is
 * queued than this one and the owner of that queue run next.  What was stolen had waited although Ps were idle: some M
 * must nap from now on.  Ms that sleep since all Ps were idle do not, so where none does one is woken for that.
 * (Without this four threads that compute 1 ms between barriers kept to two of four Ps, if the program had been idle
 * before.)
 */
void resetspinning(struct m *mp)
{
	bool stole = mp->stole && load_seqcst(&sched.npidle) > 0;
	int32_t n;

	mp->stole = false;
	mp->spinning = false;
	if (stole)
		store_relaxed(&sched.naps, NAP_TRIES);
	n = fetch_sub_seqcst(&sched.nmspinning, 1) - 1;
	if (n < 0)
		throw("resetspinning: nmspinning is %d", n);
	if (weft_opt.readywake || load_seqcst(&sched.runqsize) > 0 ||
	    much_queued(mp->p) ||
	    (stole && (mp->left > 0 || !load_relaxed(&sched.napper))))
		wakep_for(mp->p);
	if (stole && mp->left > 2)
		wakep_for(mp->p);
}

/* True when some queue or heap has what an idle P could do. */
bool anywork(void)
{
	uint64_t first;

	if (load_seqcst(&sched.runqsize) > 0)
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (!runqempty(allp[i]))
			return true;
	first = timers_next();
	return first && first <= nanotime();
}

/* Descriptors are watched, and no M sleeps in epoll. */
bool nobody_polls(void)
{
	return netpoll_watching() && load_seqcst(&sched.lastpoll) != 0;
}

/* Gets an idle P for an M that has none. */
static bool takeidlep(struct m *mp)
{
	struct p *pp;

	lock(&sched.lock);
	pp = pidleget();
	unlock(&sched.lock);
	if (!pp)
		return false;
	acquirep(mp, pp);
	return true;
}

/* Gets a P that waits for an M. */
static bool takestartp(struct m *mp)
{
	struct p *pp;

	if (likely(!load_seqcst(&sched.npstart)))
		return false;
	lock(&sched.lock);
	pp = pstartget(mp);
	unlock(&sched.lock);
	if (!pp)
		return false;
	acquirep(mp, pp);
	return true;
}

/*
 * How long an idle M sleeps.  0: until it is woken.  Else the time of its next look: some P is
 * busy, and its queued work may have aged by then.
 *
 * Not where naps have found nothing for long, as beside an event loop that is busy and alone.  A wake-up costs others
 * more than it takes: on two CPUs that a server of one thread shares with its client, the kernel has them in each
 * other's way for a while after each (node: 0.8 of its rate natively, too, beside a process that wakes once a ms).
 */
static uint64_t naptime(struct m *mp)
{
	if (!weft_opt.nap || load_relaxed(&sched.naps) == 0 ||
	    load_seqcst(&sched.npidle) >= load_acquire(&gomaxprocs))
		return 0;
	if (mp->napns < (uint64_t)weft_opt.nap)
		mp->napns = weft_opt.nap;
	else if (mp->napns < NAP_MAX)
		mp->napns *= 2;
	return nanotime() + mp->napns;
}

/* An M has slept until nap, or was woken sooner, and found nothing.  Of two at once one counts. */
static void nap_was_in_vain(uint64_t nap)
{
	uint32_t left = load_relaxed(&sched.naps);

	if (nap && left && nanotime() >= nap)
		store_relaxed(&sched.naps, left - 1);
}

/* There are timers or watched descriptors, which need a poller. */
static bool must_poll(void)
{
	return timers_next() || netpoll_watching();
}

/*
 * As the poller (lastpoll was exchanged for 0), without a P; afterwards the M has one, or looks
 * again.
 */
static void poll_idle(struct m *mp, uint64_t nap)
{
	struct os_event ev[NETPOLL_BATCH];
	/* Order: lastpoll = 0 before the heaps and npstart are read (wakenetpoller(), startm()). */
	uint64_t until = timers_next();
	bool polled = (until || netpoll_watching()) && !load_seqcst(&sched.npstart);
	uint64_t now = nanotime();
	int n = 0;

	if (polled) {
		store_seqcst(&sched.polluntil, until);
		n = netpoll_wait(ev, nap && (!until || nap < until) ? nap : until,
				 netpoll_watching() ? pollspin_begins(now) : 0);
		now = nanotime();
		if (netpoll_watching())
			pollspin_ends(now, (unsigned)n);
	}
	/*
	 * Before any G is readied: a thread that adds a timer or wakes an idle P must not take this
	 * M for a sleeping poller.
	 */
	store_seqcst(&sched.polluntil, 0);
	store_seqcst(&sched.lastpoll, now);
	if (n && netpoll_awaited(ev, n) && takeidlep(mp)) {
		/*
		 * The Gs that waited run here next: waking another M for them costs more than they
		 * do.
		 */
		netpoll_ready(ev, n);
		return;
	}
	if (n && !netpoll_ready(ev, n))
		netpoll_vain(ev, n);
	if (polled && anywork() && takeidlep(mp))
		setspinning(mp);
}

/*
 * An M without a P sleeps until it has one; as the poller, if there is something to poll and there
 * is no poller.
 *
 * An M that goes idle while another is the poller leaves its timers to that one and sleeps without
 * a bound.  So an M becomes the poller (takes lastpoll) only when there is something to poll.  Once
 * it has put lastpoll back, whether it slept or not, it asks again whether there is: until then
 * others took it for the poller (tests/model/poller.pml).  When no P is idle, the Ms that own the
 * Ps ask.
 */
void idle(struct m *mp)
{
	for (;;) {
		uint64_t nap = naptime(mp), first;

		if (takestartp(mp))
			return;
		/* onlymain.c: M0 comes to be woken, all others leave. */
		if (must_poll() && !load_relaxed(&sched.single) &&
		    exchange_seqcst(&sched.lastpoll, 0) != 0) {
			poll_idle(mp, nap);
			if (mp->p)
				return;
			nap_was_in_vain(nap);
			if (load_seqcst(&sched.npidle) > 0 || load_seqcst(&sched.npstart) > 0)
				continue;
		}
		/*
		 * As the poller sysmon passes over what was due when it began, and what stands behind that
		 * (sysmonsleep.c).
		 */
		first = load_seqcst(&sched.sysmonpolls) ? timers_next() : 0;
		if (first)
			wakenetpoller(first);
		stopm(mp, nap);
		if (mp->p)
			return;
		if (anywork() && takeidlep(mp)) {
			setspinning(mp);
			return;
		}
		nap_was_in_vain(nap);
	}
}

/*
 * A spinning M waits a little for work before it gives its P up: sleeping and waking cost more.
 *
 * Where its look found queued work that was too young (stealage), it waits until that has aged, but only while the P of
 * that work runs the same G: then it waits for as long as that computes.  (Without this the next look was that
 * after the next nap, which found other work, as young.  Two threads that computed 1 ms between barriers shared
 * one of two Ps for good.)  What takes longer than a nap to age is left to one.
 */
static bool spin_for_work(struct p *young, uint32_t runs)
{
	uint64_t until = nanotime() + (young ? weft_opt.stealage : weft_opt.spin);

	while (nanotime() < until) {
		if (young && (load_relaxed(&young->runs) != runs || !p_computes(young)))
			return false;
		if (young ? load_seqcst(&sched.runqsize) > 0 : anywork())
			return true;
		for (int i = 0; i < SPIN_PAUSES; i++)
			arch_pause();
	}
	return young != NULL;
}

/* What to wait for the ageing of: NULL, nothing. */
static struct p *young_work(const struct m *mp)
{
	return !weft_opt.nap || weft_opt.stealage <= weft_opt.nap ? mp->young : NULL;
}

/*
 * Of a spinning M that found nothing.  True: there is something by now.  aged: once between two sleeps; waited:
 * once.
 */
static bool spins_on(struct m *mp, bool *aged, bool *waited)
{
	if (!*aged && weft_opt.spin && young_work(mp)) {
		*aged = true;
		return spin_for_work(young_work(mp), mp->youngruns);
	}
	if (*waited || nobody_polls())
		return false;
	/* Work that is queued elsewhere and has not aged must not keep this M here. */
	*waited = true;
	return spin_for_work(NULL, 0);
}

struct g *findrunnable(struct m *mp, bool *inherit)
{
	bool waited = weft_opt.spin == 0, aged = false;

	for (;;) {
		struct g *gp = findwork(mp, inherit);
		bool spun = mp->spinning;

		if (gp)
			return gp;
		if (spun && spins_on(mp, &aged, &waited))
			continue;
		lock(&sched.lock);
		if (load_seqcst(&sched.runqsize) > 0) {
			gp = globrunqget(mp->p, 0, true);
			unlock(&sched.lock);
			return gp;
		}
		if (!spun && load_seqcst(&sched.needspinning)) {
			setspinning(mp);
			unlock(&sched.lock);
			continue;
		}
		/* The number changes under this lock alone.  What the P holds must not stay in a dead one. */
		if (unlikely(mp->p->id >= load_relaxed(&gomaxprocs))) {
			unlock(&sched.lock);
			if (p_retire_if_dying(mp))
				idle(mp);
			continue;
		}
		pidleput(releasep(mp));
		unlock(&sched.lock);
		/* Its writer saw no idle P, perhaps just before this one was counted (wakep.c). */
		if (unlikely(!spun && load_seqcst(&sched.needspinning)) && takeidlep(mp)) {
			setspinning(mp);
			continue;
		}
		if (spun) {
			mp->spinning = false;
			/* Before the last look: work submitted after it must find no spinner. */
			if (fetch_sub_seqcst(&sched.nmspinning, 1) <= 0)
				throw("findrunnable: negative nmspinning");
			if ((load_seqcst(&sched.runqsize) > 0 ||
			     (weft_opt.readywake && anywork())) &&
			    takeidlep(mp)) {
				setspinning(mp);
				continue;
			}
		}
		idle(mp);
		aged = false;
	}
}
