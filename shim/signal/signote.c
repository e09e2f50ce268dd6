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
#include "shim/syscall/tablepart.h"
#include "shim/thread/tid.h"

/* A number's note stands in one of so many places of each level, from number modulo its size on. */
enum { WINDOW = 16 };

static int index_of(int level, unsigned place)
{
	return SIGNOTE_FIRST * ((1 << level) - 1) + (int)(place & ((SIGNOTE_FIRST << level) - 1u));
}

/* No lock: the signal thread's handler looks for a note, whatever it interrupted. */
int signote_take(struct signotes *n, int number)
{
	for (int k = 0; k < SIGNOTE_LEVELS; k++) {
		if (!tablepart(&n->level[k], ((size_t)SIGNOTE_FIRST << k) * sizeof(struct signote)))
			return -1;
		for (unsigned w = 0; w < WINDOW; w++) {
			int i = index_of(k, (unsigned)number + w);
			struct signote *at = signote_at(n, i);
			long none = SIGNOTE_FREE;

			if (!cas_acq_rel(&at->target, &none, SIGNOTE_BUSY))
				continue;
			store_release(&at->number, number);
			return i;
		}
	}
	return -1;
}

int signote_find(const struct signotes *n, int number)
{
	for (int k = 0; k < SIGNOTE_LEVELS && load_acquire(&n->level[k]); k++) {
		for (unsigned w = 0; w < WINDOW; w++) {
			int i = index_of(k, (unsigned)number + w);
			const struct signote *at = signote_at(n, i);

			if (load_acquire(&at->target) > SIGNOTE_BUSY && load_acquire(&at->number) == number)
				return i;
		}
	}
	return -1;
}

void signote_fork_child(struct signotes *n)
{
	for (int k = 0; k < SIGNOTE_LEVELS && load_relaxed(&n->level[k]); k++) {
		struct signote *level = load_relaxed(&n->level[k]);

		for (int i = 0; i < SIGNOTE_FIRST << k; i++)
			/* Else the page would be copied for nothing. */
			if (load_relaxed(&level[i].target) != SIGNOTE_FREE)
				store_relaxed(&level[i].target, SIGNOTE_FREE);
	}
}

int signote_sig(const struct signotes *n, int i)
{
	int sig = load_acquire(&signote_at(n, i)->sig);

	return sig ? sig : SIGIO;
}

struct thread *signote_thread(const struct signotes *n, int i)
{
	return thread_by_id(load_acquire(&signote_at(n, i)->target));
}

bool signote_fired(const struct signotes *n, int i, const siginfo_t *si)
{
	siginfo_t meant = *si;
	long named = i < 0 ? SIGNOTE_FREE : load_acquire(&signote_at(n, i)->target);

	if (named <= SIGNOTE_BUSY)
		return false;
	meant.si_signo = signote_sig(n, i);
	sigroute_defer_at(named, meant.si_signo, &meant);
	return true;
}
