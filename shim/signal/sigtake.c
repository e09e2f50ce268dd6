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

/*
 * Moves what arrived to held, oldest first.  Between this and sigpending_take() no handler may come:
 * taking.
 */
void signode_collect(struct thread *th)
{
	struct signode *n, *fifo = NULL;

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
