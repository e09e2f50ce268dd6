/*
 * signote: what sends its signals to a thread that the program named: files (fdowner.c), timers (posix_timer.c).
 *
 * A G's id is none of the kernel's.  So the kernel sends the signal thread signal 32 instead, which that
 * never keeps out, with the number of the file or the timer in the siginfo.  A note by this number says
 * which G was named, and which signal was asked for: the signal thread directs that one at the G.
 * (Rejected: that signal itself.  Where all keep it out, for a sigwait, the signal thread does too,
 * and it stayed there.)
 *
 * Must never: keep a pointer to a thread, which may have ended: its id is looked up.
 */
#include "shim/signal/signote.h"

#include "shim/signal/sigroute.h"
#include "shim/thread/tid.h"

int signote_take(struct signotes *n)
{
	for (int i = 0; i < n->size; i++) {
		long none = SIGNOTE_FREE;

		if (!cas_acq_rel(&n->at[i].target, &none, SIGNOTE_BUSY))
			continue;
		for (int used = load_acquire(&n->used); used <= i && !cas_weak_acq_rel(&n->used, &used, i + 1);)
			;
		return i;
	}
	return -1;
}

int signote_find(const struct signotes *n, int number)
{
	for (int i = 0; i < load_acquire(&n->used); i++)
		if (load_acquire(&n->at[i].target) > SIGNOTE_BUSY && load_acquire(&n->at[i].number) == number)
			return i;
	return -1;
}

int signote_sig(const struct signotes *n, int i)
{
	int sig = load_acquire(&n->at[i].sig);

	return sig ? sig : SIGIO;
}

struct thread *signote_thread(const struct signotes *n, int i)
{
	return thread_by_id(load_acquire(&n->at[i].target));
}

bool signote_fired(const struct signotes *n, int i, const siginfo_t *si)
{
	siginfo_t meant = *si;
	long named = i < 0 ? SIGNOTE_FREE : load_acquire(&n->at[i].target);

	if (named <= SIGNOTE_BUSY)
		return false;
	meant.si_signo = signote_sig(n, i);
	sigroute_defer_at(named, meant.si_signo, &meant);
	return true;
}
