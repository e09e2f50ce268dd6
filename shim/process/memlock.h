/* memlock: see memlock.c. */
#ifndef WEFT_SHIM_MEMLOCK_H
#define WEFT_SHIM_MEMLOCK_H

#include "shim/shim.h"

/* mlockall(flags) or munlockall().  Result or -errno. */
long memlock_call(long nr, long flags) hidden;

#endif
