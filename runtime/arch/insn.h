/*
 * insn: which instruction lies at an address.  The text is read as bytes; the caller knows that it
 * can be read.
 */
#ifndef WEFT_ARCH_INSN_H
#define WEFT_ARCH_INSN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include "runtime/arch/x86_64/insn.h"
#endif

#endif
