/*
 * sigframe: Linux's struct rt_sigframe on x86-64.
 */
#ifndef WEFT_ARCH_X86_64_SIGFRAME_H
#define WEFT_ARCH_X86_64_SIGFRAME_H

/* The kernel's ucontext: libc's type goes on behind the mask with fields that no kernel writes. */
struct sigframe_uc {
	unsigned long flags;
	void *link;
	stack_t stack;
	mcontext_t mc;
	uint64_t mask;
};

struct sigframe {
	void *restorer;
	struct sigframe_uc uc;
	siginfo_t si;
};

enum {
	SIGFRAME_REDZONE = 128, /* bytes below the stack pointer that are the interrupted code's */
	SIGFRAME_CALL = 512,    /* vector state of a frame that sigframe_call() makes */
};

#endif
