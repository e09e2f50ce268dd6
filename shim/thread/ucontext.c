/*
 * ucontext: swapcontext and setcontext, for programs with coroutines of their own inside threads.
 *
 * libc restores the signal mask of a context by a system call of its own, after which the kernel's
 * mask is no longer the one we remember for the G; so it is noted here just before.  The rest is
 * right as it is: a context switch keeps FS, and the G's stack does not matter to the scheduler.
 *
 * The two themselves are in runtime/arch/x86_64/shim_ucontext.S: they must be jumps, not calls, so that
 * swapcontext saves the registers of the program.  getcontext only reads and stays libc's.  The
 * end of a coroutine that has a uc_link goes through libc's inner setcontext, unseen: the mask of
 * the linked context is then noted at the G's next change of it.
 */
#include "shim/shim.h"
#include "shim/signal/sigroute.h"

void *ucontext_note(const ucontext_t *to, bool swap) hidden __attribute__((used));

/* Returns libc's function, to jump to. */
void *ucontext_note(const ucontext_t *to, bool swap)
{
	if (on_g()) {
		uint64_t mask = sigs_of(&to->uc_sigmask) & ~SIGS_NEVER, was = sigmask_of(getg());

		syscall_reset(); /* the jump may leave a handler that interrupted a call */
		if (unlikely(mask != was)) {
			sigmask_set(getg(), mask);
			sigroute_mask_changed(was, mask);
			if (swap)
				sigmask_set(getg(), was); /* libc saves it, then changes it */
		}
		sigmask_note(mask);
	}
	return swap ? (void *)real.swapcontext : (void *)real.setcontext;
}
