/*
 * sigenter.S: entering and leaving the frames of sigframe.h.
 *
 * Must never: write above the stack pointer's new place before it is there: a handler that comes in
 * between would be put on what was written.
 */
#include <cet.h>

	.text

/* void sigframe_enter(struct sigframe *f, void (*fn)(struct sigframe *, void *), void *arg) */
	.globl	sigframe_enter
	.hidden	sigframe_enter
	.type	sigframe_enter, @function
	.p2align 4
sigframe_enter:
	.cfi_startproc
	.cfi_undefined rip
	mov	%rdi, %rsp		/* the restorer is the return address */
	mov	%rsi, %rax
	mov	%rdx, %rsi
	xor	%ebp, %ebp
	jmp	*%rax
	.cfi_endproc
	.size	sigframe_enter, . - sigframe_enter

/*
 * void sigframe_make(uintptr_t end, void (*fn)(struct sigframe *, void *), void *arg)
 *
 * The frame says: the caller, right after this call.  Of the vector state it has the legacy part
 * alone, for the control words in it.
 */
	.globl	sigframe_make
	.hidden	sigframe_make
	.type	sigframe_make, @function
	.p2align 4
sigframe_make:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	test	%rdi, %rdi
	jnz	1f
	mov	%rsp, %rdi
1:	sub	$512, %rdi
	and	$-64, %rdi
	lea	-440(%rdi), %rax
	and	$-16, %rax
	sub	$8, %rax
	mov	%rax, %rsp
	fxsave64 (%rdi)
	xor	%ecx, %ecx
	mov	%rcx, 464(%rdi)		/* the kernel's own words: no more than this */
	mov	%rcx, 472(%rdi)
	mov	%rcx, 480(%rdi)
	mov	%rcx, 488(%rdi)
	mov	%rcx, 496(%rdi)
	mov	%rcx, 504(%rdi)
	mov	sigframe_restorer(%rip), %r8
	mov	%r8, 0(%rsp)
	movq	$6, 8(%rsp)		/* flags: UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	mov	%rcx, 16(%rsp)		/* link */
	mov	%rcx, 48(%rsp)		/* r8 to r11 */
	mov	%rcx, 56(%rsp)
	mov	%rcx, 64(%rsp)
	mov	%rcx, 72(%rsp)
	mov	%r12, 80(%rsp)
	mov	%r13, 88(%rsp)
	mov	%r14, 96(%rsp)
	mov	%r15, 104(%rsp)
	mov	%rcx, 112(%rsp)		/* rdi, rsi */
	mov	%rcx, 120(%rsp)
	mov	(%rbp), %r8
	mov	%r8, 128(%rsp)		/* rbp */
	mov	%rbx, 136(%rsp)
	mov	%rcx, 144(%rsp)		/* rdx, rax, rcx */
	mov	%rcx, 152(%rsp)
	mov	%rcx, 160(%rsp)
	lea	16(%rbp), %r8
	mov	%r8, 168(%rsp)		/* rsp */
	mov	8(%rbp), %r8
	mov	%r8, 176(%rsp)		/* rip */
	pushfq
	pop	%r8
	mov	%r8, 184(%rsp)		/* flags */
	xor	%r8d, %r8d
	mov	%ss, %r8w
	shl	$48, %r8
	xor	%r9d, %r9d
	mov	%cs, %r9w
	or	%r9, %r8
	mov	%r8, 192(%rsp)		/* cs, gs, fs, ss */
	mov	%rcx, 200(%rsp)		/* err, trapno, oldmask, cr2 */
	mov	%rcx, 208(%rsp)
	mov	%rcx, 216(%rsp)
	mov	%rcx, 224(%rsp)
	mov	%rdi, 232(%rsp)		/* fpregs */
	mov	%rcx, 240(%rsp)		/* reserved: eight words */
	mov	%rcx, 248(%rsp)
	mov	%rcx, 256(%rsp)
	mov	%rcx, 264(%rsp)
	mov	%rcx, 272(%rsp)
	mov	%rcx, 280(%rsp)
	mov	%rcx, 288(%rsp)
	mov	%rcx, 296(%rsp)
	mov	%rsp, %rdi
	mov	%rsi, %rax
	mov	%rdx, %rsi
	jmp	*%rax
	.cfi_endproc
	.size	sigframe_make, . - sigframe_make

/* void sigframe_leave(struct sigframe *f, volatile bool *leaving) */
	.globl	sigframe_leave
	.hidden	sigframe_leave
	.type	sigframe_leave, @function
	.p2align 4
sigframe_leave:
	.cfi_startproc
	.cfi_undefined rip
	lea	8(%rdi), %rsp		/* past the restorer, as it is when that runs */
	mov	$15, %eax		/* rt_sigreturn */
	movb	$0, (%rsi)
	.globl	sigframe_leave_last
	.hidden	sigframe_leave_last
sigframe_leave_last:
	syscall
	ud2
	.cfi_endproc
	.size	sigframe_leave, . - sigframe_leave

/* size_t sigframe_put(void *to, const void *from, size_t n) */
	.globl	sigframe_put
	.hidden	sigframe_put
	.type	sigframe_put, @function
	.p2align 4
sigframe_put:
	.cfi_startproc
	mov	%rdx, %rcx
	.globl	sigframe_put_move
	.hidden	sigframe_put_move
sigframe_put_move:
	rep movsb
	.globl	sigframe_put_end
	.hidden	sigframe_put_end
sigframe_put_end:
	mov	%rcx, %rax
	ret
	.cfi_endproc
	.size	sigframe_put, . - sigframe_put

/* void sigframe_callon(uintptr_t top, void (*fn)(void *), void *arg) */
	.globl	sigframe_callon
	.hidden	sigframe_callon
	.type	sigframe_callon, @function
	.p2align 4
sigframe_callon:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	and	$-16, %rdi
	mov	%rdi, %rsp
	mov	%rdx, %rdi
	call	*%rsi
	leave
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	sigframe_callon, . - sigframe_callon

	.section .note.GNU-stack,"",@progbits
