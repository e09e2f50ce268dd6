/*
 * sigrun: runs handlers of the program over a frame that lies where the kernel would have put it.
 *
 * The frame is the kernel's (signal_run()), or was made for what is queued on the calling G (signals_over(),
 * signals_deliver()).  Masks, SA_NODEFER, SA_RESETHAND and default actions are applied as the kernel would.
 *
 * While a handler runs on a G, the G's mask is what the kernel has, so a handler may park, migrate and
 * return anywhere: sigreturn restores the old mask on the M it then runs on, and both masks are set to it.
 * What was queued on the G meanwhile and that mask lets in is taken before (signals_rest()), as by the
 * kernel.
 *
 * Must never: run a handler while runtime_busy(), or on a stack of weft's.
 */
#include "runtime/base/moment.h"
#include "shim/signal/handlerframe.h"
#include "shim/signal/sig32.h"
#include "shim/signal/sigpending.h"
#include "shim/signal/waitmask.h"

static _Atomic uint32_t aborts_begun, aborts_ended; /* handlers of SIGABRT */

/*
 * The count is put back, not counted down: a handler may fork, and the child begins with none.  A jump out
 * of handlers leaves none (sigmask.c).
 */
static void call_handler(int sig, siginfo_t *si, void *uc, const struct sigaction *sa)
{
	uintptr_t outer = weft_tls.handlersp;
	uint64_t began = self_thread.callbegan;

	weft_tls.handlersp = (uintptr_t)__builtin_frame_address(0);
	if (sa->sa_flags & SA_SIGINFO)
		sa->sa_sigaction(sig, si, uc);
	else
		/* The old form gets the context too on Linux; programs read it. */
		((void (*)(int, siginfo_t *, void *))(void *)sa->sa_handler)(sig, si, uc);
	weft_tls.handlersp = outer;
	self_thread.callbegan = began;
}

void run_handler(int sig, siginfo_t *si, void *uc, const struct sigaction *sa)
{
	if (likely(sig != SIGABRT)) {
		call_handler(sig, si, uc, sa);
		return;
	}
	fetch_add_acq_rel(&aborts_begun, 1);
	call_handler(sig, si, uc, sa);
	fetch_add_acq_rel(&aborts_ended, 1);
}

/*
 * libc's abort() where no handler may run: on a kernel thread that setuid reached, and which got
 * another answer than its caller.  libc raises the signal again, with the default action, as soon
 * as the handler has returned; so the kernel thread is kept here until a G has run the program's
 * handler.  False: none does.  The only one may be the one that was interrupted here, or an M be
 * wanted, and none can be made while setuid holds libc's list of threads.
 */
bool aborted_elsewhere(int sig, const siginfo_t *si)
{
	uint32_t begun = load_acquire(&aborts_begun), ended = load_acquire(&aborts_ended);
	struct moment w = { 0 };

	/* The caller is the signal thread: no other thread would take the signal from the ring. */
	if (sigroute_is_sigthread())
		return false;
	sigroute_defer(sig, si);
	for (; load_acquire(&aborts_begun) == begun; moment_wait(&w))
		if (moment_over(&w, STANDSTILL_NS))
			return false;
	while (load_acquire(&aborts_ended) == ended)
		moment_wait(&w);
	return true;
}

/* Out of the kernel's wait under a mask of the call's own, which is then the one that let the signal in. */
static bool left_call(const struct sigframe *f)
{
	uintptr_t pc = sigframe_pc(f);

	return (pc == (uintptr_t)cp_end || pc == (uintptr_t)nocp_end) &&
	       mcontext_call_result(&f->uc.mc) == -EINTR;
}

/* What the kernel would have let in while the handler runs; until now all signals are kept out. */
static void mask_handler(uint64_t let, int sig, const struct sigaction *sa)
{
	uint64_t during = (let | sigs_of(&sa->sa_mask)) & ~SIGS_OURS;

	if (!(sa->sa_flags & SA_NODEFER))
		during |= SIGBIT(sig);
	if (on_g())
		sigmask_set(getg(), during, true);
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &during, NULL, 8);
	if (on_g())
		sigroute_mask_closed(during & ~let);
}

/* SA_RESETHAND gave another thread the handler.  A fault comes again, and finds the action of now. */
static void had_by_another(int sig, const siginfo_t *si)
{
	if (!signal_synchronous(sig, si))
		sigroute_defer(sig, si);
}

struct run {
	int sig;
	siginfo_t *si;
	void *uc;
	const struct sigaction *sa;
};

static void there(void *arg)
{
	const struct run *r = arg;

	run_handler(r->sig, r->si, r->uc, r->sa);
}

/*
 * As the kernel delivers: over d's frame, the handler adding to the mask that let the signal in: the frame's,
 * unless a call has its own.  The mask stays as the handler left it.  Until the mask keeps it out,
 * taking stays set: else the next of the same number, by a signal 32 that comes now, would be
 * handled before it.
 */
static void act(struct delivery *d, int sig, uint64_t let)
{
	ucontext_t *uc = (ucontext_t *)&d->f->uc;
	struct sigaction sa;
	uint64_t during;
	struct thread *th = &self_thread;
	bool has_handler = action_handled() & SIGBIT(sig);

	if (has_handler) {
		action_get(sig, &sa);
		has_handler = action_claim(sig, &sa);
	}
	if (!has_handler) {
		taking_ends(~UINT64_C(0));
		if (!action_is_ignored(sig)) /* the kernel's own default action: terminate, stop, dump core */
			direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0),
				direct3(SYS_gettid, 0, 0, 0), sig);
		return;
	}
	during = let | sigs_of(&sa.sa_mask);
	if (!(sa.sa_flags & SA_NODEFER))
		during |= SIGBIT(sig);
	th->acting_on = (uint8_t)sig;
	th->leaving = false; /* from here on others may come on top, as the mask says */
	sigmask_set(getg(), during & ~SIGS_NEVER, false);
	th->acting_on = 0;
	taking_ends(~during);
	sigroute_mask_closed(during & ~let);
	frame_on(sa.sa_flags, uc, there, &(struct run){ sig, &d->f->si, uc, &sa });
	th->leaving = true;
	th->sigdone++;
	if (!d->any)
		d->interrupts = !(sa.sa_flags & SA_RESTART);
	d->any = true;
}

/* What handlers on top of those of a delivery may change. */
struct outer {
	uint64_t ends;
	int saw;
};

/* A wait for signals returns one that was queued before its first handler ran, and none that this raised. */
static struct outer before_delivery(void)
{
	struct thread *th = &self_thread;
	struct outer o = { th->sigends, th->waitsaw };

	if (unlikely(th->waitset) && o.saw == WAIT_NO_HANDLER)
		o.saw = signode_queued(th) & th->waitset ? WAIT_SOMETHING : WAIT_NOTHING;
	return o;
}

/*
 * All of a delivery have run.  As in the kernel, the first one's flags say whether they end a call; those that
 * came on top of them do not end it.
 */
static void delivered(const struct delivery *d, struct outer o)
{
	struct thread *th = &self_thread;

	if (!d->any)
		return;
	th->sigends = d->interrupts ? th->sigdone : o.ends;
	th->waitsaw = o.saw;
}

/* The next of set, over the frame, with what let it in; 0: there is none. */
static int handle_next(struct delivery *d, uint64_t set, uint64_t let)
{
	struct thread *th = &self_thread;
	int sig = signode_take(set, &d->f->si);
	uint64_t done = th->sigdone;

	if (!sig)
		return 0;
	th->sigtaken++;
	act(d, sig, let);
	if (th->sigdone == done)
		return sig; /* no handler */
	if (d->f->uc.mask != d->kernel)
		d->kernel = d->noted = d->f->uc.mask; /* the handler changed it */
	return sig;
}

/*
 * Two masks: this may have come between a change of the kernel's mask and its note, or when an
 * outer handler's return had noted what its sigreturn has yet to make true.  What either lets in is
 * about to be let in, and no other code will look for it.  From the last handler's end to sigreturn
 * no other may come on top of where that one ran (leaving): the stack is given back first, as by
 * the kernel.
 */
void signals_rest(struct delivery *d)
{
	struct thread *th = &self_thread;

	th->leaving = true;
	do {
		if (unlikely(sigroute_waits(~d->noted)))
			signode_queued(th); /* older than what waits: signode_collect() */
		sigmask_set(getg(), d->noted & ~SIGS_NEVER, true);
		/* seq_cst with the mailbox in thread_signal(): it queues, then looks at the mask. */
		fence_seqcst();
	} while (handle_next(d, ~(d->kernel & d->noted), d->f->uc.mask));
	sigroute_unblocked(~d->noted);
	sigroute_mask_closed(d->noted & ~d->was);
}

static void on_a_g(int sig, struct sigframe *f, const struct sigaction *sa)
{
	uint64_t noted = waitmask_own();
	struct delivery d = { f, f->uc.mask, noted, true, false, noted };
	struct thread *th = &self_thread;
	struct outer before = before_delivery();
	struct waitmask_pause outer = waitmask_pause();
	bool in_call = outer.region && (outer.joined || left_call(f)), ran;

	if (unlikely(outer.joined)) {
		d.kernel = f->uc.mask = noted;
		outer.joined = false; /* until the next park */
	}
	mask_handler(in_call ? load_relaxed(&th->waitmask) : d.kernel, sig, sa);
	ran = d.any = action_claim(sig, sa);
	if (likely(ran)) {
		run_handler(sig, &f->si, &f->uc, sa);
		th->sigdone++;
		d.interrupts = !(sa->sa_flags & SA_RESTART);
		call_ended(f, !d.interrupts);
		if (f->uc.mask != d.kernel)
			d.kernel = d.noted = f->uc.mask;
	} else {
		had_by_another(sig, &f->si);
	}
	signals_rest(&d);
	delivered(&d, before);
	/*
	 * One that the call's mask keeps out and that was not handled in the call: it came before the call,
	 * whose mask is noted before the kernel has it, and does not end it.
	 */
	waitmask_resume(outer, ran && (in_call || !(load_relaxed(&th->waitmask) & SIGBIT(sig))));
}

void signal_run(int sig, struct sigframe *f, const struct sigaction *sa)
{
	if (on_g()) {
		on_a_g(sig, f, sa);
		return;
	}
	g_interrupt(NULL);
	mask_handler(f->uc.mask, sig, sa);
	if (action_claim(sig, sa))
		run_handler(sig, &f->si, &f->uc, sa);
	else
		had_by_another(sig, &f->si);
}

bool signals_over(struct sigframe *f)
{
	struct thread *th = &self_thread;
	uint64_t own = waitmask_own();
	struct outer before = before_delivery();
	struct delivery d = { f, f->uc.mask, own, false, false, own };
	struct waitmask_pause outer;
	bool again;

	if (unlikely(th->joined)) /* what a handler finds in its context, and leaves there */
		d.kernel = f->uc.mask = own;
	do {
		uint64_t mask = thread_mask(th), set;

		outer = waitmask_pause();
		/*
		 * A call's mask lets in what waits now, each number once; when the first handler returns,
		 * the G's own is back.
		 */
		if (outer.region && !outer.stop) {
			set = signode_queued(th) & ~mask;
			for (int sig; (sig = handle_next(&d, set, mask));)
				set &= ~SIGBIT(sig);
		}
		if (!outer.region || d.any || outer.stop)
			signals_rest(&d);
		waitmask_resume(outer, d.any);
		/*
		 * A sender that read the mask in between may have left its signal without a kick.
		 */
		again = outer.region && !d.any && load_seqcst(mailbox(th));
	} while (again);
	delivered(&d, before);
	if (unlikely(th->joined)) /* none ran */
		sigmask_set(getg(), f->uc.mask = sigmask_of(th->g), true); /* the kernel's when f is left */
	return d.interrupts;
}

static void over_call(struct sigframe *f, void *arg)
{
	int saved = errno;

	f->uc.mask = sigmask_of(getg());
	*(bool *)arg = signals_over(f);
	errno = saved;
	frame_leave(f);
}

bool signals_deliver(void)
{
	bool ends = false;
	int sig = signals_next();

	if (sig)
		frame_call(action_flags(sig), over_call, &ends);
	return ends;
}
