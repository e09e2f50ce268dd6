/*
 * sigtake: a thread takes what is queued on it, in the kernel's order.
 *
 * Senders push onto the mailbox of the G; the thread moves that to its list (signode_collect()) and takes
 * from there.  Meanwhile th->taking keeps out handlers that would look at the list, too.
 *
 * Must never: be called for another thread; run a handler.
 */
#include "shim/signal/sigforget.h"
#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"

/* One is off its list; there is another only if a timer sent one of them. */
void signode_gone(struct thread *th, int sig, bool shared)
{
	if (sig < 34 && !sigpending_has(th->held, sig, shared))
		fetch_and_acq_rel(&th->pending[shared], ~SIGBIT(sig));
}

/* What was held before signals were last forgotten is looked through once. */
static void forget(struct thread *th)
{
	uint32_t now = sigforget_count();
	struct signode *n = th->held;

	if (likely(th->forgot == now))
		return;
	th->forgot = now;
	th->held = NULL;
	while (n) {
		struct signode *next = n->next;

		if (sigforget_stale(n))
			signode_drop(n);
		else
			sigpending_put(&th->held, n);
		n = next;
	}
}

/* Of set, what waits in the kernel comes to the list: each number's in their order.  While taking. */
static void fetch(struct thread *th, uint64_t set)
{
	static const struct overrun no_timer = { -1, 0 };
	struct timespec zero = { 0, 0 };
	struct signode *n;
	int sig;

	/* Its place in the list is there before it is taken: what cannot be kept stays in the kernel. */
	while ((n = signode_get())) {
		sig = (int)direct4(SYS_rt_sigtimedwait, &set, &n->info, &zero, sizeof(set));
		if (sig > 0)
			sigroute_original(&n->info);
		if (sig <= 0 || sigroute_pass_on(sig, &n->info) || !signode_first(th, sig, true)) {
			signode_put(n);
			if (sig <= 0)
				return;
			continue;
		}
		n->sig = sig;
		n->shared = true;
		n->of = no_timer;
		n->life = g_id(th->g);
		n->round = sigforget_round(sig); /* after signode_first(): see sigforget.c */
		sigpending_put(&th->held, n);
	}
}

/*
 * Moves what arrived to held, oldest first.  Between this and sigpending_take() no handler may come: taking.
 *
 * All threads kept it out, and now this one lets it in: what waits in the kernel then was sent before what the
 * mailbox has, for its sender found the mask open only afterwards.  So the mailbox is read first and added last.
 * (What was in the mailbox before the mask closed is older still: signals_rest() and sigroute_mask_change()
 * collect it while the mask is closed.)
 */
void signode_collect(struct thread *th)
{
	struct signode *n, *fifo = NULL;
	uint64_t waits;

	forget(th);
	n = exchange_seqcst(mailbox(th), NULL);

	while (n) {
		struct signode *next = n->next;

		if ((n->shared || n->life == g_id(th->g)) && !sigforget_stale(n)) {
			n->next = fifo;
			fifo = n;
		} else {
			signode_drop(n); /* forgotten, or for the thread that was here before */
		}
		n = next;
	}
	waits = sigroute_waits(~(thread_mask(th) & sigmask_of(th->g)));
	if (unlikely(waits))
		fetch(th, waits);
	while (fifo) {
		n = fifo;
		fifo = n->next;
		sigpending_put(&th->held, n);
	}
}

/* Of how many expirations; false: the timer has been set anew since forget(). */
static bool timer_tells(const struct signode *n, siginfo_t *si)
{
	int more = overrun_taken(n->of);

	if (more >= 0 && si)
		si->si_overrun = more;
	return more >= 0;
}

/*
 * The next signal of set that is queued on the calling G, out of its node, and taking is still set;
 * 0: none.
 */
int signode_take(uint64_t set, siginfo_t *si)
{
	struct thread *th = &self_thread;
	struct signode *n;
	int sig = 0;

	th->taking = true;
	fence_compiler();
	signode_collect(th);
	while (!sig && (n = sigpending_take(&th->held, set))) {
		sig = n->sig;
		if (si)
			*si = n->info;
		if (unlikely(n->of.slot >= 0) && !timer_tells(n, si))
			sig = 0;
		signode_gone(th, n->sig, n->shared);
		signode_put(n);
	}
	fence_compiler();
	if (!sig)
		taking_ends(~UINT64_C(0));
	return sig;
}

int signals_take(uint64_t set, siginfo_t *si)
{
	int sig = signode_take(set, si);

	if (sig)
		taking_ends(~UINT64_C(0));
	return sig;
}

/* What is queued on the calling G, as a set. */
uint64_t signode_queued(struct thread *th)
{
	uint64_t set;

	th->taking = true;
	fence_compiler();
	signode_collect(th);
	set = sigpending_set(th->held);
	fence_compiler();
	taking_ends(~UINT64_C(0));
	return set;
}

int signals_next(void)
{
	struct thread *th = &self_thread;
	uint64_t out;

	if (likely(!load_relaxed(mailbox(th)) && !th->held))
		return 0;
	out = thread_mask(th) & sigmask_of(th->g);
	if (unlikely(load_relaxed(&th->pending[1]) & out))
		signals_hand_on(out & ~REALTIME); /* chosen for it before its mask changed */
	return signode_queued(th) & ~out ? sigpending_first(th->held, ~out) : 0;
}

uint64_t signals_pending(void)
{
	return signode_queued(&self_thread) & sigmask_of(getg());
}
