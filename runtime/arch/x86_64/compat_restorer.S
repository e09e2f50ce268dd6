/*
 * compat_restorer: what a signal handler of compat/'s returns to: rt_sigreturn.
 */
#include <cet.h>

	.text
	.globl	arch_restorer
	.hidden	arch_restorer
	.type	arch_restorer, @function
arch_restorer:
	mov	$15, %eax		/* rt_sigreturn */
	syscall
	.size	arch_restorer, . - arch_restorer

	.section .note.GNU-stack, "", @progbits
