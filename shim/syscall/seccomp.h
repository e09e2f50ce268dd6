/*
 * seccomp: what other files need of filters of system calls (seccomp.c).
 */
#ifndef WEFT_SHIM_SECCOMP_H
#define WEFT_SHIM_SECCOMP_H

#include "shim/syscall/syscall.h"
#include "shim/thread/thread.h"

/* prctl(PR_SET_SECCOMP) or seccomp(2) that installs one; on any thread, before the start too. */
long installs_filter(const struct call *x) hidden;
void filter_born(struct thread *th) hidden; /* th has the filter of a thread that may not try its calls */
void filter_fork_child(void) hidden;

/* strict.c: the mode without a filter. */
bool strict_asked(const struct call *x) hidden;
/* On a G, which is none any more when this returns 0. */
long strict_enter(const struct call *x) hidden;

static inline bool call_installs_filter(long nr, long a)
{
	return unlikely(nr == SYS_seccomp ? a <= 1 : nr == SYS_prctl && a == PR_SET_SECCOMP);
}

#endif
