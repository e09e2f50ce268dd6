/*
 * bindstub: `mov $index, %r11d; jmp bindstub`.  bindstub keeps what arguments may be in: rdi rsi rdx rcx
 * r8 r9, xmm0 to xmm7, and rax, the number of those.
 */
#include <cet.h>

	.text
	.type	bindstub, @function
bindstub:
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	push	%rax
	sub	$128, %rsp
	movups	%xmm0, (%rsp)
	movups	%xmm1, 16(%rsp)
	movups	%xmm2, 32(%rsp)
	movups	%xmm3, 48(%rsp)
	movups	%xmm4, 64(%rsp)
	movups	%xmm5, 80(%rsp)
	movups	%xmm6, 96(%rsp)
	movups	%xmm7, 112(%rsp)
	mov	%r11d, %edi
	call	bind_one
	mov	%rax, %r11
	movups	(%rsp), %xmm0
	movups	16(%rsp), %xmm1
	movups	32(%rsp), %xmm2
	movups	48(%rsp), %xmm3
	movups	64(%rsp), %xmm4
	movups	80(%rsp), %xmm5
	movups	96(%rsp), %xmm6
	movups	112(%rsp), %xmm7
	add	$128, %rsp
	pop	%rax
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	jmp	*%r11
	.size	bindstub, . - bindstub

	.set	bindindex, 0
	.macro	BINDSTUB name
	.globl	bindstub_\name
	.hidden	bindstub_\name
	.type	bindstub_\name, @function
bindstub_\name:
	_CET_ENDBR
	mov	$bindindex, %r11d
	jmp	bindstub
	.size	bindstub_\name, . - bindstub_\name
	.set	bindindex, bindindex + 1
	.endm

	.section .note.GNU-stack, "", @progbits
	.text

#define ARCH_BINDSTUB(name) BINDSTUB name
