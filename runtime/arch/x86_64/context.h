/*
 * context: what switch.S leaves on a stack: control words, r15 r14 r13 r12 rbx rbp, return address.
 */
#ifndef WEFT_ARCH_X86_64_CONTEXT_H
#define WEFT_ARCH_X86_64_CONTEXT_H

enum { ARCH_CONTEXT_WORDS = 8, ARCH_CONTEXT_PC = 7 };

#endif
