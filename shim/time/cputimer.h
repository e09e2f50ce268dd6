/* cputimer: see cputimer.c. */
#ifndef WEFT_SHIM_CPUTIMER_H
#define WEFT_SHIM_CPUTIMER_H

#include "shim/shim.h"
#include "shim/thread/thread.h"

#include <time.h>

/*
 * timer is on th's CPU time: the caller's own, or made on CLOCK_MONOTONIC.  silent: SIGEV_NONE.  False: as many as can
 * be.
 */
bool cputimer_note(timer_t timer, struct thread *th, bool own, bool silent) hidden;
void cputimer_forget(timer_t timer) hidden;
/*
 * True: done, *r is 0 or -errno.  False: the kernel's, which shall have *new; that may be *room by now.
 */
bool cputimer_set(timer_t timer, int flags, const struct itimerspec **new, struct itimerspec *old,
		  struct itimerspec *room, long *r) hidden;
bool timer_valid(const struct itimerspec *it) hidden; /* else it is EINVAL */
bool cputimer_get(timer_t timer, struct itimerspec *it, long *r) hidden; /* false: the kernel's */
/* The signal thread: what is due goes off; when to look again (CLOCK_MONOTONIC ns), 0: not. */
uint64_t cputimer_look(void) hidden;
bool cputimer_any(void) hidden; /* there is, or has been, one */
void cputimer_fork_child(void) hidden;

#endif
