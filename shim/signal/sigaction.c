/*
 * sigaction: what each signal does: sigaction, signal, and what the kernel is told.
 *
 * The kernel alone says whether a signal has a handler.  The table keeps the last handler that was
 * installed and never anything else: a signal that the kernel has begun to deliver runs the handler
 * of that time, as natively, though another thread has ignored the signal meanwhile.
 *
 * Writers hold the lock (rank Actions) for the table and the kernel's word together, so that the two
 * never part.  A new handler goes into the table first, for the kernel may call it at once; the
 * kernel is told alone when there is to be none.
 *
 * A reader takes no lock (actiontable.c): it may be a handler that interrupted a writer.
 *
 * Must never: call a handler; wait for anything but the lock.
 */
#include "shim/process/clone.h"
#include "shim/signal/sigforget.h"

#include <string.h>

static struct {
	_Atomic uint64_t handled; /* signals that have a handler now; (L) written */
	/*
	 * a thread holds the lock; for a fork child, which has what was visible when its page was copied: set
	 * before handled is written, cleared after it
	 */
	_Atomic bool changing;
} now __attribute__((aligned(16)));

uint64_t action_handled(void)
{
	return load_acquire(&now.handled);
}

/* A fault is the thread's own; it waits, so it has none. */
#define FAULTS (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGFPE) | SIGBIT(SIGTRAP) |             \
		SIGBIT(SIGSYS) | SIGBIT(SIGABRT))
/* What asks a program to end or to stop, and news of what it started: their handlers give up no lock. */
#define REQUESTS (SIGBIT(SIGTERM) | SIGBIT(SIGINT) | SIGBIT(SIGHUP) | SIGBIT(SIGQUIT) | SIGBIT(SIGPIPE) |           \
		  SIGBIT(SIGCHLD) | SIGBIT(SIGWINCH) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU) |         \
		  SIGBIT(SIGCONT))

bool action_may_wake(struct g *gp)
{
	uint64_t set = action_handled() & ~FAULTS;

	return gp ? set & ~REQUESTS & ~sigmask_of(gp) : set;
}

static struct shimlock lock = SHIMLOCK(Actions);

static void begin(void)
{
	shimlock(&lock);
	store_release(&now.changing, true);
}

static void end(void)
{
	store_release(&now.changing, false);
	shimunlock(&lock);
}

/* In the kernel; with the lock. */
static int tell(int sig, const struct sigaction *sa)
{
	struct sigaction k = *sa;
	int r;

	if (is_handler(sa)) {
		k.sa_sigaction = trampoline;
		/*
		 * The thread that runs the handler resets it (SA_RESETHAND): the kernel would reset
		 * it for a signal that is only passed on.  And all signals but one are kept out
		 * until it runs: what came on top would find this M's signal stack in use.
		 */
		k.sa_flags = (k.sa_flags | SA_SIGINFO | SA_ONSTACK) & ~(SA_RESETHAND | SA_NODEFER);
		*(uint64_t *)(void *)&k.sa_mask = ~SIGBIT(SIGSEGV); /* which frame_move() may make */
		if (sig == SIGSEGV)
			k.sa_flags |= SA_NODEFER;
	}
	r = real.sigaction(sig, &k, NULL);
	if (r == 0 && is_handler(sa))
		fetch_or_acq_rel(&now.handled, SIGBIT(sig));
	else if (r == 0)
		fetch_and_acq_rel(&now.handled, ~SIGBIT(sig));
	return r;
}

/*
 * sa is what the kernel has, and becomes what the program has installed: less the flags that the kernel does
 * not know.
 */
static void as_installed(int sig, struct sigaction *sa)
{
	int known = sa->sa_flags | SA_RESETHAND | SA_NODEFER; /* tell() takes these out */

	if (sa->sa_sigaction != trampoline)
		return;
	action_get(sig, sa);
	sa->sa_flags &= known;
}

/* The program's view of what the kernel has; with the lock. */
static int current(int sig, struct sigaction *sa)
{
	if (real.sigaction(sig, NULL, sa))
		return -1;
	as_installed(sig, sa);
	return 0;
}

bool action_ignores(int sig, const struct sigaction *sa)
{
	return sa->sa_handler == SIG_IGN ||
	       (sa->sa_handler == SIG_DFL &&
		(sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH || sig == SIGCONT));
}

bool action_is_ignored(int sig)
{
	struct sigaction sa;

	return real.sigaction(sig, NULL, &sa) == 0 && action_ignores(sig, &sa);
}

static int install(int sig, const struct sigaction *sa)
{
	int r;

	if (is_handler(sa))
		action_put(sig, sa);
	r = tell(sig, sa);
	/* As the kernel, which forgets only what is pending there. */
	if (r == 0 && action_ignores(sig, sa))
		sigforget(SIGBIT(sig));
	return r;
}

/* SA_RESETHAND: of several that come at once one has the handler. */
bool action_claim(int sig, const struct sigaction *sa)
{
	struct sigaction is;
	bool mine;

	if (likely(!(sa->sa_flags & SA_RESETHAND)))
		return true;
	begin();
	mine = current(sig, &is) == 0 && is_handler(&is);
	if (mine && (is.sa_flags & SA_RESETHAND)) {
		is.sa_handler = SIG_DFL;
		tell(sig, &is);
	}
	end();
	return mine;
}

/* Without the lock: on an M's signal stack, which cannot be left for another M, and for good. */
void action_default(int sig)
{
	tell(sig, &(struct sigaction){ .sa_handler = SIG_DFL });
}

/* In a process of its own that shares our memory: the notes are its parent's. */
static int sigaction_unshared(int sig, const struct sigaction *sa, struct sigaction *old)
{
	if (real.sigaction(sig, sa, old))
		return -1;
	if (old)
		as_installed(sig, old);
	return 0;
}

EXPORT int sigaction(int sig, const struct sigaction *sa, struct sigaction *old)
{
	struct sigaction was, want;
	int r;

	if (!weft_on || sig < 1 || sig > NSIG_)
		return real.sigaction(sig, sa, old);
	if (is_unshared(UNSHARED_SIGHAND))
		return sigaction_unshared(sig, sa, old);
	if (sa) {
		signals_first();
		want = *sa; /* old may be the same object, and neither be touched with the lock held */
		/* As the kernel. */
		sigdelset(&want.sa_mask, SIGKILL);
		sigdelset(&want.sa_mask, SIGSTOP);
	}
	if (sa && on_g() && action_ignores(sig, &want))
		sigroute_flush(); /* what was sent before is queued, or pending in the kernel */
	begin();
	r = current(sig, &was);
	if (r == 0 && sa)
		r = install(sig, &want);
	end();
	if (r == 0 && old)
		*old = was;
	return r;
}
TWIN(sigaction);
LINKER_NAME(sigaction, __sigaction);

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	struct sigaction sa, old;

	/* libc's errors; what it thinks of the number a program may ask for in sa_mask, too. */
	if (!weft_on || handler == SIG_ERR || sig < 1 || sig > NSIG_)
		return real.signal(sig, handler);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sigaddset(&sa.sa_mask, sig);
	sa.sa_flags = signal_restarts(sig) ? SA_RESTART : 0;
	if (sigaction(sig, &sa, &old))
		return SIG_ERR;
	return old.sa_handler;
}

/* A thread of the parent's may have told the kernel, and not yet noted it. */
void action_fork_child(void)
{
	uint64_t set = 0;

	shimlock_fork_child(&lock);
	if (!exchange_relaxed(&now.changing, false))
		return;
	for (int sig = 1; sig <= NSIG_; sig++) {
		struct sigaction sa;

		if (sig != 32 && sig != 33 && real.sigaction(sig, NULL, &sa) == 0 && is_handler(&sa))
			set |= SIGBIT(sig);
	}
	store_relaxed(&now.handled, set);
}

/* Handlers installed before the first thread. */
void action_adopt(void)
{
	for (int sig = 1; sig <= NSIG_; sig++) {
		struct sigaction sa;

		if (sig == 32 || sig == 33 || real.sigaction(sig, NULL, &sa))
			continue;
		if (is_handler(&sa) && sa.sa_sigaction != trampoline)
			install(sig, &sa);
	}
}
