/*
 * shim_ucontext: swapcontext and setcontext (shim/thread/ucontext.c), and the end of a coroutine.
 *
 * Both must be jumps, not calls: swapcontext saves the registers, stack and return address of its
 * caller, and must find the program's, not weft's.
 */
#include <cet.h>

	.text

/* int swapcontext(ucontext_t *save, const ucontext_t *to) */
	.globl	swapcontext
	.type	swapcontext, @function
swapcontext:
	.cfi_startproc
	_CET_ENDBR
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	mov	%rsi, %rdi
	mov	$1, %esi
	call	ucontext_note
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	swapcontext, . - swapcontext

/* int setcontext(const ucontext_t *to) */
	.globl	setcontext
	.type	setcontext, @function
setcontext:
	.cfi_startproc
	_CET_ENDBR
	push	%rdi
	.cfi_adjust_cfa_offset 8
	xor	%esi, %esi
	call	ucontext_note
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	setcontext, . - setcontext

/*
 * What a function of makecontext() returns to, in the place of libc's: libc's leaves in rbx where
 * uc_link stands.  The unwinder must find no caller.
 */
	.globl	ucontext_over
	.hidden	ucontext_over
	.type	ucontext_over, @function
	.cfi_startproc
	.cfi_undefined rip
	nop			/* an unwinder looks up the instruction before the return address */
ucontext_over:
	mov	%rbx, %rsp
	mov	(%rsp), %rdi
	test	%rdi, %rdi
	je	1f
	call	setcontext@PLT	/* returns only with an error */
	mov	%eax, %edi
1:	call	exit@PLT
	hlt
	.cfi_endproc
	.size	ucontext_over, . - ucontext_over

	.section .note.GNU-stack, "", @progbits
