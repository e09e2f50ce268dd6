/*
 * sigchild: which thread made a child, for the kernel offers SIGCHLD to that one first.
 *
 * The kernel's parent is the kernel thread that the maker ran on then, so the process ids are noted
 * here.  Where another child's note has taken the place of one, or the note comes after the child's
 * end, the signal goes to main, which is asked first for all other signals.
 *
 * Must never: keep a pointer to a thread, which may have ended: its id is looked up.
 */
#include "shim/thread/tid.h"
#include "shim/signal/sigroute.h"

enum { CHILD_NOTES = 1024 };

static _Atomic uint64_t notes[CHILD_NOTES]; /* process id, then the thread's; of children whose ids are equal modulo */

void sigchild_note(pid_t child)
{
	if (child > 0 && on_g())
		store_relaxed(&notes[(uint32_t)child % CHILD_NOTES],
			      (uint64_t)(uint32_t)child << 32 | weft_tls.tid);
}

void child_made(pid_t child)
{
	sigchild_note(child);
	unlockosthread(child > 0);
}

struct thread *sigchild_parent(const siginfo_t *si)
{
	uint64_t note;

	if (si->si_signo != SIGCHLD || si->si_code < CLD_EXITED || si->si_code > CLD_CONTINUED)
		return NULL;
	note = load_relaxed(&notes[(uint32_t)si->si_pid % CHILD_NOTES]);
	return note >> 32 == (uint32_t)si->si_pid ? thread_by_id((long)(uint32_t)note) : NULL;
}
