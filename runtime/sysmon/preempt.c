/*
 * preempt: taking the CPU away from a G that computes.
 *
 * sysmon looks at every P (retake.c) and asks one to give way by signal 32 to its M.  The
 * switch happens inside the handler, on a side stack of weft's that the frame was copied to
 * (sigstack.c): a G that is resumed there on any M returns through the frame, and sigreturn restores
 * every register, vector and x87 state included.  FS is not part of the frame.
 *
 * No system call may end in EINTR or a short transfer because of weft, so an M is signalled only
 * while its G computes:
 *
 *	sysmon         Prunning -> Psignal, notes the P in m->sigp, sends the signal
 *	the handler    takes m->sigp, Psignal -> Prunning: its first act, wherever it finds the M
 *	other threads take a P out of Prunning by compare-and-swap (p_leave) and wait, each on its
 *	               own M, until the handler has run
 *
 * So at most one signal is on its way to an M, an M never sleeps with one coming, and m->p cannot
 * change between the asking and the handler's first act.  What remains is a libc function that
 * blocks without our seeing: the kernel is asked first whether the thread runs.
 *
 * A G may have blocked signal 32 by a system call that weft did not see, and so keep it out for
 * long.  The M that waits for it notices (p_leave_slow).
 *
 * Rejected: to send a signal again that seems lost.  The kernel queues each of these, so none is; the M may
 * have taken the first between the look and the second, which then ends its next system call.
 *
 * Which G sysmon asks, and when, is in retake.c.
 *
 * Safe points.  Everything of the runtime that depends on its M or P is pinned (lock.h), and the
 * shim tells by the PC whether a lock of libc may be held; the handler then sets weft_tls.need_resched,
 * the G gives way at the next cheap moment (preempt_resched), and sysmon asks again.
 *
 * An M may ask itself, by its alarm (sched/alarm.c): it takes the same words while sysmon cannot.
 *
 * Must never: be asked for by any other thread; switch on g0, pinned, or inside entersyscall.
 */
#include "runtime/sysmon/sysmon.h"
#include "runtime/sched/tracehook.h"

#include <errno.h>

void p_leave_slow(struct p *pp, uint32_t to)
{
	struct m *mp = getm();
	struct moment w = { 0 };

	for (;;) {
		uint32_t s = Prunning;
		bool sent;

		if (cas_seqcst(&pp->status, &s, to))
			return;
		if (s != Psignal)
			throw("p%d: status %u while its M runs", pp->id, s);
		sent = load_acquire(&pp->preemptsent); /* after Psignal was seen: of this request */
		/* sysmon may have lost its CPU before it sent: perhaps to this M. */
		if (!moment_step(&w) || !sent)
			continue;
		/*
		 * It was sent before the kernel was entered.  A G may have blocked the signal by a system call that
		 * weft did not see; if it does not arrive on this return from the kernel, it never will.
		 */
		os_sigunblock(SIGWEFT);
		if (load_seqcst(&pp->status) == Psignal && exchange_acq_rel(&mp->sigp, NULL) == pp)
			store_seqcst(&pp->status, Prunning);
	}
}

/* ---- the M that is asked --------------------------------------------------------------------- */

/*
 * This handler may run because the alarm rang, between sysmon's note and its signal.  That is waited for:
 * it comes when the handler is over, and not in the next system call.  sysmon may be without a CPU.
 */
static void await_sent(struct p *pp)
{
	for (struct moment w = { 0 }; !load_acquire(&pp->preemptsent);)
		moment_step(&w);
}

bool preempt_asked(void)
{
	bool busy = runtime_busy(), wanted = false, looks = false;
	struct m *mp;
	struct p *pp;

	/* The next signal may come at any instruction. */
	pin_m();
	mp = getm();
	pp = mp ? exchange_acq_rel(&mp->sigp, NULL) : NULL;
	if (pp) {
		if (unlikely(alarm_rang(mp)))
			await_sent(pp);
		/*
		 * The P has scheduled meanwhile: the G that runs now is not the one that had its
		 * slice.
		 */
		looks = pp->preemptlooks;
		wanted = !looks && pp->preempttick == load_relaxed(&pp->schedtick);
		store_seqcst(&pp->status, Prunning);
	}
	if ((!pp || looks) && mp && unlikely(load_relaxed(&mp->alarm.when)))
		wanted = alarm_rings(mp);
	if (wanted && busy)
		weft_tls.need_resched = 1;
	unpin();
	return wanted && !busy;
}

bool preempt_forced(void)
{
	struct p *pp = getp();

	return pp && load_relaxed(&pp->preemptforce);
}

static void gopreempt_m(void *arg)
{
	struct g *gp = arg;
	struct p *pp = weft_tls.m->p;

	trace_preempt(gp, pp);
	gp->gaveway = true;
	offm(gp);
	/* So that sysmon knows when the next slice began without a look at that moment. */
	store_relaxed(&pp->hint.switchwhen, nanotime());
	store_release(&pp->hint.switchtick, load_relaxed(&pp->schedtick) + 1);
	if (load_relaxed(&gp->sliceused)) {
		runqput(pp, gp, false);
	} else {
		lock(&sched.lock);
		globrunqput(gp, false);
		unlock(&sched.lock);
	}
	schedule(NULL);
}

/*
 * The calling G gives way, pinned.  False: it has no P, or the woken G has found another P.  Or the G has
 * a P of its own by now: it was asked for the P that it had before.  In the global queue it would be found
 * by an M that hands its P over, to an M that waits with another, and that P would be lost.
 */
static bool give_way(struct g *gp, struct p *pp, uint64_t used)
{
	uint64_t first = pp ? load_seqcst(&pp->timer0) : 0, now = first ? nanotime() : 0;
	bool ran;

	/* What the alarm rang for: they go before the caller, and what is queued here. */
	if (first && first <= now && !pp->own)
		timers_check(pp, now, &ran);
	if (gp->shim.sysdepth || !pp || pp->own)
		return false;
	if (used && load_seqcst(&sched.wakeupqsize) == 0 && !load_relaxed(&pp->runnext)) {
		/* No switch follows that would look for what is due next. */
		if (load_relaxed(&pp->mon.cpubound))
			alarm_begin(getm());
		return false;
	}
	if (realtime_keeps(gp, 0) && realtime_keep(gp))
		return true;
	store_relaxed(&gp->sliceused, used);
	mcall(gopreempt_m);
	return true;
}

void preempt_here(void)
{
	struct p *pp;

	pin();
	pp = getp();
	give_way(weft_tls.g, pp, pp ? pp->preemptused : 0);
	unpin();
}

/*
 * A G that makes call after call is seen in one at each look, and cannot be interrupted there: a call may not end
 * because of weft.  So it is told in its M, and gives way when the call is over.
 */
void preempt_after_call(struct g *gp, struct m *mp)
{
	fetch_and_acq_rel(&mp->told, ~(uint32_t)TOLD_GIVEWAY);
	/* Another G may run here by now. */
	if (load_relaxed(&mp->giveway) == load_relaxed(&mp->p->schedtick))
		give_way(gp, mp->p, load_relaxed(&mp->giveused));
}

void g_look(void)
{
	if (hooks.interrupted)
		hooks.interrupted();
}

void preempt_resched(void)
{
	struct g *gp = weft_tls.g;
	struct p *pp;

	if (!gp || runtime_busy() || weft_tls.depth)
		return;
	weft_tls.need_resched = 0;
	pin();
	pp = getp();
	/* Its slice may have ended by itself since. */
	if (pp && pp->preempttick == load_relaxed(&pp->schedtick))
		give_way(gp, pp, pp->preemptused);
	unpin();
	if (load_relaxed(&gp->interrupted))
		g_look();
}

/* ---- sysmon, that asks ----------------------------------------------------------------------- */

static void send(struct p *pp, struct m *mp)
{
	/* EAGAIN: too many signals wait in the kernel (RLIMIT_SIGPENDING). */
	if (os_tgkill(os_getpid(), mp->ostid, SIGWEFT) == 0) {
		store_release(&pp->preemptsent, true);
	} else if (exchange_acq_rel(&mp->sigp, NULL) == pp) {
		store_seqcst(&pp->status, Prunning);
	} else {
		store_release(&pp->preemptsent, true); /* the alarm's handler has the note, and waits */
	}
}

/* mp runs, or would if it had a CPU: it is blocked nowhere. */
static bool computes(struct p *pp, struct m *mp)
{
	struct os_where where;
	int r;

	/* The free question first: asking the kernel may cost sysmon its CPU (sysmonsleep.c). */
	if (sysmon_saw_running(pp, mp) || procfs_oncpu(mp->ostid))
		return true;
	r = procfs_blocked(mp->ostid, &where);
	return r == 0 || (r < 0 && r != -EAGAIN && sysmon_saw_clock(pp, mp));
}

/* The M of pp, which computes, and pp stays with it from here on: in Psignal.  NULL: it does not. */
static struct m *hold(struct p *pp)
{
	struct m *mp = load_relaxed(&pp->m);
	uint32_t s = Prunning;

	if (!mp || !computes(pp, mp) || !cas_seqcst(&pp->status, &s, Psignal))
		return NULL;
	/* The back link of one that just came back may be missing yet. */
	if (load_relaxed(&pp->m) == mp)
		return mp;
	store_seqcst(&pp->status, Prunning);
	return NULL;
}

/* Its G does not give way: profile_interrupted() looks where it is. */
void preempt_look(struct p *pp)
{
	struct m *mp = hold(pp);

	if (!mp)
		return;
	pp->preemptlooks = true;
	store_release(&pp->preemptsent, false);
	store_release(&mp->sigp, pp);
	send(pp, mp);
}

void preemptone(struct p *pp, uint64_t now, uint64_t used)
{
	struct m *mp;

	if (now - pp->mon.preemptwhen < (used ? PREEMPT_RETRY_WAKEUP : PREEMPT_RETRY))
		return;
	mp = hold(pp);
	if (!mp)
		return;
	if (load_relaxed(&pp->schedtick) != pp->mon.schedtick) {
		store_seqcst(&pp->status, Prunning);
		return;
	}
	pp->mon.preemptwhen = now;
	pp->preempttick = pp->mon.schedtick;
	pp->preemptused = used;
	pp->preemptlooks = false;
	store_release(&pp->preemptsent, false);
	store_relaxed(&pp->preemptforce,
		      since(pp->mon.schedwhen, now) > (uint64_t)weft_opt.slice + PREEMPT_FORCE);
	store_release(&mp->sigp, pp);
	send(pp, mp);
}
