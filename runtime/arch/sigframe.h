/*
 * sigframe: what the kernel writes to a stack for a signal handler, and what sigreturn reads.
 *
 * The kernel makes a frame where it is told to; everything else about it is an address: it may lie
 * anywhere when sigreturn reads it, as long as the vector state that mc.fpregs points to is aligned.
 * So a frame can be copied to another stack, by another kernel thread even, and the handler called
 * there, or the interrupted code resumed from there.  Debuggers and unwinders know a frame by the
 * bytes that the restorer's address points to, right below uc.
 *
 * sigreturn also gives the kernel thread the alternate stack that uc.stack names, unless it is none
 * that the kernel would accept: then the thread keeps the one it has (Linux squashes the error).
 *
 * The shim may include this: it decides where a handler of the program runs.
 */
#ifndef WEFT_SIGFRAME_H
#define WEFT_SIGFRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/arch/mcontext.h"
#if defined(__x86_64__)
#include "runtime/arch/x86_64/sigframe.h"
#endif

enum { SIGFRAME_STACKFLAGS = 4 }; /* of an alternate stack that no kernel accepts */

static inline struct sigframe *sigframe_of(void *uc)
{
	return (struct sigframe *)((char *)uc - offsetof(struct sigframe, uc));
}

static inline uintptr_t sigframe_pc(const struct sigframe *f)
{
	return mcontext_pc(&f->uc.mc);
}

static inline uintptr_t sigframe_sp(const struct sigframe *f)
{
	return mcontext_sp(&f->uc.mc);
}

static inline uintptr_t sigframe_fp(const struct sigframe *f)
{
	return mcontext_fp(&f->uc.mc);
}

#define SIGFRAME_HIDDEN __attribute__((visibility("hidden")))

/* libc's; unwinders know its bytes.  Set once, before the first frame is made here. */
extern void *sigframe_restorer SIGFRAME_HIDDEN;

/* Bytes of the vector state that belongs to it. */
size_t sigframe_state(const struct sigframe *f) SIGFRAME_HIDDEN;
/* Where the kernel would put a frame with so much of it that may not reach above end. */
struct sigframe *sigframe_at(uintptr_t end, size_t state) SIGFRAME_HIDDEN;
/*
 * A frame that ends at end becomes as f is; to is what sigframe_at() says of end.  False: the memory
 * cannot be written to, as a handler of SIGSEGV has told by sigframe_fault(), called with its own frame:
 * true, and then it returns.  That handler must be let in.
 */
bool sigframe_copy(struct sigframe *to, uintptr_t end, const struct sigframe *f) SIGFRAME_HIDDEN;
/* Any bytes, in the same way: how many were not copied. */
size_t sigframe_put(void *to, const void *from, size_t n) SIGFRAME_HIDDEN;
bool sigframe_fault(struct sigframe *f) SIGFRAME_HIDDEN;

/*
 * On f's stack, which ends below f: fn(f, arg), as the kernel calls a handler.  When fn returns, what
 * f interrupted goes on.
 */
void sigframe_enter(struct sigframe *f, void (*fn)(struct sigframe *f, void *arg), void *arg)
	__attribute__((noreturn)) SIGFRAME_HIDDEN;
/*
 * The same over a frame of the caller: returns when fn has, or as what fn made of the frame says.
 * end: where the frame ends; 0: right below the caller.  si, uc.stack and uc.mask are fn's to fill.
 */
void sigframe_call(uintptr_t end, void (*fn)(struct sigframe *f, void *arg), void *arg)
	SIGFRAME_HIDDEN;
/*
 * What f interrupted goes on; *leaving becomes false with the last instruction before the kernel's
 * part, sigframe_leaving(pc) tells whether that part is all that is left.
 */
void sigframe_leave(struct sigframe *f, volatile bool *leaving) __attribute__((noreturn))
SIGFRAME_HIDDEN;
bool sigframe_leaving(uintptr_t pc) SIGFRAME_HIDDEN;
/* fn(arg) with the stack pointer at top; returns when it has.  Unwinders see the caller below it. */
void sigframe_callon(uintptr_t top, void (*fn)(void *arg), void *arg) SIGFRAME_HIDDEN;

#endif
