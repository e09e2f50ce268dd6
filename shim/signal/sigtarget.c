/*
 * sigtarget: whose a signal is, and which thread takes it.
 *
 * All questions about the sender and the one that was meant are here: a fault is of the code that runs; some
 * are of the thread that caused them; one sent by id is of that thread; all others are of the process, and
 * sigroute_choose() names the thread, as the kernel would have.
 *
 * Must never: queue a signal.
 */
#include "shim/fd/fdowner.h"
#include "shim/signal/sigroute.h"

#include <sys/auxv.h>

static long pid(void)
{
	return direct3(SYS_getpid, 0, 0, 0);
}

/* The sender of what this process sends. */
uid_t own_uid(void)
{
	static _Atomic long last = -1; /* for when a filter forbids the call */
	long r = own3(SYS_getuid, 0, 0, 0);

	if (r >= 0)
		store_relaxed(&last, r);
	else
		r = load_relaxed(&last);
	return (uid_t)(r >= 0 ? r : (long)__getauxval(AT_UID));
}

/* By tgkill(2) in this process: raise(), abort(), a guest's. */
bool signal_by_thread(const siginfo_t *si)
{
	return si->si_code == SI_TKILL && si->si_pid == pid();
}

/*
 * A fault is the fault of the code that runs: never deferred.  SIGSYS is one, too: by a filter's answer
 * (or the dispatch of system calls) the handler stands in for the call, and what it writes into the frame
 * is the call's result.
 */
bool signal_synchronous(int sig, const siginfo_t *si)
{
	return si->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
				   sig == SIGILL || sig == SIGTRAP || sig == SIGSYS);
}

/* As the kernel sees it: what a sigwait waits for is let in meanwhile. */
static bool wants(struct g *gp, int sig)
{
	struct thread *th = gp ? g_shim(gp)->thread : NULL;

	return thread_takes_signals(th) && ((th->waitset | ~thread_mask(th)) & SIGBIT(sig));
}

/*
 * The thread that the kernel asks first: main, whose id is the process's; for the SIGCHLD of a
 * child's end, the thread that made the child.
 */
static struct g *asked_first(const siginfo_t *si)
{
	struct thread *th = si ? sigchild_parent(si) : NULL;

	return th ? th->g : g_main();
}

/*
 * The one choice, in the order of the kernel's complete_signal(): the thread that is asked first,
 * then the one that the kernel has chosen already (here: the thread that the signal has
 * interrupted, or NULL), then any other.
 */
struct g *sigroute_choose(int sig, const siginfo_t *si, struct g *here)
{
	struct g *gp = asked_first(si);
	uint32_t i = 0;

	if (wants(gp, sig))
		return gp;
	if (wants(here, sig))
		return here;
	while ((gp = g_next(&i)))
		if (wants(gp, sig))
			return gp;
	return NULL;
}

/*
 * The kernel gives these to the thread that caused them: a profiler's timer is for the thread that
 * computes, and a write that cannot be made is for its writer.
 */
static bool of_the_caller(int sig, const siginfo_t *si)
{
	switch (sig) {
	case SIGPROF:
	case SIGVTALRM:
	case SIGXCPU:
		return si->si_code == SI_KERNEL;
	case SIGPIPE:
	case SIGXFSZ:
		return si->si_code == SI_USER && si->si_pid == pid();
	case SIGABRT:
		/* abort() ends the process as soon as this returns, whichever kernel thread called it. */
		return signal_by_thread(si);
	}
	return false;
}

/*
 * The thread to which the signal was sent by id, whatever it keeps out; NULL: it was sent to the
 * process.  Of our kernel threads' ids another process knows main's alone, which is the process's.
 * Signals between our own threads do not come this way.
 */
struct thread *signal_named(const siginfo_t *si)
{
	if (si->si_code == SI_TKILL && !signal_by_thread(si))
		return g_shim(g_main())->thread;
	return si->si_code == SI_TIMER ? timer_target(si) : fdowner_target(si);
}

/* It was sent to one thread, which has ended: as in the kernel, nobody gets it. */
bool signal_names_ended(const siginfo_t *si)
{
	return timer_row(si) >= 0 || fdowner_names_thread(si);
}

/*
 * In the handler, on a thread that might run the program's handler: is the signal for another
 * thread?  True: it is on its way there.  With many under way already the kernel should keep the
 * next ones, so that senders meet a limit.  But this thread lets them in, so it takes them.
 */
bool sigroute_pass_on(int sig, const siginfo_t *si)
{
	struct g *here = getg(), *gp;
	struct thread *th;

	if (weft_tls.unshared || of_the_caller(sig, si) || !sigroute_started() ||
	    (sig >= 34 && sigring_full()))
		return false;
	/* By tgkill(2) in this process, to a thread that weft does not schedule: it is that one's. */
	if (!here && si->si_code == SI_TKILL && si->si_pid == pid())
		return false;
	th = signal_named(si);
	gp = th ? th->g : sigroute_choose(sig, si, here);
	/* A thread that weft does not schedule lets it in, and is as good as any but the first. */
	if (!gp || (!here && !th && gp != asked_first(si)))
		return false;
	/* What it keeps out waits for it: another thread was meant by the kernel, or its sigwait gets it. */
	if (gp == here && !(thread_mask(&self_thread) & SIGBIT(sig)))
		return false;
	sigroute_defer(sig, si);
	return true;
}
