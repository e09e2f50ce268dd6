/*
 * cputime: the CPU time of a G.
 *
 * The kernel counts each M; what an M used between two switches belongs to the G it ran.  Off until
 * the first question: reading the M's clock is a system call, once at each switch.  What ran before
 * does not count, except main's time before weft started.
 *
 * A G's sum, its M and the M's reading at the switch change together: cpuseq is odd meanwhile, and
 * a reader that saw it change tries again.  A G that has left still has its M until that M has left the G's stack: what
 * the M uses in between is the scheduler's (cpuoff).  Without that a reader saw more than the next one.
 *
 * A G that ran at the first question may be on its way off its M, past the look whether it counts: what its M says
 * would be lost.  Its M is asked only once it was seen unpinned after that moment (cpusure), for a G is pinned
 * on its way.
 *
 * An M that is locked to a G runs that one alone, so all that it uses, while it waits for the G, too, is
 * the G's: a timer of the kernel's on the M's time then shows the same time as the G's clock.
 *
 * The kernel's part is a second reading, of a second question (systime_counts).  Of another thread only a
 * file tells it, which the caller has read.
 */
#include "runtime/sched/gmp.h"

enum { THREAD_CLOCK = 3, PERTHREAD_SCHED = 6 };

static uint64_t own_time(void)
{
	uint64_t ns = 0;

	os_clock_gettime(THREAD_CLOCK, &ns);
	return ns;
}

static uint64_t time_of(const struct m *mp)
{
	uint64_t ns = 0;

	os_clock_gettime((int)(~(uint32_t)mp->ostid << 3 | PERTHREAD_SCHED), &ns);
	return ns;
}

static _Atomic bool systime_counts; /* for good */
static _Atomic bool leavers_know;   /* for good: a G that is pinned from now on finds that CPU time counts */

#define SYS_UNKNOWN UINT64_MAX /* the M had its G before the first question */

/* The calling G leaves its M; the M is still its. */
void cputime_leave(struct g *gp, struct m *mp)
{
	uint64_t now, sys;

	/* First: a reader that came between the clocks and this saw more than they say. */
	fetch_add_seqcst(&gp->cpuseq, 1);
	now = own_time();
	sys = load_relaxed(&systime_counts) ? os_own_systime() : SYS_UNKNOWN;
	gp->cputime += now - mp->cpustart;
	gp->cpuoff = true;
	mp->cpustart = now;
	if (sys != SYS_UNKNOWN && mp->sysstart != SYS_UNKNOWN)
		gp->systime += sys - mp->sysstart;
	mp->sysstart = sys;
	fetch_add_seqcst(&gp->cpuseq, 1);
}

/* gp goes on mp, on g0. */
void cputime_enter(struct g *gp, struct m *mp)
{
	fetch_add_seqcst(&gp->cpuseq, 1);
	if (mp->lockedg != gp)
		mp->cpustart = own_time();
	mp->sysstart = load_relaxed(&systime_counts) ? os_own_systime() : SYS_UNKNOWN;
	gp->cpuoff = false;
	store_relaxed(&gp->cpusure, true);
	store_seqcst(&gp->m, mp);
	fetch_add_seqcst(&gp->cpuseq, 1);
}

void cputime_start(struct g *gp)
{
	m0.cpustart = 0;
	gp->cputime = own_time();
	gp->systime = os_own_systime();
}

void cputime_count(void)
{
	lock(&sched.lock);
	if (!fromnow_holds(FROMNOW_CPUTIME)) {
		/* What they run now began before: it counts from here. */
		LIST_EACH(struct m, mp, &sched.allm, all)
			mp->cpustart = mp->ostid ? time_of(mp) : 0;
		fromnow_set(FROMNOW_CPUTIME);
	}
	unlock(&sched.lock);
	/*
	 * Pairs with pin() and the look at fromnow in mcall(), unfenced.  Where the kernel has no membarrier a sum may
	 * become less once, by what a switch takes.
	 */
	os_membarrier();
	store_release(&leavers_know, true);
}

/* gp is on an M, which counts for it. */
static bool is_sure(struct g *gp)
{
	if (!load_relaxed(&gp->cpusure) && load_acquire(&leavers_know) && load_relaxed(&gp->tls->locks) == 0)
		store_relaxed(&gp->cpusure, true);
	return load_relaxed(&gp->cpusure);
}

static uint64_t cputime_of(struct g *gp)
{
	if (unlikely(!fromnow_holds(FROMNOW_CPUTIME)))
		cputime_count();
	if (gp == weft_tls.g) {
		uint64_t t;

		pin();
		t = gp->cputime + own_time() - getm()->cpustart;
		unpin();
		return t;
	}
	for (struct moment w = { 0 };; moment_wait(&w)) {
		uint32_t seq = load_seqcst(&gp->cpuseq);
		struct m *mp = load_seqcst(&gp->m);
		uint64_t t = gp->cputime;

		if (mp && !gp->cpuoff && is_sure(gp))
			t += time_of(mp) - mp->cpustart;
		if (!(seq & 1) && load_seqcst(&gp->cpuseq) == seq && load_seqcst(&gp->m) == mp)
			return t;
	}
}

static void systime_count(void)
{
	runtime_fromnow(FROMNOW_CPUTIME);
	lock(&sched.lock);
	if (!load_relaxed(&systime_counts)) {
		LIST_EACH(struct m, mp, &sched.allm, all)
			mp->sysstart = SYS_UNKNOWN;
		store_release(&systime_counts, true);
	}
	unlock(&sched.lock);
	if (weft_tls.g) {
		pin();
		getm()->sysstart = os_own_systime();
		unpin();
	}
}

static uint64_t systime_of(struct g *gp, int ostid, uint64_t used)
{
	uint32_t seq;
	uint64_t t;

	if (unlikely(!load_relaxed(&systime_counts)))
		systime_count();
	do {
		struct m *mp;

		pin(); /* its own M must not change: it asks the kernel */
		seq = load_seqcst(&gp->cpuseq);
		mp = load_seqcst(&gp->m);
		t = gp->systime;
		if (gp == weft_tls.g)
			used = os_own_systime();
		else if (!mp || mp->ostid != ostid)
			used = 0;
		if (mp && !gp->cpuoff && mp->sysstart < used)
			t += used - mp->sysstart;
		unpin();
	} while (seq & 1 || load_seqcst(&gp->cpuseq) != seq);
	return t;
}

/* In this order: the part is no more than the whole. */
uint64_t g_cputime(struct g *gp, struct gsystime *sys)
{
	if (sys)
		sys->ns = systime_of(gp, sys->ostid, sys->used);
	return cputime_of(gp);
}
