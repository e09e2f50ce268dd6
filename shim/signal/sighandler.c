/*
 * sighandler: the one handler the kernel knows.
 *
 * The kernel gets trampoline() for every signal the program handles; sigaction.c keeps the program's
 * view.  The trampoline runs the program's handler when
 * FS is a G's (or a native thread's) and the runtime is not in the middle of something; else it
 * hands the signal to the signal thread (sigring.c), which finds a G for it.  SIG_DFL and SIG_IGN
 * stay the kernel's.
 *
 * Must never: call a program's handler on g0 or with a runtime lock held, but a guest's (for_guest()).
 */
#include "runtime/process.h"
#include "runtime/sched/policy.h"
#include "shim/signal/waitmask.h"
#include "shim/process/clone.h"
#include "shim/signal/handlerframe.h"
#include "shim/signal/sig32.h"

#include <string.h>

static bool aborting(int sig, const siginfo_t *si)
{
	return sig == SIGABRT && signal_by_thread(si);
}

/*
 * A filter's answer to a call that weft makes where no handler may run.  The program did not make the call,
 * and its handler must not see it: the answer is that of a kernel that lacks the call.
 */
static bool own_call_trapped(int sig, struct sigframe *f)
{
	if (sig != SIGSYS || !signal_synchronous(sig, &f->si) || !weft_on || !signals_busy())
		return false;
	mcontext_set_call_result(&f->uc.mc, -ENOSYS);
	return true;
}

struct arrival {
	int sig, saved;
	void *side;
	struct sigaction sa;
};

/* Where the handler belongs, with the M's signal stack left for good. */
static void deliver_here(struct sigframe *f, void *arg)
{
	struct arrival a = *(const struct arrival *)arg;

	if (a.side)
		sidestack_give(a.side);
	self_thread.leaving = false;
	signal_run(a.sig, f, &a.sa);
	errno = a.saved;
	frame_leave(f);
}

/*
 * As the kernel, whose own answer to a frame that has no room is a fault.  side: the side stack that f
 * lies on, or NULL.
 */
void signal_no_room(struct sigframe *f, int sig, bool fault, void *side)
{
	struct arrival a = { .sig = SIGSEGV, .saved = errno, .side = side };

	if (sig != SIGSEGV && !(f->uc.mask & SIGBIT(SIGSEGV))) {
		action_get(SIGSEGV, &a.sa);
		memset(&f->si, 0, sizeof(f->si));
		f->si.si_signo = SIGSEGV;
		f->si.si_code = SI_KERNEL;
		if ((action_handled() & SIGBIT(SIGSEGV)) &&
		    frame_move(f, a.sa.sa_flags, deliver_here, &a))
			return;
	}
	frame_none(f, sig == SIGSEGV && fault);
}

/*
 * Is act() between changing the mask and noting it?  The mask keeps out what was taken, so taking
 * need not hide that any more, and this signal can be handled here and now, as it would be
 * natively.  (Deferred, the thousands that may wait in the kernel would all go to the signal
 * thread, at each such change of a mask, and from there back to the kernel while a handler keeps
 * them out.)
 */
static void finish_mask(const ucontext_t *uc)
{
	struct thread *th = &self_thread;
	uint64_t mask = sigs_of(&uc->uc_sigmask);
	int acting_on = th->acting_on;

	if (likely(!acting_on) || runtime_busy() || !(mask & SIGBIT(acting_on)))
		return;
	sigmask_set(getg(), mask & ~SIGS_NEVER, true);
	th->acting_on = 0;
	th->taking = false;
}

/*
 * The calling G is at its lists for a few instructions.  Its kernel mask may let in a signal that
 * its noted mask keeps out: the signal thread would find no G for it and give it back to the
 * kernel, which would deliver it here again.
 */
static bool block_meanwhile(int sig)
{
	if (!on_g() || !self_thread.taking || runtime_busy())
		return false;
	self_thread.blocked_meanwhile |= SIGBIT(sig); /* taking_ends() */
	return true;
}

/* No place to call a handler over; SIGSEGV alone is let in on a signal stack. */
static bool between_stacks(int sig, const struct sigframe *f)
{
	struct mseen mp;

	if (sigframe_leaving(sigframe_pc(f)))
		return true;
	if (sig != SIGSEGV)
		return false;
	pin_m();
	mp = g_m(NULL);
	unpin();
	return sigframe_sp(f) > mp.sigstack && sigframe_sp(f) <= mp.sigstackend;
}

/*
 * A run-time in the process that has threads of its own (Go: dlguest.c) signals them by the kernel's ids, in
 * system calls that weft does not see.  It has found this signal stack to be its thread's, and refuses
 * any other place.  So its handler runs here, at once: on g0, too, and where the runtime is busy.  Held,
 * it is not preempted, and all signals are kept out.
 */
static bool for_guest(int sig, siginfo_t *si, void *ctx, const struct sigaction *sa)
{
	if (likely(!fromnow_holds(FROMNOW_LOCKED)) || !(sa->sa_flags & SA_ONSTACK) || !runtime_on_m() ||
	    !signal_by_thread(si))
		return false;
	pin_m();
	run_handler(sig, si, ctx, sa);
	unpin();
	return true;
}

static void run_abort(void *arg)
{
	struct sigframe *f = arg;
	struct sigaction sa;

	action_get(SIGABRT, &sa);
	if (action_claim(SIGABRT, &sa))
		run_handler(SIGABRT, &f->si, &f->uc, &sa);
}

/* Where no handler may run now. */
static void arrives_busy(struct sigframe *f, siginfo_t *si, struct arrival *a)
{
	int sig = a->sig;
	bool out;

	if (unlikely(aborting(sig, si))) {
		/* Natively it may be any thread's. */
		if (!compat_setxid_as_caller(run_abort, f) && !aborted_elsewhere(sig, si) &&
		    !frame_move(f, a->sa.sa_flags, deliver_here, a))
			signal_no_room(f, sig, false, NULL);
		return;
	}
	/*
	 * An idle M would get it back at once, and again, for as long as no G wants it; and
	 * a thread at its lists might never get through with them.
	 */
	out = sigroute_defer(sig, si);
	/* Then: a mask that keeps it out tells that it is in the ring (sigroute_settle()). */
	out |= sigmask_add_idle(SIGBIT(sig)) || block_meanwhile(sig);
	if (out)
		f->uc.mask |= SIGBIT(sig);
}

/*
 * On the M's signal stack (a native thread's own, or its alternate one), with all signals kept out.
 * What may run the handler takes the frame to where that belongs; the rest returns from here.
 */
void trampoline(int sig, siginfo_t *si, void *ctx)
{
	struct sigframe *f = sigframe_of(ctx);
	struct arrival a = { .sig = sig, .saved = errno };

	if ((sig == SIGSEGV || sig == SIGBUS) && sigframe_fault(f))
		return; /* frame_move() looks for another way, usermem.c says EFAULT */
	action_get(sig, &a.sa);
	if (unlikely(weft_tls.strict)) {
		run_handler(sig, si, ctx, &a.sa); /* strict.c: no call is to be made */
		errno = a.saved;
		return;
	}
	sigroute_original(si);
	if (unlikely(for_guest(sig, si, ctx, &a.sa))) {
		errno = a.saved;
		return;
	}
	if (sig == SIGPIPE && weft_on && on_g() && self_thread.catches_sigpipe) {
		self_thread.got_sigpipe = true; /* fdended.c sends it to this thread once it may run */
		errno = a.saved;
		return;
	}
	if (on_g()) {
		runtime_sigstack(f->uc.stack.ss_sp);
		finish_mask(ctx);
	}
	if (unlikely(own_call_trapped(sig, f))) {
		errno = a.saved;
		return;
	}
	if (weft_on && !signal_synchronous(sig, si) && (signals_busy() || between_stacks(sig, f))) {
		arrives_busy(f, si, &a);
		errno = a.saved;
		return;
	}
	if (weft_on && !signal_synchronous(sig, si) && sigroute_pass_on(sig, si)) {
		if (on_g())
			call_again(f);
		errno = a.saved;
		return;
	}
	if (!frame_move(f, a.sa.sa_flags, deliver_here, &a))
		signal_no_room(f, sig, signal_synchronous(sig, si), NULL);
}
