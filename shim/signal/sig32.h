/*
 * sig32: signal 32, and what it finds: see sig32.c; the stubs of system calls are callstub.h's.
 */
#ifndef WEFT_SHIM_SIG32_H
#define WEFT_SHIM_SIG32_H

#include "runtime/arch/callstub.h"
#include "shim/shim.h"

struct sigframe;

static inline bool stub_of(uintptr_t pc, const char *begin, const char *end)
{
	return pc >= (uintptr_t)begin && pc < (uintptr_t)end;
}

/* A cancellation that is due; returns if it is not. */
void cancel_act(void) hidden;

/*
 * sigcall.c.  Where the call goes on that f interrupted, if that is over before it began, or is not begun again; 0: f
 * interrupted none.  Is it one of our stub's?  It ends there with -EINTR.
 */
uintptr_t call_end(const struct sigframe *f) hidden;
bool call_in_stub(const struct sigframe *f) hidden;
void call_over(struct sigframe *f, uintptr_t end) hidden;
/*
 * The calling G was interrupted in a system call.  By a signal that is another's, or weft's own: the call
 * begins again.  By a handler.
 */
void call_again(struct sigframe *f) hidden;
/* A call that the program made by an instruction of its own has just ended with EINTR. */
bool call_cut(const struct sigframe *f) hidden;
/* Such a call, which a handler that runs now ends whatever SA_RESTART says: the kernel has ended it already. */
bool call_ended_once(const struct sigframe *f) hidden;
void call_ended(struct sigframe *f, bool restarts) hidden;

#endif
