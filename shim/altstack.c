/*
 * altstack: run_handler_on(); altstack.h says why.
 *
 * The frame of call_on() lies on the old stack and points to it through rbp, with unwind tables
 * that say so: cancellation and backtraces go through.  A handler may park in there or leave by
 * longjmp, as on any stack.
 */
#include "shim/altstack.h"

#ifndef __x86_64__
#error "altstack.c: one change of stacks per machine"
#endif

/* fn(arg) with the stack pointer at top, 16-aligned. */
void call_on(void *top, void (*fn)(void *), void *arg) hidden;

__asm__(".pushsection .text\n"
	".globl call_on\n.hidden call_on\n.type call_on, @function\n"
	"call_on:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	mov %rdi, %rsp\n"
	"	mov %rdx, %rdi\n"
	"	call *%rsi\n"
	"	leave\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size call_on, . - call_on\n"
	".popsection\n");

struct args {
	int sig;
	siginfo_t *si;
	void *uc;
	const struct sigaction *sa;
};

static void there(void *arg)
{
	struct args *a = arg;

	run_handler(a->sig, a->si, a->uc, a->sa);
}

void run_handler_on(int sig, siginfo_t *si, void *uc, const struct sigaction *sa)
{
	struct args a = { sig, si, uc, sa };
	char here, *sp;
	size_t size;
	int flags;

	g_getaltstack((void **)&sp, &size, &flags);
	if (!(sa->sa_flags & SA_ONSTACK) || !sp || (&here >= sp && &here < sp + size)) {
		run_handler(sig, si, uc, sa);
		return;
	}
	call_on((void *)((uintptr_t)(sp + size) & ~(uintptr_t)15), there, &a);
}
