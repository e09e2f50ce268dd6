/*
 * shim_call: the stubs of runtime/arch/callstub.h.
 *
 * The call's number stays in the red zone, for mcontext_stub_nr(): a signal's frame lies below that.
 * Must never: move the stack pointer; test anything before begin.
 */
#include <cet.h>

	.text

/* long syscall_cp(const int *word, long bits, nr, a, b, c, [stack: d, e, f]) */
	.globl	syscall_cp
	.hidden	syscall_cp
	.type	syscall_cp, @function
syscall_cp:
	.cfi_startproc
	mov	%rdx, %rax
	mov	%rdi, %r11
	mov	%rcx, %rdi		/* a */
	mov	%rsi, %rcx		/* bits */
	mov	%r8, %rsi		/* b */
	mov	%r9, %rdx		/* c */
	mov	8(%rsp), %r10		/* d */
	mov	16(%rsp), %r8		/* e */
	mov	24(%rsp), %r9		/* f */
	mov	%rax, -8(%rsp)
	.globl	cp_begin
	.hidden	cp_begin
cp_begin:
	test	%ecx, (%r11)
	jnz	cp_cancel
	mov	self_thread@gottpoff(%rip), %rcx
	cmpb	$0, %fs:(%rcx)		/* self_thread.stop */
	jne	1f
	syscall
	.globl	cp_end
	.hidden	cp_end
cp_end:
	ret
	.globl	cp_cancel
	.hidden	cp_cancel
cp_cancel:
	mov	$-125, %rax		/* -ECANCELED */
	ret
1:	mov	$-4, %rax		/* -EINTR */
	ret
	.cfi_endproc
	.size	syscall_cp, . - syscall_cp

/* long syscall_nocp(nr, a, b, c, d, e, [stack: f]) */
	.globl	syscall_nocp
	.hidden	syscall_nocp
	.type	syscall_nocp, @function
syscall_nocp:
	.cfi_startproc
	mov	%rdi, %rax
	mov	%rsi, %rdi		/* a */
	mov	%rdx, %rsi		/* b */
	mov	%rcx, %rdx		/* c */
	mov	%r8, %r10		/* d */
	mov	%r9, %r8		/* e */
	mov	8(%rsp), %r9		/* f */
	mov	%rax, -8(%rsp)
	.globl	nocp_begin
	.hidden	nocp_begin
nocp_begin:
	syscall
	.globl	nocp_end
	.hidden	nocp_end
nocp_end:
	ret
	.cfi_endproc
	.size	syscall_nocp, . - syscall_nocp

	.section .note.GNU-stack, "", @progbits
