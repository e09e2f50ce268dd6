/*
 * ucontext: swapcontext and setcontext, for programs with coroutines of their own inside threads.
 *
 * libc restores the signal mask of a context by a system call of its own, after which the kernel's
 * mask is no longer the one we remember for the G; so it is noted here just before.  The rest is
 * right as it is: a context switch keeps FS, and the G's stack does not matter to the scheduler.
 *
 * The two themselves are in runtime/arch/x86_64/shim_ucontext.S: they must be jumps, not calls, so that
 * swapcontext saves the registers of the program.  getcontext only reads and stays libc's.
 *
 * makecontext stays libc's, too.  Its context returns to code of libc's that goes on with uc_link by an
 * inner setcontext, unseen; a context that does is told by that return address when it is entered, and
 * returns to our code from then on (ucontext_over).
 */
#include "shim/shim.h"
#include "shim/signal/sigroute.h"

#include "runtime/arch/callstub.h"
#include "runtime/arch/mcontext.h"

static void nothing(void)
{
}

/* Where functions of makecontext() return to in libc; 0: not asked yet. */
static _Atomic uintptr_t libc_over;

/* What makecontext() writes says so.  Not in line: the caller's stack may be a coroutine's, and small. */
static __attribute__((noinline)) void learn(void)
{
	enum { CONTEXT_STACK = 256 };
	_Alignas(16) char stack[CONTEXT_STACK];
	ucontext_t uc;

	uc.uc_stack.ss_sp = stack;
	uc.uc_stack.ss_size = sizeof(stack);
	uc.uc_link = NULL;
	makecontext(&uc, nothing, 0);
	store_relaxed(&libc_over, mcontext_return_address(&uc.uc_mcontext));
}

/*
 * A context that was made and not entered yet.  libc is about to write just below its stack pointer, so
 * that page is there; the word at the pointer is in the same page unless it is the first of one.
 */
static void end_here(const mcontext_t *mc)
{
	if (unlikely(!load_relaxed(&libc_over)))
		learn();
	if (mcontext_sp(mc) % sizeof(uintptr_t[2]) && mcontext_return_address(mc) == load_relaxed(&libc_over))
		mcontext_set_return_address(mc, (uintptr_t)ucontext_over);
}

void *ucontext_note(const ucontext_t *to, bool swap) hidden __attribute__((used));

/* Returns libc's function, to jump to. */
void *ucontext_note(const ucontext_t *to, bool swap)
{
	end_here(&to->uc_mcontext);
	if (on_g()) {
		uint64_t mask = sigs_of(&to->uc_sigmask) & ~SIGS_NEVER, was = sigmask_of(getg());

		syscall_reset(); /* the jump may leave a handler that interrupted a call */
		weft_tls.handlersp = 0;
		if (unlikely(mask != was)) {
			sigroute_mask_change(was, mask);
			if (swap)
				sigmask_set(getg(), was, false); /* libc saves it, then changes it */
		}
		sigmask_set(getg(), mask, true);
	}
	return swap ? (void *)real.swapcontext : (void *)real.setcontext;
}
