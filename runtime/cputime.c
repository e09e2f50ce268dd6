/*
 * cputime: the CPU time of a G.
 *
 * The kernel counts each M; what an M used between two switches belongs to the G it ran.  Off until
 * somebody asks: reading the M's clock is a system call, once at each switch.  What ran before does
 * not count, except main's time before weft started.
 *
 * A G's sum, its M and the M's reading at the switch change together: cpuseq is odd meanwhile, and
 * a reader that saw it change tries again.
 */
#include "runtime/gmp.h"

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

/* The calling G leaves its M; the M is still its. */
void cputime_leave(struct g *gp, struct m *mp)
{
	uint64_t now = own_time();

	atomic_fetch_add(&gp->cpuseq, 1);
	gp->cputime += now - mp->cpustart;
	mp->cpustart = now;
	atomic_fetch_add(&gp->cpuseq, 1);
}

/* gp goes on mp, on g0. */
void cputime_enter(struct g *gp, struct m *mp)
{
	atomic_fetch_add(&gp->cpuseq, 1);
	mp->cpustart = own_time();
	atomic_store(&gp->m, mp);
	atomic_fetch_add(&gp->cpuseq, 1);
}

void cputime_start(struct g *gp)
{
	m0.cpustart = 0;
	gp->cputime = own_time();
}

void cputime_enable(void)
{
	if (likely(atomic_load_explicit(&duties, memory_order_relaxed) & DutyCputime))
		return;
	lock(&sched.lock);
	if (!(atomic_load(&duties) & DutyCputime)) {
		/* What they run now began before: it counts from here. */
		for (struct m *mp = sched.allm; mp; mp = mp->alllink)
			mp->cpustart = mp->ostid ? time_of(mp) : 0;
		atomic_fetch_or(&duties, DutyCputime);
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
		uint32_t seq = atomic_load(&gp->cpuseq);
		struct m *mp = atomic_load(&gp->m);
		uint64_t t = gp->cputime;

		if (mp)
			t += time_of(mp) - mp->cpustart;
		if (!(seq & 1) && atomic_load(&gp->cpuseq) == seq && atomic_load(&gp->m) == mp)
			return t;
		os_osyield();
	}
}
