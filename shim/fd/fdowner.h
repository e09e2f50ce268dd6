/* fdowner: descriptors whose signals are a thread's; see fdowner.c. */
#ifndef WEFT_SHIM_FDOWNER_H
#define WEFT_SHIM_FDOWNER_H

#include "shim/shim.h"

static inline bool fdowner_cmd(int cmd)
{
	return cmd == F_SETOWN_EX || cmd == F_GETOWN_EX || cmd == F_SETOWN || cmd == F_GETOWN ||
	       cmd == F_SETSIG || cmd == F_GETSIG;
}

/* True: *r is the answer, or -errno; false: it is the kernel's. */
bool fdowner_call(int fd, int cmd, void *arg, long *r) hidden;
/* the thread that this signal of a file is for, or NULL */
struct thread *fdowner_target(const siginfo_t *si) hidden;
/* The file has a note for one thread, which may have ended. */
bool fdowner_names_thread(const siginfo_t *si) hidden;
void fdowner_fired(const siginfo_t *si) hidden; /* signal 32 that the signal thread got from a file */

#endif
