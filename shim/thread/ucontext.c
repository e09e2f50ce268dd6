/*
 * ucontext: swapcontext and setcontext, for programs with coroutines of their own inside threads.
 *
 * libc restores the signal mask of a context by a system call of its own, after which the kernel's
 * mask is no longer the one we remember for the G; so it is noted here just before.  The rest is
 * right as it is: a context switch keeps FS, and the G's stack does not matter to the scheduler.
 *
 * Both must be jumps, not calls: swapcontext saves the registers, stack and return address of its
 * caller, and must find the program's, not weft's.  getcontext only reads and stays libc's.  The
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

/* int swapcontext(ucontext_t *save, const ucontext_t *to); int setcontext(const ucontext_t *to) */
__asm__(".pushsection .text\n"
	".globl swapcontext\n.type swapcontext, @function\nswapcontext:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	sub $8, %rsp\n	.cfi_adjust_cfa_offset 8\n"
	"	mov %rsi, %rdi\n"
	"	mov $1, %esi\n"
	"	call ucontext_note\n"
	"	add $8, %rsp\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size swapcontext, . - swapcontext\n"
	".globl setcontext\n.type setcontext, @function\nsetcontext:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	xor %esi, %esi\n"
	"	call ucontext_note\n"
	"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size setcontext, . - setcontext\n"
	".popsection");
