/*
 * fromnow: what holds from some moment on, for good.
 *
 * Each is a bit of one word, which every part of the runtime reads and nothing clears, in a fork child
 * neither.  Some ask for work at each switch (DUTIES): that is one test of the word, and most processes
 * have none of them.
 *
 * Must never: be undone.
 */
#include "runtime/sched/gmp.h"

_Atomic unsigned fromnow;

void fromnow_set(enum fromnow what)
{
	fetch_or_acq_rel(&fromnow, 1u << what);
}

/* Chaos makes decisions on which no program may rely.  Where POSIX promises an order there is none to make. */
static void chaos_ends(void)
{
	if (unlikely(weft_opt.chaos))
		weft_opt.chaos = 0;
}

/*
 * What is to be done beside noting it.  cputime_count() and nonewprivs() note it themselves, when all Ms or all Gs are
 * ready for it.
 */
void runtime_fromnow(enum fromnow what)
{
	static void (*const begin[NFROMNOW])(void) = {
		[FROMNOW_ORDER] = chaos_ends,
		[FROMNOW_EXECUTABLE] = stacks_make_executable,
		[FROMNOW_LOCKED] = lockall,
		[FROMNOW_NOTSC] = os_time_notsc,
		[FROMNOW_CPUTIME] = cputime_count,
		[FROMNOW_NONEWPRIVS] = nonewprivs,
	};

	if (fromnow_holds(what))
		return;
	if (what != FROMNOW_CPUTIME && what != FROMNOW_NONEWPRIVS)
		fromnow_set(what);
	if (begin[what])
		begin[what]();
}

/* gp is on mp, which is the caller's, pinned and about to take gp off it. */
void duties_leave(struct g *gp, struct m *mp)
{
	if (fromnow_holds(FROMNOW_CPUTIME))
		cputime_leave(gp, mp);
	if (fromnow_holds(FROMNOW_GS))
		gp->gs = mp->gs = arch_getgs();
	if (fromnow_holds(FROMNOW_LOCKED))
		lockall_leave(gp, mp);
	if (fromnow_holds(FROMNOW_NONEWPRIVS))
		nonewprivs_leave(gp, mp);
}

/* mp, which is the caller's, takes gp. */
void duties_enter(struct g *gp, struct m *mp)
{
	if (fromnow_holds(FROMNOW_NONEWPRIVS))
		nonewprivs_enter(mp);
	if (fromnow_holds(FROMNOW_CPUTIME))
		cputime_enter(gp, mp); /* m, too: it shows from where on mp counts */
	else
		store_relaxed(&gp->m, mp);
}
