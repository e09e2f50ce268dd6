/*
 * midle: the Ms that sleep without a P, and the one among them that naps.
 *
 * The list is LIFO: the M that slept last has the warmest caches.  It is linked both ways, because an M whose
 * nap is over takes itself off: with 128 of them a walk to its place was nine tenths of the time for
 * which sched.lock was held.
 *
 * At most one M of the list naps, that is, sleeps with a deadline (idle.c).  A G that is readied wakes no M, unless
 * its waker computes on (wakers.c); so while some P is busy the napper looks now and then whether queued work has
 * aged.  When it finds some, it wakes another M, which naps next (resetspinning()).  The napper is woken last.
 *
 * Must never: be asked without sched.lock.
 */
#include "runtime/sched/gmp.h"

/* naps: it would nap.  True: it may. */
bool midle_put(struct m *mp, bool naps)
{
	list_put(&sched.midle, &mp->idle);
	store_relaxed(&sched.nmidle, load_relaxed(&sched.nmidle) + 1);
	naps = naps && !load_relaxed(&sched.napper);
	if (naps)
		store_relaxed(&sched.napper, mp);
	return naps;
}

/* Its nap is over, or a waker takes it.  False: another waker was faster. */
bool midle_drop(struct m *mp)
{
	if (!mp->idle.back)
		return false;
	list_take(&mp->idle);
	mp->idle.back = NULL;
	store_relaxed(&sched.nmidle, load_relaxed(&sched.nmidle) - 1);
	if (load_relaxed(&sched.napper) == mp)
		store_relaxed(&sched.napper, NULL);
	return true;
}

struct m *midle_get(void)
{
	struct m *napper = load_relaxed(&sched.napper);

	LIST_EACH(struct m, mp, &sched.midle, idle)
		if (mp != napper) {
			midle_drop(mp);
			return mp;
		}
	if (napper)
		midle_drop(napper);
	return napper;
}
