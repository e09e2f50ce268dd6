/*
 * sig32: signal 32: a G must look at something now.
 *
 *	give way	sysmon asks for it (runtime/sysmon/preempt.c); may it, here? (safepoint.c)
 *	get a P		its P was taken while it was blocked unseen (runtime/sysmon/blocked.c)
 *	signals		something is queued on it (sigsend.c)
 *	attributes	another thread has changed its policy or its affinity (schedparam.c)
 *	cancellation	in our system call stub, and in libc's, the handler moves the PC to the way
 *			out; an asynchronous one is acted upon on the spot
 *
 * It arrives on the M's signal stack with all signals (but SIGSEGV) kept out, whatever it interrupted.  There the
 * handler finds out what is to be done, and does what needs no more than that stack.  To give way, or
 * to wait for a P, the G takes the frame to a side stack.  A handler of the program, and a cancellation,
 * take it to where the kernel would have put it (handlerframe.c).  On a side stack no handler of the program
 * may run on top: self_thread.leaving says so until the last instruction before sigreturn.
 *
 * Must never: switch or pin on the signal stack; run the program's code there or on a side stack; touch
 * errno, which is the interrupted code's.
 */
#include "shim/signal/sig32.h"

#include "shim/fd/fdowner.h"
#include "shim/signal/handlerframe.h"
#include "shim/signal/safepoint.h"
#include "shim/thread/schedparam.h"

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* What is to be done; handed from one stack to the next. */
struct sig32_work {
	struct sig32 ask; /* .side: the side stack it runs on; NULL: the M's signal stack */
};

/* The kernel's mask becomes what it was. */
static void mask_back(const struct sigframe *f)
{
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &f->uc.mask, NULL, 8);
}

/*
 * The same, but what the mask of the call that was interrupted keeps out waits: its handlers come first,
 * and have that mask.
 */
static void mask_both(const struct sigframe *f)
{
	struct thread *th = &self_thread;
	uint64_t mask = f->uc.mask;

	if (unlikely(load_relaxed(&th->masked)))
		mask |= load_relaxed(&th->waitmask);
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

static void off_side(struct sig32_work *k)
{
	if (k->ask.side)
		sidestack_give(k->ask.side);
}

/* ---- signals and cancellation ---------------------------------------------------------------- */

/* An asynchronous cancellation, over the frame: what was interrupted does not go on. */
static void cancelled(struct sigframe *f, void *arg)
{
	struct sig32_work k = *(struct sig32_work *)arg;

	/*
	 * No sigreturn will give this kernel thread, which goes on to run others, its mask back.
	 */
	mask_back(f);
	off_side(&k);
	self_thread.leaving = false;
	cancel_act(); /* does not return: unwinds through this frame */
	frame_leave(f);
}

/* True: the caller has to take the frame to where the program's code may run (frame_move()). */
static bool cancel_here(struct sigframe *f)
{
	struct tcb *t = tcb_self();

	if (likely(!tcb_cancel_pending(t)))
		return false;
	if (stub_of(sigframe_pc(f), cp_begin, cp_end)) {
		mcontext_set_pc(&f->uc.mc, (uintptr_t)cp_cancel);
		return false;
	}
	if (tcb_cancel_bridge(sigframe_pc(f))) {
		call_over(f, tcb_cancel_bridge(sigframe_pc(f)));
		return false;
	}
	if (!tcb_cancel_async(t) || self_thread.cancelling)
		return false;
	/* Before more of these are let in: each would come this far again. */
	self_thread.cancelling = true;
	return true;
}

/* Must a call in the stub end though no handler has run? */
static bool stub_ends(void)
{
	struct thread *th = &self_thread;

	return th->stop || (th->held && th->waitset);
}

/* Handlers of the program over what was interrupted; one after the other, as they come out of the queue. */
static void handled(struct sigframe *f, void *arg)
{
	struct sig32_work k = *(struct sig32_work *)arg;
	uintptr_t pc = sigframe_pc(f), end = call_end(f);
	bool stub = call_in_stub(f), ends;
	bool again = call_ended_once(f);
	uint64_t done = self_thread.sigdone;
	int saved = errno;

	mask_both(f);
	off_side(&k);
	ends = signals_over(f) || (again && self_thread.sigdone != done);
	if ((ends || (stub && stub_ends())) && end && sigframe_pc(f) == pc)
		call_over(f, end);
	if (cancel_here(f)) {
		self_thread.leaving = false;
		mask_back(f);
		cancel_act();
	}
	errno = saved;
	frame_leave(f);
}

/* What is queued, and cancellation; f is on a stack of weft's, and returned through when this returns. */
static void look(struct sigframe *f, struct sig32_work *k)
{
	struct thread *th = &self_thread;
	int sig;

	store_seqcst(&th->kicked, false);
	sig = signals_next();
	th->leaving = true; /* for a handler that is about to move to another stack */
	if (sig && !frame_move(f, action_flags(sig), handled, k)) {
		signals_take(SIGBIT(sig), NULL);
		signal_no_room(f, sig, false, k->ask.side);
	}
	if (call_in_stub(f) && stub_ends())
		call_over(f, call_end(f));
	if (cancel_here(f) && !frame_move(f, 0, cancelled, k))
		frame_none(f, false);
	th->leaving = k->ask.side != NULL;
}

/* ---- giving way ------------------------------------------------------------------------------ */

/*
 * On the side stack, as a G.  The kernel queues each signal 32 that was sent, and an M that waited
 * for its CPU has one for each millisecond in which it was kicked.  Each of them only makes the G
 * look, which it is about to do; so they are taken out before they are let in.
 */
static void let_in(const struct sigframe *f, struct sig32_work *k)
{
	uint64_t us = SIGBIT(SIGWEFT);
	struct timespec zero = {0, 0};
	bool more = false;

	while (own4(SYS_rt_sigtimedwait, &us, NULL, &zero, sizeof(us)) == SIGWEFT)
		more = true;
	if (more)
		runtime_on_sig32(&k->ask, SIG32_ANOTHER);
	mask_back(f);
}

static void on_side(struct sigframe *f, void *arg)
{
	struct sig32_work k = *(struct sig32_work *)arg; /* from the M's stack, which is another's from let_in() on */

	let_in(f, &k);
	runtime_on_sig32(&k.ask, SIG32_ASIDE);
	schedparam_apply_here();
	look(f, &k);
	f->uc.stack.ss_flags = SIGFRAME_STACKFLAGS; /* this M's stays what it is */
	sidestack_give(k.ask.side);
	sigframe_leave(f, &self_thread.leaving);
}

/* Does not return. */
static void to_side(struct sigframe *f, struct sig32_work *k)
{
	uintptr_t end = (uintptr_t)k->ask.side + k->ask.sidesize;
	struct sigframe *to = sigframe_at(end, k->ask.room);

	sigframe_copy(to, end, f);
	self_thread.leaving = true;
	sigframe_enter(to, on_side, k);
}

/* ---- arriving -------------------------------------------------------------------------------- */

static void has_p(void)
{
	if (nosigthread_armed())
		nosigthread_drain();
}

/* A signal, let in or not, or a cancellation. */
static bool sent(void)
{
	return load_relaxed(mailbox(&self_thread)) || tcb_cancel_pending(tcb_self());
}

/* The shim's own, beside what the runtime asks for. */
static bool wants_side(void)
{
	return nosigthread_armed() || load_relaxed(&self_thread.schedparam_pending);
}

static void handler(int sig, siginfo_t *si, void *uc)
{
	struct sigframe *f = sigframe_of(uc);
	uintptr_t pc = (call_again(f), sigframe_pc(f)); /* all below finds a call that is about to begin */
	struct sig32_work k = {
		.ask = {
			.pc = pc,
			.sp = sigframe_sp(f),
			.fp = sigframe_fp(f),
			.mask = f->uc.mask,
			.sigstack = f->uc.stack.ss_sp,
			.last = sigframe_leaving(pc),
			.aside = self_thread.leaving,
			.cut = unlikely(si->si_code == SI_TIMER) && call_cut(f),
			.busy = signals_busy,
			.safe = safepoint_at_pc,
			.sent = sent,
			.has_p = has_p,
			.wants_side = wants_side,
			.room = sigframe_state(f),
		},
	};
	enum sig32_do what;

	(void)sig;
	if (unlikely(si->si_code == SI_TIMER || si->si_code > 0) && sigroute_is_sigthread()) {
		if (si->si_code == SI_TIMER)
			timer_fired(si);
		else
			fdowner_fired(si);
		return;
	}
	what = runtime_on_sig32(&k.ask, SIG32_ARRIVED);
	if (what == SIG32_MOVE)
		to_side(f, &k);
	if (what == SIG32_RETURN)
		return;
	look(f, &k);
}

void sig32_init(void)
{
	struct kernel_sigaction sa = { 0 };

	/* libc's restorer: unwinders recognise its bytes as a signal frame. */
	for (int sig = 33; sig >= 32 && !sa.restorer; sig--) /* setxid.c: there may be one alone */
		if (direct4(SYS_rt_sigaction, sig, 0, &sa, 8))
			return;
	if (!sa.restorer)
		return;
	sigframe_restorer = (void *)sa.restorer;
	sa.handler = handler;
	sa.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | 0x04000000; /* SA_RESTORER */
	sa.mask = ~SIGBIT(SIGSEGV); /* which frame_move() may make */
	direct4(SYS_rt_sigaction, SIGWEFT, &sa, 0, 8);
}
