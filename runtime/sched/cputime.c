/*
 * cputime: the CPU time of a G.
 *
 * The kernel counts each M; what an M used between two switches belongs to the G it ran.  Off until
 * the first question: reading the M's clock is a system call, once at each switch.  What ran before
 * does not count, except main's time before weft started.
 *
 * A G's sum, its M and the M's reading at the switch change together: cpuseq is odd meanwhile, and
 * a reader that saw it change tries again.
 *
 * The kernel's part is a second reading, of a second question (DutySystime).  Of another thread only a
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

#define SYS_UNKNOWN UINT64_MAX /* the M had its G before the first question */

static bool systime_counts(void)
{
	return load_relaxed(&duties) & DutySystime;
}

/* The calling G leaves its M; the M is still its. */
void cputime_leave(struct g *gp, struct m *mp)
{
	uint64_t now = own_time();
	uint64_t sys = systime_counts() ? os_own_systime() : SYS_UNKNOWN;

	fetch_add_seqcst(&gp->cpuseq, 1);
	gp->cputime += now - mp->cpustart;
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
	mp->cpustart = own_time();
	mp->sysstart = systime_counts() ? os_own_systime() : SYS_UNKNOWN;
	store_seqcst(&gp->m, mp);
	fetch_add_seqcst(&gp->cpuseq, 1);
}

void cputime_start(struct g *gp)
{
	m0.cpustart = 0;
	gp->cputime = own_time();
	gp->systime = os_own_systime();
}

void cputime_enable(void)
{
	if (likely(load_relaxed(&duties) & DutyCputime))
		return;
	lock(&sched.lock);
	if (!(load_acquire(&duties) & DutyCputime)) {
		/* What they run now began before: it counts from here. */
		for (struct m *mp = sched.allm; mp; mp = mp->alllink)
			mp->cpustart = mp->ostid ? time_of(mp) : 0;
		fetch_or_acq_rel(&duties, DutyCputime);
	}
	unlock(&sched.lock);
}

uint64_t g_cputime(struct g *gp)
{
	if (gp == weft_tls.g) {
		uint64_t t;

		pin();
		t = gp->cputime + own_time() - getm()->cpustart;
		unpin();
		return t;
	}
	for (;;) {
		uint32_t seq = load_seqcst(&gp->cpuseq);
		struct m *mp = load_seqcst(&gp->m);
		uint64_t t = gp->cputime;

		if (mp)
			t += time_of(mp) - mp->cpustart;
		if (!(seq & 1) && load_seqcst(&gp->cpuseq) == seq && load_seqcst(&gp->m) == mp)
			return t;
		os_osyield();
	}
}

void systime_enable(void)
{
	cputime_enable();
	if (likely(systime_counts()))
		return;
	lock(&sched.lock);
	if (!systime_counts()) {
		for (struct m *mp = sched.allm; mp; mp = mp->alllink)
			mp->sysstart = SYS_UNKNOWN;
		fetch_or_acq_rel(&duties, DutySystime);
	}
	unlock(&sched.lock);
	if (weft_tls.g) {
		pin();
		getm()->sysstart = os_own_systime();
		unpin();
	}
}

uint64_t g_systime(struct g *gp, int ostid, uint64_t used)
{
	uint32_t seq;
	uint64_t t;

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
		if (mp && mp->sysstart < used)
			t += used - mp->sysstart;
		unpin();
	} while (seq & 1 || load_seqcst(&gp->cpuseq) != seq);
	return t;
}
