/*
 * sigsend: a signal is queued on a thread, which is made to look.
 *
 * The thread runs the handler itself, on its own stack, at its next look.  What nobody would ever see is not
 * queued; what a descriptor is read for goes to the kernel; what a thread leaves behind at its end, and was
 * sent to the process, goes to another one.
 *
 * Must never: run a handler while runtime_busy(); wait.
 */
#include "shim/signal/sigforget.h"
#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"
#include "shim/thread/tid.h"

#include <string.h>
#include <sys/resource.h>

bool signode_first(struct thread *th, int sig, bool shared)
{
	return sig >= 34 || !(fetch_or_acq_rel(&th->pending[shared], SIGBIT(sig)) & SIGBIT(sig));
}

/*
 * A list that its thread will not take: signals that were sent to the process go to any thread that
 * lets them in.
 */
void signode_abandon(struct signode *n)
{
	while (n) {
		struct signode *next = n->next;
		struct g *gp;

		if (n->shared && !sigforget_stale(n)) {
			gp = sigroute_choose(n->sig, &n->info, NULL);
			if ((!gp || thread_signal(g_shim(gp)->thread, n->sig, &n->info, true)) &&
			    !sigroute_requeue(n->sig, &n->info))
				sigroute_defer(n->sig, &n->info);
		}
		signode_drop(n); /* afterwards: it is counted for as long as signals_kept() must look */
		n = next;
	}
}

bool signal_for_caller(long named, int sig, const siginfo_t *si)
{
	struct thread *th = named ? thread_by_id(named) : signal_named(si);

	if (named || th || signal_names_ended(si))
		return th == &self_thread;
	return sigroute_choose(sig, si, NULL) == getg();
}

/*
 * TH_ENDING is set before the last look at the mailbox.  A sender that pushed too late sees it, and
 * takes the list back.
 */
void signals_end(void)
{
	struct thread *th = &self_thread;
	struct signode *n;

	sigroute_flush_own();
	fetch_or_seqcst(&th->state, TH_ENDING);
	signals_deliver();
	sigroute_blocked(~sigmask_of(getg()));
	n = th->held;
	th->held = NULL;
	signode_abandon(n);
}

/*
 * A signalfd is read in the kernel, which knows nothing of what is held here for one thread.  So a
 * signal that some signalfd is for, and that no thread lets in, waits in the kernel, for the
 * process.  (Its si_code is then that of kill(); and should another thread let it in first, that
 * one has it.)
 */
static _Atomic uint64_t described;

static bool for_descriptor(struct thread *th, int sig)
{
	return unlikely(load_acquire(&described) & SIGBIT(sig)) && (thread_mask(th) & SIGBIT(sig)) &&
	       !(th->waitset & SIGBIT(sig)) && !sigroute_choose(sig, NULL, NULL);
}

static bool to_descriptor(int sig, const siginfo_t *info)
{
	pid_t pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);

	if (info && info->si_code < 0 && info->si_code != SI_TKILL)
		return !direct3(SYS_rt_sigqueueinfo, pid, sig, info);
	return !direct3(SYS_kill, pid, sig, 0);
}

void signals_described(uint64_t set)
{
	siginfo_t info;

	fetch_or_acq_rel(&described, set);
	sigmask_counted(set);
	if (!on_g())
		return;
	/*
	 * Also what was sent to the caller before: all signals of a number, or those up to the
	 * first that stays with it.
	 */
	for (int sig = 1; sig <= NSIG_; sig++)
		while ((set & SIGBIT(sig)) && for_descriptor(&self_thread, sig) &&
		       signals_take(SIGBIT(sig), &info) > 0)
			if (!to_descriptor(sig, &info)) {
				thread_signal(&self_thread, sig, &info, false);
				break;
			}
}

/* To a thread whose G was gp.  False: nothing is to be queued, and *err is the answer. */
static bool to_queue(struct thread *th, const struct g *gp, int sig, const siginfo_t *info, bool shared,
		     int *err)
{
	*err = 0;
	if (sig < 0 || sig > NSIG_ || sig == 32 || sig == 33) {
		*err = EINVAL;
		return false;
	}
	/* As glibc since 2.34: a thread that has ended, or is ending, ignores it. */
	if (sig == 0 || !gp || (load_seqcst(&th->state) & TH_EXITED)) {
		*err = shared ? ESRCH : 0;
		return false;
	}
	/* These act on the process whatever its threads do; and it is not stopped, for the caller runs. */
	if (sig == SIGKILL || sig == SIGSTOP) {
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), direct3(SYS_gettid, 0, 0, 0), sig);
		return false;
	}
	sigforget_opposite(sig);
	/* As the kernel: what is ignored and not blocked is not even queued. */
	if (!(thread_mask(th) & SIGBIT(sig)) && !(th->waitset & SIGBIT(sig)) && action_is_ignored(sig))
		return false;
	return !(for_descriptor(th, sig) && to_descriptor(sig, info));
}

/* After signode_first(), and signode_get() before that: see signals_kept(). */
static int enqueue(struct signode *n, struct thread *th, struct g *gp, int sig, const siginfo_t *info, bool shared,
		   struct overrun of)
{
	void *first;

	if (!n) {
		if (sig < 34)
			fetch_and_acq_rel(&th->pending[shared], ~SIGBIT(sig));
		overrun_dropped(of);
		return EAGAIN;
	}
	n->sig = sig;
	n->shared = shared;
	n->of = of;
	n->life = g_id(gp);
	n->round = sigforget_round(sig); /* after signode_first(): see sigforget.c */
	if (info) {
		n->info = *info;
	} else {
		memset(&n->info, 0, sizeof(n->info));
		n->info.si_signo = sig;
		n->info.si_code = SI_TKILL;
		n->info.si_pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);
		n->info.si_uid = own_uid();
	}
	first = load_seqcst(&g_shim(gp)->mailbox);
	do
		n->next = first;
	while (!cas_weak_seqcst(&g_shim(gp)->mailbox, &first, n));
	if (unlikely((load_seqcst(&th->state) & (TH_ENDING | TH_EXITED)) ||
		     load_relaxed(&th->g) != gp) && th != &self_thread) {
		signode_abandon(exchange_seqcst(&g_shim(gp)->mailbox, NULL));
		return 0;
	}
	store_seqcst(&th->look, true);
	if (th == &self_thread && on_g() && !signals_busy()) {
		signals_deliver();
		return 0;
	}
	if (!shared && (thread_mask(th) & SIGBIT(sig)) && !(th->waitset & SIGBIT(sig)))
		return 0; /* masked: it will look when it unblocks */
	sigroute_kick(gp);
	if (load_seqcst(&g_shim(gp)->mailbox))
		sigroute_watch();
	return 0;
}

/*
 * The kernel refuses a sender a real-time signal where as many wait as RLIMIT_SIGPENDING says; but not kill().  It
 * counts those of all processes of the user, here only those count that wait for a thread of this one.
 */
static bool over_limit(int sig, const siginfo_t *info)
{
	struct rlimit room;

	if (sig < 34 || (info && info->si_code == SI_USER))
		return false;
	return !own4(SYS_prlimit64, 0, RLIMIT_SIGPENDING, NULL, &room) && signals_waiting() >= room.rlim_cur;
}

/* sent: by a thread of this process, just now; else the kernel has had it, and counted it then. */
static int queue_on(struct thread *th, int sig, const siginfo_t *info, bool shared, bool sent)
{
	static const struct overrun no_timer = { -1, 0 };
	struct g *gp = th ? load_relaxed(&th->g) : NULL;
	struct signode *n;
	int err;

	if (!to_queue(th, gp, sig, info, shared, &err))
		return err;
	if (sent && over_limit(sig, info))
		return EAGAIN;
	n = signode_get();
	if (signode_first(th, sig, shared))
		return enqueue(n, th, gp, sig, info, shared, no_timer);
	if (n)
		signode_put(n);
	return 0;
}

int thread_signal(struct thread *th, int sig, const siginfo_t *info, bool shared)
{
	return queue_on(th, sig, info, shared, false);
}

int thread_kill(struct thread *th, int sig, const siginfo_t *info)
{
	if (unlikely(load_relaxed(&th->strict)))
		return strict_kill(th, sig);
	return queue_on(th, sig, info, false, true);
}

int thread_kill_shared(struct thread *th, int sig, const siginfo_t *info)
{
	return queue_on(th, sig, info, true, true);
}

int thread_timer(struct thread *th, int slot, const siginfo_t *info)
{
	struct g *gp = load_relaxed(&th->g);
	int sig = info->si_signo, err;
	struct signode *n;
	struct overrun of;

	if (!to_queue(th, gp, sig, info, false, &err) || !overrun_begins(slot, info->si_overrun, &of))
		return err;
	n = signode_get();
	signode_first(th, sig, false); /* a timer's own is queued beside another that waits: as the kernel */
	return enqueue(n, th, gp, sig, info, false, of);
}
