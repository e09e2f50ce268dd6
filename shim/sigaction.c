/*
 * sigaction: dispositions, and the one handler the kernel knows.
 *
 * The kernel gets trampoline() for every signal the program handles, with the program's own flags
 * and mask; the program's view is kept in acts[].  The trampoline runs the program's handler when
 * FS is a G's (or a foreign thread's) and the runtime is not in the middle of something; else it
 * hands the signal to the signal thread (sigroute.c), which finds a G for it.  SIG_DFL and SIG_IGN
 * stay the kernel's.
 *
 * While a handler runs on a G, the G's mask is what the kernel installed, so a handler may park,
 * migrate and return anywhere: sigreturn restores the old mask on the M it then runs on, and both
 * masks are set to it. What was queued on the G meanwhile and that mask lets in is taken before
 * (signals_return), as by the kernel.
 *
 * Must never: call a program's handler on g0 or with a runtime lock held.
 */
#include "shim/callmask.h"
#include "shim/clone.h"
#include "shim/frame.h"
#include "shim/kick.h"

#include <string.h>

/*
 * Two copies a signal: sigaction writes the idle one, then flips; a handler reads the current one.
 */
static struct sigaction acts[NSIG_ + 1][2];
static _Atomic uint8_t which[NSIG_ + 1];

struct sigaction *act_of(int sig)
{
	return &acts[sig][atomic_load(&which[sig])];
}

static void set_act(int sig, const struct sigaction *sa)
{
	uint8_t idle = !atomic_load(&which[sig]);

	acts[sig][idle] = *sa;
	atomic_store(&which[sig], idle);
}

static _Atomic uint32_t aborts_begun, aborts_ended; /* handlers of SIGABRT */

static void call_handler(int sig, siginfo_t *si, void *uc, const struct sigaction *sa)
{
	if (sa->sa_flags & SA_SIGINFO)
		sa->sa_sigaction(sig, si, uc);
	else
		/* The old form gets the context too on Linux; programs read it. */
		((void (*)(int, siginfo_t *, void *))(void *)sa->sa_handler)(sig, si, uc);
}

void run_handler(int sig, siginfo_t *si, void *uc, const struct sigaction *sa)
{
	if (likely(sig != SIGABRT)) {
		call_handler(sig, si, uc, sa);
		return;
	}
	atomic_fetch_add(&aborts_begun, 1);
	call_handler(sig, si, uc, sa);
	atomic_fetch_add(&aborts_ended, 1);
}

/*
 * libc's abort() where no handler should run: on a kernel thread that setuid reached, and which got
 * another answer than its caller.  It raises the signal again, with the default action, as soon as
 * the handler has returned; so it is kept here until a G has run that.  False: none does.  The only
 * one may be the one that was interrupted here, or an M be wanted, and none can be made while
 * setuid holds libc's list of threads.
 */
static bool aborted_elsewhere(int sig, const siginfo_t *si)
{
	enum { TRIES = 1000 }; /* a second */
	uint32_t begun = atomic_load(&aborts_begun), ended = atomic_load(&aborts_ended);
	struct timespec ms = {0, 1000000};

	/* Nobody would bring it for the signal thread. */
	if (sigroute_is_router())
		return false;
	sigroute_defer(sig, si);
	for (int i = 0; atomic_load(&aborts_begun) == begun; i++) {
		if (i == TRIES)
			return false;
		direct3(SYS_nanosleep, &ms, NULL, 0);
	}
	while (atomic_load(&aborts_ended) == ended)
		direct3(SYS_nanosleep, &ms, NULL, 0);
	return true;
}

static bool aborting(int sig, const siginfo_t *si)
{
	return sig == SIGABRT && si->si_code == SI_TKILL &&
	       si->si_pid == (pid_t)direct3(SYS_getpid, 0, 0, 0);
}

/* Out of the kernel's wait under a mask of the call's own, which is then the one that let the signal in. */
static bool left_call(const struct sigframe *f)
{
	uintptr_t pc = sigframe_pc(f);

	return (pc == (uintptr_t)cp_end || pc == (uintptr_t)nocp_end) &&
	       f->uc.mc.gregs[REG_RAX] == -EINTR;
}

/* What the kernel would have let in while the handler runs; until now all signals are kept out. */
static void mask_handler(uint64_t let, int sig, const struct sigaction *sa)
{
	uint64_t during = (let | sigs_of(&sa->sa_mask)) & ~SIGS_OURS;

	if (!(sa->sa_flags & SA_NODEFER))
		during |= SIGBIT(sig);
	if (on_g())
		g_notemask(during);
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &during, NULL, 8);
}

static void on_a_g(int sig, struct sigframe *f, const struct sigaction *sa)
{
	uint64_t kernel = f->uc.mask, noted = g_mask(getg());
	struct thread *th = &self_thread;
	struct callmask_pause outer = callmask_pause();
	bool own = outer.region && left_call(f);

	mask_handler(own ? atomic_load_explicit(&th->callmask, memory_order_relaxed) : kernel, sig, sa);
	run_handler(sig, &f->si, &f->uc, sa);
	th->sigdone++;
	th->sigrestart = (sa->sa_flags & SA_RESTART) != 0;
	signals_return((ucontext_t *)&f->uc, kernel, noted);
	th->sigrestart = (sa->sa_flags & SA_RESTART) != 0; /* not the last one's: the first interrupted */
	callmask_resume(outer, true);
}

struct arrival {
	int sig, saved;
	struct sigaction sa;
};

/* Where the handler belongs, with the M's signal stack left for good. */
static void arrived(struct sigframe *f, void *arg)
{
	struct arrival a = *(const struct arrival *)arg;

	if (a.sa.sa_flags & SA_RESETHAND)
		sigaction_reset(a.sig);
	if (on_g()) {
		on_a_g(a.sig, f, &a.sa);
	} else {
		mask_handler(f->uc.mask, a.sig, &a.sa);
		run_handler(a.sig, &f->si, &f->uc, &a.sa);
	}
	errno = a.saved;
	frame_leave(f);
}

/* As the kernel, whose own answer to a frame that has no room is a fault. */
static void no_room(struct sigframe *f, struct arrival *a, bool fault)
{
	bool segv = a->sig == SIGSEGV;

	if (!segv && !(f->uc.mask & SIGBIT(SIGSEGV))) {
		a->sig = SIGSEGV;
		a->sa = *act_of(SIGSEGV);
		memset(&f->si, 0, sizeof(f->si));
		f->si.si_signo = SIGSEGV;
		f->si.si_code = SI_KERNEL;
		if (is_handler(&a->sa) && frame_move(f, a->sa.sa_flags, arrived, a))
			return;
	}
	frame_none(f, segv && fault);
}

/* A fault is the fault of the code that runs: never deferred. */
static bool synchronous(int sig, const siginfo_t *si)
{
	return si->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
				   sig == SIGILL || sig == SIGTRAP);
}

/*
 * Does act() stand between changing the mask and noting it?  The mask keeps out what was taken, so
 * that is no secret any more, and this signal can be handled here and now, as it would be natively.
 * (Deferred, the thousands that may wait in the kernel would all go to the signal thread, at each
 * such change of a mask, and from there back to the kernel while a handler keeps them out.)
 */
static void finish_mask(const ucontext_t *uc)
{
	struct thread *th = &self_thread;
	uint64_t mask = sigs_of(&uc->uc_sigmask);
	int taken = th->taken;

	if (likely(!taken) || runtime_busy() || !(mask & SIGBIT(taken)))
		return;
	g_notemask(mask & ~SIGS_NEVER);
	th->taken = 0;
	th->taking = false;
}

/*
 * The calling G is at its lists, for a few instructions, with a mask that lets in what is noted as
 * kept out, perhaps: so the signal thread, which finds nobody, gives it back.
 */
static bool shut_out(int sig)
{
	if (!on_g() || !self_thread.taking || runtime_busy())
		return false;
	self_thread.shut |= SIGBIT(sig); /* taking_ends() */
	return true;
}

/*
 * On the M's signal stack (a foreign thread's own, or its alternate one), with all signals kept out.
 * What may run the handler takes the frame to where that belongs; the rest returns from here.
 */
static void trampoline(int sig, siginfo_t *si, void *ctx)
{
	struct sigframe *f = sigframe_of(ctx);
	struct arrival a = { sig, errno, *act_of(sig) };

	sigroute_original(si);
	if (!is_handler(&a.sa))
		return; /* changed since the kernel chose to call us */
	if (sig == SIGPIPE && weft_on && on_g() && self_thread.holds) {
		self_thread.piped = true; /* netfd.c sends it to this thread once it may run */
		errno = a.saved;
		return;
	}
	if (on_g()) {
		runtime_sigstack(f->uc.stack.ss_sp);
		finish_mask(ctx);
	}
	if (weft_on && !synchronous(sig, si) && (signals_busy() || sigframe_leaving(sigframe_pc(f)))) {
		if (unlikely(aborting(sig, si))) {
			/* Natively it may be any thread's. */
			if (!aborted_elsewhere(sig, si) && !frame_move(f, a.sa.sa_flags, arrived, &a))
				no_room(f, &a, false);
			errno = a.saved;
			return;
		}
		/*
		 * An idle M would get it back at once, and again, for as long as no G wants it; and who
		 * is at its lists might never come to an end of that.
		 */
		bool out = runtime_keepout(SIGBIT(sig)) || shut_out(sig);

		if (sigroute_defer(sig, si) || out)
			f->uc.mask |= SIGBIT(sig);
		errno = a.saved;
		return;
	}
	if (weft_on && !synchronous(sig, si) && sigroute_pass_on(sig, si)) {
		errno = a.saved;
		return;
	}
	if (!frame_move(f, a.sa.sa_flags, arrived, &a))
		no_room(f, &a, synchronous(sig, si));
}

void sigaction_reset(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	real.sigaction(sig, &dfl, NULL);
}

static int install(int sig, const struct sigaction *sa)
{
	struct sigaction k = *sa;

	set_act(sig, sa);
	if (is_handler(sa)) {
		k.sa_sigaction = trampoline;
		/*
		 * Reset by who runs the handler: the kernel would do so for one that is only passed
		 * on.  And all signals are kept out until it runs: what came on top would find this M's
		 * signal stack in use.
		 */
		k.sa_flags = (k.sa_flags | SA_SIGINFO | SA_ONSTACK) & ~(SA_RESETHAND | SA_NODEFER);
		memset(&k.sa_mask, 0xff, sizeof(k.sa_mask));
	}
	return real.sigaction(sig, &k, NULL);
}

/* In a process of its own that shares our memory: the notes are its parent's. */
static int sigaction_apart(int sig, const struct sigaction *sa, struct sigaction *old)
{
	if (real.sigaction(sig, sa, old))
		return -1;
	if (old && old->sa_sigaction == trampoline)
		*old = *act_of(sig);
	return 0;
}

EXPORT int sigaction(int sig, const struct sigaction *sa, struct sigaction *old)
{
	struct sigaction was, want;

	if (!weft_on || sig < 1 || sig > NSIG_)
		return real.sigaction(sig, sa, old);
	if (is_apart(APART_SIGNALS))
		return sigaction_apart(sig, sa, old);
	if (sa)
		want = *sa; /* old may be the same object */
	if (real.sigaction(sig, NULL, &was))
		return -1;
	/* SA_RESETHAND resets it in the kernel alone. */
	if (was.sa_sigaction == trampoline)
		was = *act_of(sig);
	if (sa && install(sig, &want))
		return -1;
	if (old)
		*old = was;
	return 0;
}
LINKER_NAME(sigaction, __sigaction);

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	struct sigaction sa, old;

	if (!weft_on)
		return real.signal(sig, handler);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = signal_restarts(sig) ? SA_RESTART : 0;
	if (sigaction(sig, &sa, &old))
		return SIG_ERR;
	return old.sa_handler;
}

/* Handlers installed before the first thread. */
void sigaction_adopt(void)
{
	for (int sig = 1; sig <= NSIG_; sig++) {
		struct sigaction sa;

		if (sig == 32 || sig == 33 || real.sigaction(sig, NULL, &sa))
			continue;
		if (is_handler(&sa) && sa.sa_sigaction != trampoline)
			install(sig, &sa);
	}
}
