/*
 * wakers: Gs that compute on after they have woken another, and what is done then for the one that they woke.
 *
 * ready() queues a G on the waker's own P, for most wakers park within a microsecond, and to wake an idle M
 * costs more than that.  A waker that goes on keeps the woken G waiting beside an idle P.  Which waker does so
 * is not measured, for that would be a look at a clock in each wake-up: it is noted when it is seen.  A thief
 * that takes a G which has aged while its P ran one G alone, and sysmon where it finds such a queue, note it in
 * that G, and its next WAKER_TRIES wake-ups wake an M at once, whatever it was that they woke: a waiter for a
 * condvar, a mutex or a barrier, a reader of a pipe, a new thread.  What such an M steals is seen again, so the
 * note stays true for as long as it pays.  (While this was for those alone that run next, a waiter for a mutex whose
 * holder computed on waited for 0.7 ms beside an idle P, as did a new thread.)
 *
 * Where there is one P alone, such a wake-up sets the M's alarm (alarm.c): the waker gives way after a
 * wakeslice, as for a G that was woken without a P.  That is for those that run next (READY_NEXT): the others wait
 * for their turn, and a mutex is not passed faster by switches (8 threads at one mutex, procs=1: a quarter slower).
 * Not where there are several and none is idle: that interrupts holders of locks for those that wait for these
 * (simulated, 8 threads at one mutex, 4 Ps: a tenth slower than without, and a quarter slower than with the wake-ups
 * of idle Ms alone).
 *
 * Rejected: a wake-up of an M in each ready(), which is Go's rule (option readywake): it moves what would run
 * here within microseconds.
 *
 * Must never: be wrong about anything but time.
 */
#include "runtime/sched/gmp.h"

void waker_seen(struct p *pp, uint64_t waited)
{
	struct m *mp = load_relaxed(&pp->m);
	struct g *gp = mp ? load_relaxed(&mp->curg) : NULL;
	uint8_t tries = gp ? load_relaxed(&gp->computeson) : WAKER_TRIES;

	if (tries != WAKER_TRIES && (tries || waited >= WAITS_LONG))
		store_relaxed(&gp->computeson, WAKER_TRIES);
}

void waker_ready(struct g *gp, struct p *pp, enum readyhow how)
{
	bool alone = load_relaxed(&gomaxprocs) == 1;
	uint64_t now;

	if (alone ? how != READY_NEXT || !weft_opt.wakeslice :
		    load_seqcst(&sched.npidle) == 0 || load_seqcst(&sched.nmspinning) > 0)
		return;
	/* One that wakes others again and again would do little else. */
	now = nanotime();
	if (since(pp->hint.wokewhen, now) < WAKER_GAP)
		return;
	pp->hint.wokewhen = now;
	/* The woken G is queued: a look that came before that is found by wakep() and by sysmon_wake_by(). */
	store_relaxed(&gp->computeson, load_relaxed(&gp->computeson) - 1);
	if (!alone)
		wakep_for(pp);
	else if (!alarm_for_woken(now) && load_relaxed(&pp->mon.cpubound))
		sysmon_wake_by(now + next_slice(pp));
}
