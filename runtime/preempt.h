/*
 * preempt: signal 32: a G gives way, or gets a P back, where it was interrupted.
 *
 * Must never: switch on a signal stack.
 */
#ifndef WEFT_PREEMPT_H
#define WEFT_PREEMPT_H

#include "runtime/runtime.h"

/*
 * Preemption.  The handler of signal SIGWEFT notes what the kernel has (g_notekernel), then
 * calls runtime_preempt_asked(), whatever it interrupted: true when a G runs here that is asked to give
 * way, and may.  It then calls runtime_preempt(), which returns when the G runs again, perhaps on
 * another M.  Or the handler sets weft_tls.need_resched, and the G gives way at its next call of
 * runtime_resched().
 */
enum { SIGWEFT = 32 };

bool runtime_preempt_asked(void);
bool runtime_preempt_forced(void); /* it has been asked for so long that libc's locks no longer count */
void runtime_preempt(void);
void runtime_resched(void);

/*
 * A G whose P was taken while it was blocked unseen (blocked.c), and which computes since, is
 * signalled.  The handler asks first thing, wherever it is; when told so and the G may be switched
 * away where it was interrupted, it calls runtime_reacquirep, which returns when the G owns a P, perhaps on
 * another M.
 */
bool runtime_reacquirep_asked(void);
bool runtime_reacquirep_forced(void); /* it has been asked for so long that libc's locks no longer count */
void runtime_reacquirep(void);

/*
 * sigstack.c.  In a handler on the signal stack of an M, which must not switch: memory of
 * sidestack_size() bytes for the calling G to go on in, NULL: none; its lowest word is not the
 * caller's.  The G gives it back, wherever it runs by then, and may use it until its next sigreturn,
 * if nothing may come in between (sigframe_leave()).
 */
size_t sidestack_size(void);
void *sidestack_take(void);
void sidestack_give(void *side);

/* Notes where the calling G was interrupted, for dumps while it does not run.  0: it goes on. */
void g_interruptedat(uintptr_t pc, uintptr_t sp);

/*
 * On a G, where the kernel has this alternate stack: should that not be the M's signal stack, it is
 * told.  M0's is told by this alone, once all handlers know what to do there.
 */
void runtime_sigstack(const void *has);
bool runtime_on_sigstack(uintptr_t sp); /* sp is on that of the calling M */

void runtime_yieldhere(void);

/*
 * Called at every interposed entry: gives way if the G was asked to at a moment when it could not;
 * with chaos, perhaps yields.
 */
static inline void runtime_checkyield(void)
{
	if (unlikely(weft_tls.need_resched || weft_opt.chaos))
		runtime_yieldhere();
}

#endif
