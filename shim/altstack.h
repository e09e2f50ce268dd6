/*
 * altstack: a handler that weft calls itself, on the alternate stack if it asked for that.
 *
 * The kernel switches for the signals it delivers.  One that is queued on a G is delivered by the
 * G, so SA_ONSTACK is done here: the same memory, and the kernel, which looks at the stack pointer,
 * agrees that the thread is on it.
 */
#ifndef WEFT_SHIM_ALTSTACK_H
#define WEFT_SHIM_ALTSTACK_H

#include "shim/sigroute.h"

/* As run_handler(), on the stack that the flags of sa ask for. */
void run_handler_on(int sig, siginfo_t *si, void *uc, const struct sigaction *sa) hidden;

#endif
