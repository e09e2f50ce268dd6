/*
 * preempt: taking the CPU away from a G that computes.
 *
 * sysmon looks at every P (preempt_look) and asks one to give way by signal 32 to its M.  The switch happens
 * inside the handler: an M's kernel mask and alternate stack are always those of the G it runs, so a G that
 * is resumed in its handler on any M returns through it, and sigreturn restores every register, vector and
 * x87 state included, from the frame on the G's own stack.  FS is not part of that frame.
 *
 * Nobody may see EINTR or a short transfer because of us, so an M is only signalled while its G computes:
 *
 *	sysmon         Prunning -> Psignal, notes the P in m->sigp, sends the signal
 *	the handler    takes m->sigp, Psignal -> Prunning: its first act, wherever it finds the M
 *	anybody else   who takes a P out of Prunning does so by compare-and-swap (p_leave) and waits, on its
 *	               own M, until the handler has run
 *
 * So at most one signal is on its way to an M, an M never sleeps with one coming, and m->p cannot change
 * between the asking and the handler's first act.  What remains is a libc function that blocks without our
 * seeing: the kernel is asked first whether the thread runs.
 *
 * Who is asked.  A G that had its slice (option slice), when something waits that its P could run: preempting
 * it for nobody costs two microseconds and brings nothing.  It goes to the tail of the global queue, as Go's.
 *
 * Safe points.  Everything of the runtime that depends on its M or P is pinned (lock.h), and the shim tells
 * by the PC whether a lock of libc may be held; the handler then leaves a wish, which is honoured at the next
 * cheap moment (runtime_wish), and sysmon asks again.
 *
 * Must never: be asked for by anybody but sysmon; switch on g0, pinned, or inside entersyscall.
 */
#include "runtime/gmp.h"

enum {
	RETRY = 1000000,  /* ns between two requests to a G that could not give way */
	FORCE = 20000000, /* ns after which the PC no longer counts */
};

void p_leave_slow(struct p *pp, uint32_t to)
{
	for (unsigned spins = 0;; spins++) {
		uint32_t s = Prunning;

		if (atomic_compare_exchange_strong(&pp->status, &s, to))
			return;
		if (s != Psignal)
			throw("p%d: status %u while its M runs", pp->id, s);
		/* The signal comes as soon as we are in user mode, unless somebody blocked it by a system
		 * call that nobody saw. */
		if (spins > 100000) {
			os_sigunblock(SIGPREEMPT);
			spins = 0;
		}
		arch_pause();
	}
}

/* ---- the M that is asked ------------------------------------------------------------------------------ */

bool runtime_signalled(void)
{
	bool busy = runtime_busy(), wanted = false;
	struct m *mp;
	struct p *pp;

	/* The next signal may come at any instruction: which M this is holds while pinned. */
	pin();
	mp = getm();
	pp = mp ? atomic_exchange(&mp->sigp, NULL) : NULL;
	if (pp) {
		/* Scheduled meanwhile: whoever runs now is not the one that had its slice. */
		wanted = pp->asktick ==
			 atomic_load_explicit(&pp->schedtick, memory_order_relaxed);
		atomic_store(&pp->status, Prunning);
		if (wanted && busy)
			weft_tls.preempt = 1;
	}
	unpin();
	return wanted && !busy;
}

bool runtime_forced(void)
{
	struct p *pp = getp();

	return pp && atomic_load_explicit(&pp->askforce, memory_order_relaxed);
}

static void gopreempt0(void *arg)
{
	struct g *gp = arg;
	struct m *mp = weft_tls.m;
	struct p *pp = mp->p;

	mp->curg = NULL;
	atomic_store_explicit(&gp->m, NULL, memory_order_relaxed);
	atomic_store_explicit(&gp->status, Grunnable, memory_order_release);
	/* sysmon need not come to see when the next slice began. */
	atomic_store_explicit(&pp->switchwhen, nanotime(), memory_order_relaxed);
	atomic_store_explicit(&pp->switchtick, atomic_load(&pp->schedtick) + 1,
			      memory_order_release);
	lock(&sched.lock);
	globrunqput(gp, false);
	unlock(&sched.lock);
	schedule(NULL);
}

bool runtime_preempt(uint64_t kernelmask, void *altsp)
{
	struct g *gp = weft_tls.g;
	struct m *mp;

	pin();
	mp = getm();
	if (gp->sysdepth || !mp->p) {
		unpin();
		return false;
	}
	/* Both may have changed and not be noted yet: then the next G's differ from what the kernel has,
	 * although our notes say the same.  sigreturn gives this G what it had. */
	mp->sigmask = kernelmask;
	mp->altsp = altsp;
	mcall(gopreempt0);
	unpin();
	return true;
}

void runtime_wish(void)
{
	struct g *gp = weft_tls.g;
	struct p *pp;

	if (!gp || runtime_busy() || weft_tls.depth)
		return;
	weft_tls.preempt = 0;
	pin();
	pp = getp();
	/* Its slice may have ended by itself since. */
	if (!gp->sysdepth && pp &&
	    pp->asktick == atomic_load_explicit(&pp->schedtick, memory_order_relaxed))
		mcall(gopreempt0);
	unpin();
}

/* ---- sysmon ------------------------------------------------------------------------------------------- */

/* Something waits that pp would run next. */
static bool work_waits(struct p *pp, uint64_t now)
{
	uint64_t t = atomic_load(&pp->timer0);

	return !runqempty(pp) || atomic_load(&sched.runqsize) > 0 || (t && t <= now) ||
	       pp->id >= atomic_load(&gomaxprocs);
}

static void ask(struct p *pp, uint64_t now)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	uint32_t s = Prunning;

	if (!mp || now - pp->mon_askwhen < RETRY || !os_thread_runs(mp->ostid))
		return;
	if (!atomic_compare_exchange_strong(&pp->status, &s, Psignal))
		return;
	/* From here on the P stays with its M; the back link of one that just came back may be missing yet. */
	if (__atomic_load_n(&pp->m, __ATOMIC_RELAXED) != mp ||
	    atomic_load(&pp->schedtick) != pp->mon_schedtick) {
		atomic_store(&pp->status, Prunning);
		return;
	}
	pp->mon_askwhen = now;
	pp->asktick = pp->mon_schedtick;
	atomic_store_explicit(&pp->askforce,
			      now - pp->mon_schedwhen > (uint64_t)weft_opt.slice + FORCE,
			      memory_order_relaxed);
	atomic_store(&mp->sigp, pp);
	/* EAGAIN: too many signals wait in the kernel (RLIMIT_SIGPENDING). */
	if (os_tgkill(os_getpid(), mp->ostid, SIGPREEMPT)) {
		atomic_store(&mp->sigp, NULL);
		atomic_store(&pp->status, Prunning);
	}
}

static void note(struct p *pp, uint32_t tick, uint64_t now)
{
	bool told = tick && atomic_load_explicit(&pp->switchtick, memory_order_acquire) == tick;

	pp->mon_schedtick = tick;
	pp->mon_schedwhen =
		told ? atomic_load_explicit(&pp->switchwhen, memory_order_relaxed) : now;
	pp->mon_fresh = true;
	pp->mon_askwhen = 0;
}

/* Asks who had its slice; returns when the next slice ends that anybody waits for (0: none does). */
uint64_t preempt_look(uint64_t now)
{
	static uint64_t rng = 1;
	uint64_t next = 0;

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint32_t tick = atomic_load(&pp->schedtick), status = atomic_load(&pp->status);
		uint64_t end;

		if (tick != pp->mon_schedtick || !pp->mon_schedwhen)
			note(pp, tick, now);
		if (status != Prunning)
			continue;
		end = pp->mon_schedwhen + (uint64_t)weft_opt.slice;
		if (unlikely(weft_opt.chaos)) {
			if (nextrand(&rng) % 4 == 0)
				ask(pp, now);
			end = now + nextrand(&rng) % 400000;
		} else if (!weft_opt.slice || !work_waits(pp, now)) {
			continue;
		} else if (end <= now) {
			ask(pp, now);
			end = now + RETRY;
		}
		if (!next || end < next)
			next = end;
	}
	return next;
}
