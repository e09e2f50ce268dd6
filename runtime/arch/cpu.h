/*
 * cpu: the few instructions that C has no words for, and what the kernel and libc number by CPU.
 *
 * Every layer may include this: all of it is in line, and knows no G.
 */
#ifndef WEFT_ARCH_CPU_H
#define WEFT_ARCH_CPU_H

#if defined(__x86_64__)
#include "runtime/arch/x86_64/cpu.h"
#else
#error "runtime/arch has no folder for this CPU (runtime/arch/README.md says what one gives)"
#endif

/* A signal handler returns to it; compat/ alone has one that libc has not (x86_64/compat_restorer.S). */
void arch_restorer(void) __attribute__((visibility("hidden")));

/* The compiler keeps lvalue x in one register, and forgets how it came to its value. */
#define arch_in_register(x) __asm__("" : "+r"(x))

#endif
