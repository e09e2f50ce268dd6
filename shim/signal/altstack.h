/*
 * altstack: the program's alternate signal stacks, kept for each G: see altstack.c.
 */
#ifndef WEFT_SHIM_ALTSTACK_H
#define WEFT_SHIM_ALTSTACK_H

#include "shim/signal/sigroute.h"

/* sp is on it, as the kernel asks. */
static inline bool altstack_spans(const stack_t *ss, uintptr_t sp)
{
	return sp - (uintptr_t)ss->ss_sp - 1 < ss->ss_size;
}

/*
 * The same for running a handler: with SS_AUTODISARM no thread is on it, for the alternate stack is
 * off then.
 */
bool altstack_on(const stack_t *ss, uintptr_t sp) hidden;
/* A handler with SA_ONSTACK, called where sp is, changes to it. */
static inline bool altstack_goes(const stack_t *ss, uintptr_t sp)
{
	return ss->ss_size && !altstack_on(ss, sp);
}

/* sigaltstack(2) of the calling G, with its stack pointer at sp: 0 or -errno. */
long altstack_call(const stack_t *ss, stack_t *old, uintptr_t sp) hidden;
long altstack_asked(const stack_t *ss, stack_t *old, uintptr_t sp) hidden; /* the program's memory: EFAULT too */
void altstack_set(const stack_t *ss) hidden; /* whatever it is */
void altstack_adopt(void) hidden; /* what the kernel has for this thread becomes the G's */
/* In a child that runs beside a G, on its block and no M: what the G has becomes the kernel's. */
void altstack_release(void) hidden;

#endif
