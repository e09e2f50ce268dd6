/*
 * bindstub: one stub for each line of symbols.def, in its order; see bind.c.
 */
#include "runtime/arch/bindstub.h"

#define SYM(ret, name, version, params) ARCH_BINDSTUB(name)
#include "shim/symbols.def"
