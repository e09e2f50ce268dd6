/*
 * bindstub: for assembler files: the stub that a slot of `real` begins as (shim/bind.c).
 *
 *	ARCH_BINDSTUB(name)  bindstub_NAME, hidden; the first has the index 0
 *
 * A stub hands its index to bind_one() and jumps to the function that this returns, with all registers
 * and the stack as they were: it stands for functions of any prototype.
 */
#ifndef WEFT_ARCH_BINDSTUB_H
#define WEFT_ARCH_BINDSTUB_H

#if defined(__x86_64__)
#include "runtime/arch/x86_64/bindstub.h"
#endif

#endif
