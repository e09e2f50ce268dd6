/* dlguest: a run-time that manages kernel threads itself, loaded while threads run: see dlguest.c. */
#ifndef WEFT_SHIM_DLGUEST_H
#define WEFT_SHIM_DLGUEST_H

#include "shim/libc/dlopen.h"

extern _Atomic bool dlguest_came hidden;
bool dlguest_called(const void *caller) hidden;

/* Whether the thread that the code at caller asks for has to be a kernel thread. */
static inline bool dlguest_present(const void *caller)
{
	return load_relaxed(&dlguest_came) ||
	       (unlikely(dl_loading()) && dlguest_called(caller));
}

#endif
