/*
 * vforkcall.S: vfork(2) around which something is done.
 *
 * The child goes on in this frame, returns from it and uses the stack for its own calls, until its exec or
 * end; only then does the parent go on here, on what is left of that stack.  So across the system call
 * nothing is kept in memory: the return address and two words more lie in registers that the kernel
 * preserves, each process has its own, and the parent writes the return address back.
 * Must never: be called by a function that has a frame when it does (the call is a jump); be entered by a
 * signal between the two lines of return address (vfork_begins() keeps all out).
 */
#include <cet.h>

	.text

/* int runtime_vfork(void); the places of what it calls in hooks: process.h asserts them. */
	.globl	runtime_vfork
	.hidden	runtime_vfork
	.type	runtime_vfork, @function
	.p2align 4
runtime_vfork:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	*hooks(%rip)		/* vfork_begins */
	mov	%rax, %rsi		/* struct vforked: rsi, rdx */
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rdi			/* return address */
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	mov	$58, %eax		/* vfork */
	syscall
	push	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rip, 0
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	test	%rax, %rax
	jz	1f
	mov	%rax, %rdi
	call	*hooks+16(%rip)		/* vfork_parent */
	add	$8, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state
1:	mov	%rsi, %rdi
	mov	%rdx, %rsi
	call	*hooks+8(%rip)		/* vfork_child */
	xor	%eax, %eax
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	runtime_vfork, . - runtime_vfork

	.section .note.GNU-stack, "", @progbits
