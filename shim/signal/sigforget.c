/*
 * sigforget: what the kernel throws away of signals that wait.
 *
 * A signal that comes to be ignored is pending no more, for no thread (POSIX 2.4.3); one that stops the
 * process forgets a SIGCONT that waits, and SIGCONT those.  The kernel does it with what it has.  What
 * weft has queued on threads only its thread can take off its lists, so each number has a count of
 * how often it was forgotten, and a queued signal the count of when it came: an older one is dropped
 * when its thread looks at it.
 *
 * That it is pending is a bit of the thread (first_of()): here the bit goes.  A sender sets it,
 * then reads the count; here the count goes up, then the bit goes.  So a sender that has read the
 * old count has set its bit before, and no bit stays behind.  Both change the bit by an atomic
 * operation with acquire and release, which is what orders the counts.
 *
 * The same with what a timer has sent that is set anew (overrun.c): it is stale by its turn.
 *
 * Must never: touch a thread's lists.
 */
#include "shim/signal/sigforget.h"

#define STOPS (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))

static _Atomic uint32_t rounds[NSIG_ + 1], count;

uint32_t sigforget_round(int sig)
{
	return load_acquire(&rounds[sig]);
}

bool sigforget_stale(const struct signode *n)
{
	return n->round != load_acquire(&rounds[n->sig]) || unlikely(overrun_stale(n->of));
}

void sigforget_timer(struct thread *th, int sig)
{
	if (th)
		fetch_and_acq_rel(&th->pending[0], ~SIGBIT(sig));
	fetch_add_acq_rel(&count, 1);
}

uint32_t sigforget_count(void)
{
	return load_acquire(&count);
}

void sigforget(uint64_t set)
{
	struct g *gp;
	uint32_t i = 0;

	if (likely(!signals_queued()))
		return;
	for (uint64_t left = set; left; left &= left - 1)
		fetch_add_acq_rel(&rounds[__builtin_ctzll(left) + 1], 1);
	fetch_add_acq_rel(&count, 1);
	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		if (!th)
			continue;
		fetch_and_acq_rel(&th->pending[0], ~set);
		fetch_and_acq_rel(&th->pending[1], ~set);
	}
}

void sigforget_opposite(int sig)
{
	if (unlikely(sig == SIGCONT))
		sigforget(STOPS);
	else if (unlikely(SIGBIT(sig) & STOPS))
		sigforget(SIGBIT(SIGCONT));
}
