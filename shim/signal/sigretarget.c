/*
 * sigretarget: a signal that was sent to the process, and is queued on a thread that begins to keep it out.
 *
 * It waits for the process then, as in the kernel, and any thread that lets it in may have it.  The thread
 * that changes its mask hands it on (signals_hand_on()).  A sender may have chosen that thread before the
 * change and queue its signal after it; then the thread does it at its next look, and until then the signal
 * is a bit of th->pending[1], which sigpending() reads.  A thread that lets the signal in, or waits for it,
 * makes the other one look (signals_recall()).
 *
 * Must never: take from the lists of another thread.
 */
#include "shim/signal/sigforget.h"
#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"

/*
 * The calling G's that were sent to the process and that it keeps out go to a thread that does not, or to the kernel.
 * One at a time, and `taking` until it is off the count: a handler that runs between two of them may jump out,
 * and the rest must still be in the list then.
 */
static void hand_on(struct thread *th, uint64_t out)
{
	struct signode *n;

	out &= ~th->waitset; /* which lets them in: no other thread is chosen for them */
	do {
		th->taking = true;
		fence_compiler();
		signode_collect(th);
		n = sigpending_take_shared(&th->held, out);
		if (n) {
			int sig = n->sig;

			n->next = NULL;
			signode_abandon(n);
			signode_gone(th, sig, true); /* afterwards: until then sigpending() finds it here */
		}
		fence_compiler();
		taking_ends(~UINT64_C(0));
	} while (n);
}

/*
 * What was sent to the process waits for it, and for no thread that keeps it out: any other may have it.
 * (The kernel calls it retargeting.)  Real-time signals, of which thousands may wait here, only go on to a
 * thread that lets them in now: given back to the kernel and taken anew, each would cost more than its
 * handler.
 */
void signals_hand_on(uint64_t out)
{
	struct thread *th = &self_thread;

	if (likely(!load_relaxed(mailbox(th)) && !th->held))
		return;
	for (uint64_t left = out & REALTIME; left; left &= left - 1)
		if (!sigroute_choose(__builtin_ctzll(left) + 1, NULL, NULL))
			out &= ~(left & -left);
	hand_on(th, out);
}

/* Standard signals that were sent to the process and are queued on gp, which keeps them out. */
static uint64_t kept_from_others(struct g *gp, uint64_t set)
{
	struct thread *th = g_shim(gp)->thread;

	return th ? set & load_acquire(&th->pending[1]) & thread_mask(th) & ~th->waitset : 0;
}

/*
 * Where no node is in use no signal is on a thread: a sender gets its node before it sets the bit of pending[1],
 * and a thread that hands a signal on gives the node back when the signal is where it goes.
 */
uint64_t signals_kept(uint64_t set)
{
	uint64_t kept = 0;
	uint32_t i = 0;

	for (struct g *gp; signals_queued() && (gp = g_next(&i));)
		if (gp != getg())
			kept |= kept_from_others(gp, set);
	return kept;
}

/*
 * The caller lets set in, or waits for it: those threads hand on what they have.  Each does so at its next
 * look; the bound is there for the same reason as sigroute_flush()'s.
 */
void signals_recall(uint64_t set)
{
	set &= ~REALTIME;
	for (struct moment w = { 0 }; !moment_over(&w, STANDSTILL_NS) && unlikely(signals_kept(set)); thread_turn(&w)) {
		uint32_t at = 0;

		for (struct g *gp; (gp = g_next(&at));)
			if (gp != getg() && kept_from_others(gp, set))
				sigroute_kick(gp);
	}
}

/*
 * The caller chose gp for a real-time signal and queued it there, and gp has begun to keep it out in between.  What
 * the caller sends next waits in the kernel, and would be first if gp let it in before it has looked.
 */
void signals_follow(struct g *gp, int sig)
{
	if (likely(!(SIGBIT(sig) & REALTIME & thread_mask(g_shim(gp)->thread))))
		return;
	for (struct moment w = { 0 }; !moment_over(&w, STANDSTILL_NS) && load_seqcst(&g_shim(gp)->mailbox);
	     thread_turn(&w))
		sigroute_kick(gp);
}
