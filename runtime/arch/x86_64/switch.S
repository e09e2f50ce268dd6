/*
 * switch.S: the context switch of x86-64.
 *
 * Saved on the stack, from low to high: mxcsr and x87 control word (8 bytes), r15 r14 r13 r12 rbx rbp,
 * return address.  Every routine carries CFI, so gdb and the unwinder can walk a parked stack.
 * Must never: touch a caller-saved register that holds an argument still needed; return with FS on a
 * block that does not belong to the stack.
 */
#include <cet.h>

	.text

/* Sets FS base to \reg (never rax, rcx or r11); keeps every argument register on both paths. */
.macro SETFS reg
	cmpl	$0, arch_wrfsbase(%rip)
	je	1f
	wrfsbase \reg
	jmp	2f
1:	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	mov	\reg, %rsi
	mov	$0x1002, %edi		/* ARCH_SET_FS */
	mov	$158, %eax		/* arch_prctl */
	syscall
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
2:
.endm

/* Pushes the frame described above and leaves its address in *(uintptr_t *)rdi. */
.macro SAVE
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	push	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	push	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	mov	%rsp, (%rdi)
.endm

/* void arch_mcall(uintptr_t *sp, void *fs, void *top, void (*fn)(void *), void *arg) */
	.globl	arch_mcall
	.hidden	arch_mcall
	.type	arch_mcall, @function
	.p2align 4
arch_mcall:
	.cfi_startproc
	SAVE
	/* The unwinder stops here on g0: the frame below belongs to another stack. */
	.cfi_remember_state
	mov	%rdx, %rsp
	.cfi_undefined rip
	xor	%ebp, %ebp
	SETFS	%rsi
	mov	%r8, %rdi
	call	*%rcx
	ud2
	.cfi_restore_state
	.cfi_endproc
	.size	arch_mcall, . - arch_mcall

/* void arch_gogo(uintptr_t sp, void *fs) */
	.globl	arch_gogo
	.hidden	arch_gogo
	.type	arch_gogo, @function
	.p2align 4
arch_gogo:
	.cfi_startproc
	.cfi_undefined rip
	SETFS	%rsi
	mov	%rdi, %rsp
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	add	$8, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.cfi_endproc
	.size	arch_gogo, . - arch_gogo

/*
 * void arch_switch(uintptr_t *sp, uintptr_t newsp, void *fs, void (*after)(void *), void *arg)
 *
 * From one context straight to another: saves as arch_mcall, restores as arch_gogo, and calls after(arg) on
 * the new stack, below the saved frame, before anything of the new context runs.  The control words are
 * loaded only when they differ: that costs as much as the rest.
 */
	.globl	arch_switch
	.hidden	arch_switch
	.type	arch_switch, @function
	.p2align 4
arch_switch:
	.cfi_startproc
	SAVE
	mov	(%rsp), %r9d
	movzwl	4(%rsp), %r10d
	/* The same frame on both sides, so the same CFI holds after this line. */
	mov	%rsi, %rsp
	cmp	(%rsp), %r9d
	jne	3f
	cmp	4(%rsp), %r10w
	je	4f
3:	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
4:
	SETFS	%rdx
	mov	%r8, %rdi
	call	*%rcx
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	pop	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	arch_switch, . - arch_switch

/* First instruction of a fresh context: rbx = entry, r12 = arg (set by arch_newctx). */
	.globl	arch_start
	.hidden	arch_start
	.type	arch_start, @function
	.p2align 4
arch_start:
	.cfi_startproc
	.cfi_undefined rip
	.cfi_undefined rbp
	xor	%ebp, %ebp
	mov	%r12, %rdi
	call	*%rbx
	ud2
	.cfi_endproc
	.size	arch_start, . - arch_start

	.section .note.GNU-stack,"",@progbits
