/*
 * onsig32: what signal 32 asks of the runtime, on the thread that it reached.
 *
 * sysmon sends it to an M whose G shall give way (preempt.c) or computes without a P (blocked.c), the shim
 * to one whose G shall look at its signals.  One signal may stand for all three.  The handler is the
 * shim's; it asks here, first thing, and does what it is told.
 *
 * Must never: pin before SIG32_ASIDE: a G without a P would get one on the signal stack, and switch there.
 */
#include "runtime/sched/gmp.h"

/* Before anything that may give this M to another G, whose mask would be compared with the notes. */
static void note_kernel(uint64_t mask)
{
	pin_m();
	getm()->sigmask = mask;
	unpin();
}

/* There is no side stack. */
static enum sig32_do noroom(const struct sig32 *s)
{
	if (s->reacquirep)
		return SIG32_RETURN; /* sysmon asks again */
	weft_tls.need_resched |= s->preempt;
	return SIG32_LOOK;
}

static enum sig32_do moves(struct sig32 *s)
{
	s->side = sidestack_take(&s->sidesize);
	if (likely(s->side && s->room <= s->sidesize / 2))
		return SIG32_MOVE;
	/* The frame is larger than the kernel says frames are: no side stack fits. */
	if (s->side)
		sidestack_give(s->side);
	s->side = NULL;
	return noroom(s);
}

/* The alarm has rung, and the G could not give way. */
static void again(void)
{
	pin_m();
	alarm_again();
	unpin();
}

static enum sig32_do arrived(struct sig32 *s)
{
	bool g = getg() != NULL;

	profile_interrupted(s->pc, s->sp, s->fp);
	if (unlikely(s->cut))
		runtime_fromnow(FROMNOW_OWNCALLS);
	if (g && !runtime_busy())
		note_kernel(s->mask);
	s->reacquirep = reacquirep_asked();
	/*
	 * sysmon asks again, but only a G that computes: one that waits in libc's code would not look at its signals
	 * before that wait is over.
	 */
	if (s->reacquirep && (s->last || s->aside || !s->safe(s->pc, reacquirep_forced() || s->sent())))
		return SIG32_RETURN;
	s->preempt = preempt_asked();
	if (s->preempt && (s->last || s->busy() || !s->safe(s->pc, preempt_forced()))) {
		weft_tls.need_resched = 1;
		s->preempt = false;
		again();
	}
	if (!g || s->last || s->busy()) {
		/* the G sees to it at its next call; should it make none, the sender of the kick sends another */
		if (g)
			weft_tls.need_resched = 1;
		return SIG32_RETURN;
	}
	runtime_sigstack(s->sigstack);
	return s->reacquirep || s->preempt || s->wants_side() ? moves(s) : SIG32_LOOK;
}

/* Where the calling G was interrupted, for dumps while it does not run.  0: it goes on. */
static void interrupted_at(uintptr_t pc, uintptr_t sp)
{
	weft_tls.g->intpc = pc;
	weft_tls.g->intsp = sp;
}

static enum sig32_do aside(const struct sig32 *s)
{
	interrupted_at(s->pc, s->sp);
	if (s->reacquirep)
		reacquirep();
	s->has_p();
	if (s->preempt)
		preempt_here();
	interrupted_at(0, 0);
	return SIG32_LOOK;
}

enum sig32_do runtime_on_sig32(struct sig32 *s, enum sig32_at at)
{
	switch (at) {
	case SIG32_ARRIVED:
		return arrived(s);
	case SIG32_ANOTHER:
		/* It may have been the one that sysmon waits to see received. */
		preempt_asked();
		return SIG32_LOOK;
	case SIG32_ASIDE:
		break;
	}
	return aside(s);
}
