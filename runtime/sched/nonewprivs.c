/*
 * nonewprivs: no_new_privs (prctl(2)), which every thread of a program may ask for.
 *
 * The kernel keeps it of the kernel thread that asks, so a G that asks is locked to its M.  Natively nothing is slower
 * for it; here each of its switches would be two of the kernel's.  Once every G has asked there is no thread that must
 * not have it, so all Ms take it: each before it runs a G (nonewprivs_enter()).  The Gs are let go, each as it next
 * leaves its M (nonewprivs_leave()); no M can lose it again.
 *
 * Whether all have asked: g_next() shows each G that lives while the caller looks, but not one that began behind the
 * look's back.  So makers of Gs count while some G looks (nprivasks, nprivbirths): the maker makes its G known
 * and reads nprivasks, the looker writes that one, then looks, with membarrier(2) between: one of them sees the other.
 *
 * A filter that forbids the call from then on is everybody's, with no_new_privs (FROMNOW_PRIVSGIVEN), or its M's alone,
 * which is locked then.  So the call is made whatever filters forbid; while the kernel gives one to all, an M leaves it
 * to its next switch: thereafter it need not ask, or, where the kernel refused, may.
 *
 * Rejected: to note it of the G and to apply it before exec alone: code that weft does not see (an instruction of an
 * attacker's) would run without it.
 *
 * Must never: have code of the program run on an M without it, after a thread that asked.
 */
#include "runtime/process.h"
#include "runtime/sched/gmp.h"

_Atomic uint32_t privsyncs;

void nonewprivs_born(void)
{
	if (unlikely(load_relaxed(&sched.nprivasks)))
		fetch_add_seqcst(&sched.nprivbirths, 1);
}

static bool all_have_it(void)
{
	struct g *gp;
	uint32_t i = 0, births;
	bool all = true;

	if (!os_has(OS_membarrier) || !os_has(OS_privs))
		return false;
	fetch_add_seqcst(&sched.nprivasks, 1);
	os_membarrier();
	births = load_seqcst(&sched.nprivbirths);
	while (all && (gp = g_next(&i)))
		all = load_seqcst(&gp->shim.nonewprivs);
	os_membarrier();
	all = all && load_seqcst(&sched.nprivbirths) == births;
	fetch_sub_seqcst(&sched.nprivasks, 1);
	return all;
}

void nonewprivs(void)
{
	getm()->nonewprivs = true; /* the caller, which is locked, has it by its own call */
	if (all_have_it())
		fromnow_set(FROMNOW_NONEWPRIVS);
}

/* gp is on mp, which is the caller's, pinned and about to take gp off it. */
void nonewprivs_leave(struct g *gp, struct m *mp)
{
	if (!load_relaxed(&gp->shim.privlocked) || gp->lockdepth != 1 || gp->lockedm != mp)
		return;
	store_relaxed(&gp->shim.privlocked, false);
	gp->lockdepth = 0;
	gp->lockedm = NULL;
	if (mp->lockedg == gp && gp->home != mp)
		mp->lockedg = NULL;
	mp->nonewprivs = true;
}

/*
 * mp is about to run a G.  One that is locked to it for more has made it as it wants it, by filters perhaps; but not
 * where it only comes home (home.c).
 */
void nonewprivs_enter(struct m *mp)
{
	if (likely(mp->nonewprivs) || (mp->lockedg && mp->lockedg->home != mp))
		return;
	if (load_acquire(&privsyncs) || fromnow_holds(FROMNOW_PRIVSGIVEN))
		return;
	os_nonewprivs();
	mp->nonewprivs = true;
}
