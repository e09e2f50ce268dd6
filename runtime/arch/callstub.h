/*
 * callstub: system calls that a signal can still keep from having an effect, and other code whose
 * registers must be the caller's.  Defined in x86_64/shim_call.S and shim_ucontext.S, which are linked
 * with the shim.
 *
 * The stubs make a decision atomic: a signal that arrives at an instruction between begin and end
 * arrives before the call has had any effect; end follows the call's instruction.  A handler may then
 * move the thread to end (mcontext_set_pc()) with a result of its own.
 */
#ifndef WEFT_ARCH_CALLSTUB_H
#define WEFT_ARCH_CALLSTUB_H

#define CALLSTUB_HIDDEN __attribute__((visibility("hidden")))

/*
 * Returns -ECANCELED without a system call if (*word & bits) at the last instant, -EINTR if then the
 * first byte of self_thread (shim/thread/thread.h: stop) is not 0.
 */
long syscall_cp(const int *word, long bits, long nr, long a, long b, long c, long d, long e, long f)
	CALLSTUB_HIDDEN;
/* The same for a call that is no cancellation point: nothing is asked. */
long syscall_nocp(long nr, long a, long b, long c, long d, long e, long f) CALLSTUB_HIDDEN;

extern const char cp_begin[] CALLSTUB_HIDDEN, cp_end[] CALLSTUB_HIDDEN;
extern const char cp_cancel[] CALLSTUB_HIDDEN; /* from here syscall_cp() returns -ECANCELED */
extern const char nocp_begin[] CALLSTUB_HIDDEN, nocp_end[] CALLSTUB_HIDDEN;

/*
 * Exported, of the program's prototypes: swapcontext() and setcontext().  Each asks ucontext_note()
 * (shim/thread/ucontext.c) and jumps to where that says, with its caller's registers and stack.
 */

/* What a coroutine's function returns to: goes on with uc_link, by setcontext(), or exits. */
extern const char ucontext_over[] CALLSTUB_HIDDEN;

#endif
