/*
 * preempt: signal 32, by which a G is made to look, to give way, or to get a P back; and giving way at the
 * next good moment.
 *
 * Must never: switch on a signal stack.
 *
 * Functions that are apart, and why: a side stack is taken on the M's signal stack and given back on another M,
 * so runtime_on_sig32() takes it and sidestack_give() is apart.
 */
#ifndef WEFT_PREEMPT_H
#define WEFT_PREEMPT_H

#include "runtime/runtime.h"

enum { SIGWEFT = 32 };

/*
 * What the handler of signal 32 found, and how the runtime asks about it.  The handler fills it in once,
 * calls runtime_on_sig32() at each of the moments below, and does what it is told.  Whatever the signal
 * interrupted, the first call comes before anything that may pin.
 */
struct sig32 {
	uintptr_t pc, sp, fp;	/* of what was interrupted */
	uint64_t mask;		/* the kernel's for it, which may be newer than the notes (sigmask.h) */
	const void *sigstack;	/* the alternate stack that the kernel has for this thread */
	bool last;		/* it is about to return from a side stack: nothing may come in between */
	bool aside;		/* the G is on a side stack */
	bool cut;		/* it came from a timer, and a call that the shim does not see has ended with EINTR */
	bool (*busy)(void);	/* the shim cannot be interrupted here either */
	/* A G may be switched away at pc; forced: it was asked for so long that libc's locks do not count. */
	bool (*safe)(uintptr_t pc, bool forced);
	bool (*sent)(void);	/* the G was sent something, and shall look now, whatever libc holds */
	void (*has_p)(void);	/* to be called on the side stack once the G has a P, before it gives way */
	bool (*wants_side)(void); /* the shim itself has something to do that takes a side stack */
	size_t room;		/* bytes of which there must be twice as many there, for the frame */
	bool reacquirep, preempt; /* the runtime's, from one call to the next */
	/*
	 * For SIG32_MOVE: the side stack, its lowest word is not the caller's.  The G gives it back, wherever it
	 * runs by then, and may use it until its next sigreturn, if nothing may come in between (sigframe_leave()).
	 */
	void *side;
	size_t sidesize;
};

enum sig32_at {
	SIG32_ARRIVED,	/* on the signal stack of the M */
	SIG32_ANOTHER,	/* on the side stack: another signal 32 was taken out of the kernel's queue */
	SIG32_ASIDE,	/* on the side stack, with the interrupted code's mask */
};

enum sig32_do {
	SIG32_RETURN,	/* nothing more is to be done here: it comes again, or was done */
	SIG32_LOOK,	/* the G looks at its signals, where it is */
	SIG32_MOVE,	/* the frame goes to the side stack, and the call is repeated there: SIG32_ASIDE */
};

enum sig32_do runtime_on_sig32(struct sig32 *s, enum sig32_at at);

/* What runtime_on_sig32() took. */
void sidestack_give(void *side);

/*
 * On a G, where the kernel has this alternate stack: should that not be the M's signal stack, it is
 * told.  M0's is told by this alone, once all handlers know what to do there.
 */
void runtime_sigstack(const void *has);

/*
 * Called at every interposed entry: gives way if the G was asked to at a moment when it could not
 * (weft_tls.need_resched); with chaos, perhaps yields.
 */
void runtime_yieldhere(void);

static inline void runtime_checkyield(void)
{
	if (unlikely(weft_tls.need_resched || weft_opt.chaos))
		runtime_yieldhere();
}

#endif
