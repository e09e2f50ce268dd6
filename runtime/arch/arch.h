/*
 * arch: contexts and the switch between them.
 *
 * A context is one word, the saved stack pointer: callee-saved registers, mxcsr and the x87 control
 * word lie on the stack it points to.  Vector state is caller-saved at a call, so a voluntary
 * switch needs no more.  FS is set by the switch itself: it belongs to the stack that runs.
 */
#ifndef WEFT_ARCH_H
#define WEFT_ARCH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/cpu.h"

/* 1: wrfsbase is usable (AT_HWCAP2 bit 1); 0: arch_prctl.  Set once before the first switch. */
extern int arch_wrfsbase __attribute__((visibility("hidden")));
int arch_has_wrfsbase(void);
/* The base of GS, which nothing here uses. */
uintptr_t arch_getgs(void);
void arch_setgs(uintptr_t base);

/*
 * Saves the caller's context in *sp, sets FS to fs, and calls fn(arg) on the stack that ends at
 * top.  fn must not return.  Returns when a thread calls arch_gogo() with *sp.
 */
void arch_mcall(uintptr_t *sp, void *fs, void *top, void (*fn)(void *), void *arg)
	__attribute__((visibility("hidden")));
/* Saves the caller in *sp and resumes newsp with FS set to fs; after(arg) runs there first. */
void arch_switch(uintptr_t *sp, uintptr_t newsp, void *fs, void (*after)(void *), void *arg)
	__attribute__((visibility("hidden")));
/* Sets FS and resumes a context. */
void arch_gogo(uintptr_t sp, void *fs) __attribute__((noreturn, visibility("hidden")));
/* The caller's modes of floating point: rounding, and which exceptions trap. */
uint64_t arch_fpmodes(void);
/* A fresh context on the stack that ends at top: entry(arg) with such modes and an unwindable end of stack. */
uintptr_t arch_newctx(void *top, void (*entry)(void *), void *arg, uint64_t fpmodes);

/*
 * A context that nothing runs: words that the switch has saved at the saved stack pointer, and which of
 * them is the return address, for who looks at the stack from outside.
 */
#if defined(__x86_64__)
#include "runtime/arch/x86_64/context.h"
#endif

#endif
