/*
 * alarm: a timer of the kernel's for each M whose G computes, so that the G gives way when another is due.
 *
 * A G that computes leaves its P's timers, and what was woken behind it, to sysmon.  A look of sysmon's takes a CPU
 * from some M, two context switches and 10 us, and there may be few of these.  An alarm is sent to the very M:
 * an interrupt and a signal, 3 us where the CPU computes anyway, and at the time that was asked for.  In a virtual
 * machine it may take ten times that: 8 us to set one, 20 for its interrupt, as for each sleep natively.  So none is
 * set that another makes needless (parks_soon()).
 *
 * The M sets it itself as it switches to a G (alarm_begin()), where its P is known to compute (mon.cpubound)
 * and something will be due or waits for the end of the slice, and where its G, of which it is known that it
 * computes on after a wake-up, has woken another that has no other P (alarm_for_woken()).  The G that runs then
 * has had half a wakeslice at least.
 *
 * No system call may end with EINTR because of weft.  So an M that leaves its P takes its alarm back first
 * (p_leave()): after that call none is on its way.  An M that blocks in a call which weft does not see cannot:
 * sysmon does it as it takes the P (revokep()).  A call that the program makes by an instruction of its own
 * ends when the alarm is sooner.  The handler sees that (call_cut()), and from then on there are no alarms in
 * this process (FROMNOW_OWNCALLS): the code that makes one such call makes more.  Beforehand nobody could say
 * so: the number of a call that has ended is lost, so it cannot begin again.  A poll of weft's own counts, too
 * (shim/signal/sigcall.c), so a program that polls has none soon.
 *
 * sysmon leaves a P alone while its M has set one (p_sees_itself()).  Where there is none (RLIMIT_SIGPENDING, a
 * filter, such calls), it does all of this, as often as it may.
 *
 * Rejected: the kernel's timers on a thread's CPU time.  They would never meet a call that waits, and are
 * looked at with the kernel's tick: 4 ms late.
 *
 * Must never: be set but by the M itself; outlive the M's P.
 */
#include "runtime/sched/gmp.h"

enum { ALARM_NONE = -1 }; /* malarm.timer: the kernel gives this M none */

static bool may(void)
{
	return weft_opt.wakeslice && os_has(OS_pick) && os_has(OS_kick) && !fromnow_holds(FROMNOW_OWNCALLS);
}

static bool one_more(unsigned long most)
{
	if (fetch_add_relaxed(&sched.nalarms, 1) < most)
		return true;
	fetch_sub_relaxed(&sched.nalarms, 1);
	return false;
}

/* Each is one of the signals that the program may queue, and an M that waits in the kernel keeps its own. */
static bool make(struct m *mp)
{
	unsigned long most = os_alarm_limit() / ALARM_PART;
	bool made = most >= (unsigned long)load_relaxed(&gomaxprocs) && one_more(most);
	int timer = ALARM_NONE;

	if (made && os_alarm_make(mp->ostid, SIGWEFT, &timer)) {
		fetch_sub_relaxed(&sched.nalarms, 1);
		made = false;
	}
	mp->alarm.timer = made ? timer + 1 : ALARM_NONE;
	return made;
}

bool alarm_is_set(const struct m *mp, uint64_t now)
{
	uint64_t when = mp ? load_relaxed(&mp->alarm.when) : 0;

	return when && now < when + PREEMPT_RETRY;
}

/* Not again where one rings sooner: that will see what is due later.  False: sysmon has to see to it. */
static bool set(struct m *mp, uint64_t at, uint64_t now)
{
	bool made;

	/* It would ring in here, and not be heard. */
	if (at < now + ALARM_SOONEST)
		at = now + ALARM_SOONEST;
	if (alarm_is_set(mp, now) && load_relaxed(&mp->alarm.when) <= at)
		return true;
	if (at > now + ALARM_FAR || !may() || mp->alarm.timer == ALARM_NONE || (!mp->alarm.timer && !make(mp)))
		return false;
	mp->alarm.set = now;
	mp->alarm.setruns = load_relaxed(&mp->p->runs);
	mp->alarm.setcpu = os_own_cpu();
	/*
	 * Written first: it may ring before the call returns.  A handler that runs in between must not take it
	 * for one that rang.
	 */
	mp->alarm.setting = true;
	store_relaxed(&mp->alarm.when, at);
	made = os_alarm_set(mp->alarm.timer - 1, at) == 0;
	if (!made) {
		/* It is the parent's, where this process was made by a call that weft did not see. */
		store_relaxed(&mp->alarm.when, 0);
		mp->alarm.timer = 0;
		fetch_sub_relaxed(&sched.nalarms, 1);
	}
	mp->alarm.setting = false;
	return made;
}

void alarm_off(struct m *mp)
{
	store_relaxed(&mp->alarm.when, 0);
	os_alarm_set(mp->alarm.timer - 1, 0);
}

void alarm_end(struct m *mp)
{
	if (mp->alarm.timer > 0) {
		os_alarm_delete(mp->alarm.timer - 1);
		fetch_sub_relaxed(&sched.nalarms, 1);
	}
	mp->alarm = (struct malarm){ 0 };
}

/* When the slice of gp is over, that began at began, if anything waits for that. */
static uint64_t slice_end(struct p *pp, const struct g *gp, uint64_t began)
{
	uint64_t used = load_relaxed(&gp->sliceused), slice = (uint64_t)weft_opt.slice;

	if (!slice || (runqempty(pp) && load_seqcst(&sched.runqsize) == 0))
		return UINT64_MAX;
	return began + (used < slice ? slice - used : 0);
}

/*
 * A G that has parked since it was last made to give way parks again soon: its slice will not end.  And where an alarm
 * rang for others lately one will again, and sees slices that are over then.  (A sleeper that ran for a moment set an
 * alarm for the end of its slice, and another one, sooner, as it slept again.)
 */
static bool parks_soon(const struct m *mp, uint64_t now)
{
	return !load_relaxed(&mp->curg)->gaveway && since(mp->alarm.rangforothers, now) < (uint64_t)weft_opt.slice;
}

/* When the G that runs has to give way, for all that is known now; UINT64_MAX: never. */
static uint64_t next_due(struct m *mp, uint64_t began, uint64_t now)
{
	struct p *pp = mp->p;
	uint64_t soonest = began + (uint64_t)weft_opt.wakeslice, first = load_seqcst(&pp->timer0);
	uint64_t at = parks_soon(mp, now) ? UINT64_MAX : slice_end(pp, load_relaxed(&mp->curg), began);

	if (first && first < at)
		at = first;
	return at < soonest || load_seqcst(&sched.wakeupqsize) > 0 ? soonest : at;
}

void alarm_begin(struct m *mp)
{
	struct p *pp = mp->p;
	uint64_t now = nanotime(), at;

	/* Gs that share a slice are one. */
	if (mp->alarm.begantick != load_relaxed(&pp->schedtick)) {
		mp->alarm.begantick = load_relaxed(&pp->schedtick);
		mp->alarm.began = now;
	}
	mp->alarm.due = false;
	if (pp->own)
		return;
	at = next_due(mp, mp->alarm.began, now);
	if (at != UINT64_MAX)
		set(mp, at, now);
}

bool alarm_for_timer(struct p *pp, uint64_t when)
{
	struct m *mp = getm();

	if (!mp || mp->p != pp || !may() || mp->alarm.timer == ALARM_NONE || when > nanotime() + ALARM_FAR)
		return false;
	mp->alarm.due = true;
	return true;
}

bool alarm_for_woken(uint64_t now)
{
	return set(getm(), now + (uint64_t)weft_opt.wakeslice, now);
}

/* Something is due that pp's G keeps waiting. */
static bool others_due(struct p *pp, uint64_t now)
{
	uint64_t first = load_seqcst(&pp->timer0);

	return (first && first <= now) || load_seqcst(&sched.wakeupqsize) > 0 ||
	       (load_relaxed(&gomaxprocs) == 1 && load_relaxed(&pp->runnext));
}

/*
 * In a handler, which is not pinned: sysmon may take the P at any instruction.  Not while it is Psignal, which
 * keeps sysmon's requests away, too.  NULL: the M has none, or sysmon asks, and its signal is coming.
 */
static struct p *hold_p(struct m *mp)
{
	struct p *pp = mp->p;
	uint32_t s = Prunning;

	if (!pp || !cas_seqcst(&pp->status, &s, Psignal))
		return NULL;
	if (load_relaxed(&pp->m) == mp)
		return pp;
	store_seqcst(&pp->status, Prunning); /* it is another M's by now */
	return NULL;
}

static void let_go(struct p *pp)
{
	store_seqcst(&pp->status, Prunning);
}

/* The same words as sysmon writes. */
static void ask_self(struct p *pp, uint64_t used)
{
	pp->preempttick = load_relaxed(&pp->schedtick);
	pp->preemptused = weft_opt.slice && used >= (uint64_t)weft_opt.slice ? 0 : used;
	store_relaxed(&pp->preemptforce, false);
}

/* The M was on its CPU for most of the time since the alarm was set: its G computes. */
static void note_computed(struct m *mp, struct p *pp, uint64_t now)
{
	if (since(mp->alarm.setcpu, os_own_cpu()) >= since(mp->alarm.set, now) / CPUBOUND_PART)
		store_relaxed(&pp->hint.computedwhen, now);
}

bool alarm_rang(struct m *mp)
{
	uint64_t when = load_relaxed(&mp->alarm.when);

	if (!when || mp->alarm.setting || nanotime() < when)
		return false; /* another's signal */
	store_relaxed(&mp->alarm.when, 0);
	return true;
}

bool alarm_again(void)
{
	struct m *mp = getm();
	struct p *pp = mp ? hold_p(mp) : NULL;
	uint64_t now = nanotime();
	bool made = pp && set(mp, now + PREEMPT_RETRY_WAKEUP, now);

	if (pp)
		let_go(pp);
	return made;
}

/* It has rung.  True: the G that runs gives way. */
static bool look(struct m *mp, struct p *pp)
{
	struct g *gp = load_relaxed(&mp->curg);
	uint64_t now = nanotime(), began, at;
	bool others;

	if (!gp || pp->own)
		return false;
	began = mp->alarm.begantick == load_relaxed(&pp->schedtick) ? mp->alarm.began : mp->alarm.set;
	if (since(began, now) < (uint64_t)weft_opt.wakeslice / CPUBOUND_PART) {
		if (others_due(pp, now))
			set(mp, began + (uint64_t)weft_opt.wakeslice, now);
		return false;
	}
	note_computed(mp, pp, now);
	others = others_due(pp, now);
	if (others)
		mp->alarm.rangforothers = now;
	else if (slice_end(pp, gp, began) > now) {
		at = next_due(mp, began, now);
		if (at != UINT64_MAX)
			set(mp, at, now);
		return false;
	}
	/* Of two Gs that wake each other, and share a slice, neither computes on. */
	if (load_relaxed(&gomaxprocs) == 1 && load_relaxed(&pp->runnext) &&
	    mp->alarm.setruns == load_relaxed(&pp->runs))
		waker_seen(pp, since(mp->alarm.set, now));
	ask_self(pp, load_relaxed(&gp->sliceused) + since(began, now));
	return true;
}

bool alarm_rings(struct m *mp)
{
	struct p *pp;
	bool wanted;

	if (!alarm_rang(mp))
		return false;
	pp = hold_p(mp);
	if (!pp)
		return false;
	wanted = look(mp, pp);
	let_go(pp);
	return wanted;
}
