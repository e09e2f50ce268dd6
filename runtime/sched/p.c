/*
 * p: processors: idle list, hand-over between Ms, and a P count that changes while running.
 *
 * Shrinking does not stop the world: a P whose number is too high retires when its M next
 * schedules, or at once when it is idle or in a system call.  (Rejected: stopping all Ps first; one
 * spinning G would delay the change without bound, and nothing here needs all of them still.)
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

#include <string.h>

void acquirep(struct m *mp, struct p *pp)
{
	if (mp->p || pp->m)
		throw("acquirep: m%d has a P or p%d has an M", mp->id, pp->id);
	store_relaxed(&mp->p, pp);
	store_relaxed(&pp->m, mp);
	store_seqcst(&pp->status, Prunning);
	TRACE(PSTART, 0, 0, pp, 0, false);
}

struct p *releasep(struct m *mp)
{
	struct p *pp = mp->p;

	if (!pp || pp->m != mp)
		throw("releasep: m%d does not own its P", mp->id);
	TRACE(PSTOP, 0, 0, pp, 0, false);
	store_relaxed(&mp->p, NULL);
	store_relaxed(&pp->m, NULL);
	p_leave(pp, Pidle);
	return pp;
}

struct p *pidleget(void)
{
	struct p *pp = sched.pidle;

	if (!pp)
		return NULL;
	sched.pidle = pp->link;
	pp->link = NULL;
	if (fetch_sub_seqcst(&sched.npidle, 1) == load_acquire(&gomaxprocs))
		sysmon_wake();
	return pp;
}

void pidleput(struct p *pp)
{
	if (pp->id >= load_acquire(&gomaxprocs)) {
		/* Thieves and timers_next() still look at a dead P: what it held is not lost. */
		store_seqcst(&pp->status, Pdead);
		return;
	}
	pp->link = sched.pidle;
	sched.pidle = pp;
	fetch_add_seqcst(&sched.npidle, 1);
	p_check();
}

/*
 * What a dying P held: Gs to the head of the global queue, timers to P 0.  Only then it is dead, or
 * idle again if its number is good by now.  sched.lock not held.
 */
static void retire(struct p *pp)
{
	struct gqueue q;

	runqdrain(pp, &q);
	lock(&sched.lock);
	globrunqputbatch(&q, true);
	unlock(&sched.lock);
	timers_move(pp, allp[0]);
	g_cachefree(pp);
	lock(&sched.lock);
	pidleput(pp);
	unlock(&sched.lock);
	wakep();
	netpoll_break();
}

bool p_retire_if_dying(struct m *mp)
{
	struct p *pp = mp->p;

	if (likely(!pp || pp->id < load_relaxed(&gomaxprocs)))
		return false;
	if (mp->spinning) {
		mp->spinning = false;
		fetch_sub_seqcst(&sched.nmspinning, 1);
	}
	TRACE(PSTOP, 0, 0, pp, 0, false);
	store_relaxed(&mp->p, NULL);
	store_relaxed(&pp->m, NULL);
	p_leave(pp, Pidle);
	retire(pp);
	return true;
}

struct p *p_new(int id)
{
	struct p *pp = persistentalloc(sizeof(*pp));

	if (!pp)
		return NULL;
	pp->id = id;
	lock_init(&pp->timerslock, Timers);
	store_seqcst(&pp->status, Pdead); /* on no list */
	return pp;
}

/*
 * Sets the number of Ps where there are ncpu CPUs (0: as many as before); any time, any thread. 0 or
 * -ENOMEM(12) with fewer made than asked.
 */
int procresize(unsigned want, unsigned ncpu)
{
	int n = (int)(want < 1 ? 1 : want > MAXPROCS ? MAXPROCS : want), old, err = 0;
	struct p **link, *dead = NULL; /* off every list, so linked through link */

	lock(&sched.lock);
	old = load_acquire(&gomaxprocs);
	for (int i = 0; i < n; i++) {
		if (!allp[i]) {
			struct p *pp = p_new(i);

			if (!pp) {
				n = i;
				err = -12;
				break;
			}
			store_release(&allp[i], pp);
		}
	}
	store_release(&gomaxprocs, n);
	if (ncpu)
		sched.ncpu = ncpu;
	store_relaxed(&sched.oversubscribed, (unsigned)n > sched.ncpu);
	/*
	 * A dead P is on no list and owned by no thread.  A P that is still on its way out, or
	 * between two Ms, simply stays: its number is valid again, and the thread that has it lists
	 * it (pidleput).
	 */
	for (int i = old ? old : 1; i < n; i++) {
		if (load_seqcst(&allp[i]->status) != Pdead)
			continue;
		store_seqcst(&allp[i]->status, Pidle);
		pidleput(allp[i]);
	}
	for (link = &sched.pidle; *link;) {
		struct p *pp = *link;

		if (pp->id < n) {
			link = &pp->link;
			continue;
		}
		*link = pp->link;
		fetch_sub_seqcst(&sched.npidle, 1);
		pp->link = dead;
		dead = pp;
	}
	unlock(&sched.lock);
	while (dead) {
		struct p *pp = dead;

		dead = pp->link;
		pp->link = NULL;
		retire(pp);
	}
	if (n > old && old > 0)
		wakep();
	return err;
}
