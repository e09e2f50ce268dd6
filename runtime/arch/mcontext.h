/*
 * mcontext: the registers in a signal frame, by what they mean.
 *
 * A thread that was interrupted at a system call: before the instruction its number and arguments are in
 * registers; behind it the result is.  mcontext_call_made() tells a call that the kernel has just left,
 * and that nothing has ended since, from one that was only about to begin.
 */
#ifndef WEFT_ARCH_MCONTEXT_H
#define WEFT_ARCH_MCONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/arch/insn.h"

#if defined(__x86_64__)
#include "runtime/arch/x86_64/mcontext.h"
#endif

#endif
