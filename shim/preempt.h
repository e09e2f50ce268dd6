/*
 * preempt: where a G may be switched away by a signal: see preempt.c.
 */
#ifndef WEFT_SHIM_PREEMPT_H
#define WEFT_SHIM_PREEMPT_H

#include <ucontext.h>

#include "shim/shim.h"

void preempt_init(void) hidden;
/* The calling G, unpinned before the handler, is to give way: does so, or leaves the wish. */
void preempt_here(const ucontext_t *uc) hidden;

/*
 * Around a call of libc that takes a lock of libc's.  Whoever waits for such a lock blocks a kernel thread and its
 * P, so its holder must not be switched away.  On a G only.
 */
static inline void libc_enter(void)
{
	weft_tls.depth++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void libc_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	weft_tls.depth--;
	if (unlikely(weft_tls.preempt))
		runtime_wish();
}

#endif
