/*
 * pstart: a P that has work and no M.
 *
 * An idle M gets the P at once.  When no M is idle one is made, and the P stands in sched.pstart
 * meanwhile.  It is not kept for the new M: libc makes kernel threads under locks, the program's
 * malloc may be one of them, and the holder of that lock may be a G that waits for this P.  So a P
 * in pstart is for every M that could run something:
 *
 *	the M that goes idle	stopm() asks pstartget() before it sleeps
 *	the M that polls	startm() breaks its sleep, and idle() asks pstartget()
 *	the M that comes back	exitsyscall0() asks pstartget()
 *	the M of one G		(locked, or its home) it sleeps for that G alone: when the P stands here for
 *				STARTING_LONG and that G is queued, sysmon gives it the P
 *	the new M		mstart0() asks pstartget()
 *
 * An M is on the idle list or a P is in pstart, never both (p_check()).
 *
 * Rejected: to give the P to the M of one G in startm().  The queues would be searched each time,
 * and where the spawner is not held up the new M is there sooner.
 *
 * Must never: make an M on a thread that the process cannot do without while it waits: sysmon's.
 */
#include <string.h>

#include "runtime/sched/gmp.h"

/* The spawner's: the kernel gave no thread. */
static struct {
	uint64_t rest;  /* ns, from a try that failed to the next; 0: none did */
	uint64_t since; /* of the first such try */
	bool said;
} refusal;

void pstart_fork_child(void)
{
	memset(&refusal, 0, sizeof(refusal));
}

/* sched.lock held. */
static struct p *pstart_pop(void)
{
	struct p *pp = sched.pstart;

	sched.pstart = pp->link;
	pp->link = NULL;
	fetch_sub_seqcst(&sched.npstart, 1);
	return pp;
}

/* The same, for one that is not to spin: it counts as a spinner no more. */
static struct p *pstart_pop_still(void)
{
	struct p *pp = pstart_pop();

	if (pp->startspinning)
		fetch_sub_seqcst(&sched.nmspinning, 1);
	return pp;
}

static void pstart_push(struct p *pp, bool spinning)
{
	pp->startspinning = spinning;
	pp->startsince = nanotime();
	pp->link = sched.pstart;
	sched.pstart = pp;
	fetch_add_seqcst(&sched.npstart, 1);
	p_check();
}

struct p *pstartget(struct m *mp)
{
	struct p *pp;

	if (!sched.pstart || mp->dying)
		return NULL;
	pp = pstart_pop();
	mp->spinning = pp->startspinning;
	return pp;
}

/* A P becomes idle, and the next M that needs one takes it: no other thread would try again to make an M. */
static void pstart_idle(void)
{
	lock(&sched.lock);
	if (!fromnow_holds(FROMNOW_NOMORE) && sched.pstart)
		pidleput(pstart_pop_still());
	unlock(&sched.lock);
}

/*
 * Makes an M for what is in pstart; the caller has counted it in nmstarting.  False: there is no kernel thread
 * to be had.
 */
static bool startnewm(void)
{
	if (newm(NULL))
		return true;
	lock(&sched.lock);
	sched.nmstarting--;
	unlock(&sched.lock);
	return false;
}

/*
 * One more M is needed only when there are more Ps in pstart than Ms on their way: a new one may
 * need long until it runs, and Ps come back to pstart thousands of times meanwhile. sched.lock
 * held; true: counted, to be made.
 */
static bool startcount(void)
{
	if (load_seqcst(&sched.npstart) <= sched.nmstarting || fromnow_holds(FROMNOW_NOMORE))
		return false;
	sched.nmstarting++;
	return true;
}

/* The P stands in pstart: sees that an M comes for it. */
static void call_m(bool make)
{
	if (!spawner_runs()) {
		if (make && !startnewm())
			pstart_idle();
		return;
	}
	if (make)
		spawner_wake();
	/*
	 * Pairs with poll_idle(): the poller writes lastpoll, then reads npstart; here npstart was
	 * written, then lastpoll is read.
	 */
	if (load_seqcst(&sched.lastpoll) == 0)
		netpoll_break();
}

/* Runs pp (Pidle, off the idle list; NULL: take one) on an idle or new M. */
void startm(struct p *pp, bool spinning)
{
	lock(&sched.lock);
	if (!pp)
		pp = pidleget();
	if (!pp) {
		if (spinning)
			fetch_sub_seqcst(&sched.nmspinning, 1);
		unlock(&sched.lock);
		return;
	}
	startm_locked(pp, spinning);
}

void startm_locked(struct p *pp, bool spinning)
{
	struct m *mp = midle_get();
	bool make;

	if (mp) {
		mp->nextp = pp;
		mp->spinning = spinning;
		mp->helpsince = spinning ? nanotime() : 0;
		unlock(&sched.lock);
		mwake(mp);
		return;
	}
	pstart_push(pp, spinning);
	/* The spawner counts for itself. */
	make = spawner_runs() ? load_seqcst(&sched.npstart) > sched.nmstarting : startcount();
	unlock(&sched.lock);
	call_m(make);
}

/* All Ps are without an M: those that there are wait in the kernel. */
static bool stands_still(void)
{
	return load_seqcst(&sched.npstart) + load_seqcst(&sched.npidle) == load_acquire(&gomaxprocs);
}

/*
 * The kernel gave no thread.  The Ps stay in pstart, for every M that comes back; and the limit may be one of the
 * user or of a group, whose other processes end threads without our hearing of it.  Returns ns until the next try:
 * twice as long each time.
 */
static uint64_t refused(void)
{
	uint64_t now = nanotime();

	if (!refusal.rest)
		refusal.since = now;
	refusal.rest = refusal.rest ? 2 * refusal.rest : REFUSED_FIRST;
	if (refusal.rest > REFUSED_MOST)
		refusal.rest = REFUSED_MOST;
	if (!refusal.said && since(refusal.since, now) >= STANDSTILL_NS && stands_still()) {
		refusal.said = true;
		weft_say("threads wait for a kernel thread: the kernel gives no more than %d, and each of those "
			 "waits in it (raise ulimit -u or the group's pids.max, or the limit of memory)",
			 load_relaxed(&sched.nm));
	}
	return refusal.rest;
}

/*
 * Starts the Ms that were wanted where none can be made (spawner only).  Returns ns until it is to be called again
 * unasked; 0: it need not.
 */
uint64_t m_start_wanted(void)
{
	bool make;

	do {
		lock(&sched.lock);
		make = startcount();
		unlock(&sched.lock);
		if (make && !startnewm())
			return refused();
	} while (make);
	refusal.rest = 0;
	return 0;
}

/* Its Gs to the head of the global queue, which is where they would be looked for next. */
static void spill(struct p *pp)
{
	struct gqueue q;

	runqdrain(pp, &q);
	globrunqputbatch(&q, true);
}

/*
 * Ps have stood in pstart for long.  The spawner may wait for a lock of the program's whose holder is a
 * queued G with an M of its own, which needs no making.
 */
static struct m *for_owner(uint64_t now)
{
	struct p *pp;
	struct g *gp;

	for (pp = sched.pstart; pp; pp = pp->link) {
		if (since(pp->startsince, now) < STARTING_LONG)
			return NULL; /* the first is the last that came */
		pp->startsince = now; /* the next look */
		spill(pp);
	}
	gp = sched.pstart ? globrunqget_owner() : NULL;
	if (!gp)
		return NULL;
	g_ownm(gp)->nextp = pstart_pop_still();
	return g_ownm(gp);
}

/* What a P in pstart has no M to run: the holder of that lock may sleep. */
static void run_timers(uint64_t now)
{
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint64_t first = load_seqcst(&pp->timer0);
		bool ran;

		if (first && first + STARTING_LONG <= now &&
		    load_relaxed(&pp->status) == Pidle)
			timers_check(pp, now, &ran);
	}
}

void pstart_look(uint64_t now)
{
	struct m *mp;

	if (likely(!load_relaxed(&sched.npstart)))
		return;
	run_timers(now);
	lock(&sched.lock);
	mp = for_owner(now);
	unlock(&sched.lock);
	if (!mp)
		return;
	mwake(mp);
	/* The P may have counted as a spinner, on which those relied that queued the rest. */
	if (load_seqcst(&sched.runqsize) > 0)
		wakep();
}
