/* dlguest: a run-time that manages kernel threads itself, loaded while threads run: see dlguest.c. */
#ifndef WEFT_SHIM_DLGUEST_H
#define WEFT_SHIM_DLGUEST_H

#include "shim/libc/dlopen.h"

extern _Atomic bool guest_came hidden;
bool guest_called(const void *caller) hidden;

/* Whether the thread that the code at caller asks for has to be a kernel thread. */
static inline bool guest_among_us(const void *caller)
{
	return atomic_load_explicit(&guest_came, memory_order_relaxed) ||
	       (unlikely(dl_loading()) && guest_called(caller));
}

#endif
