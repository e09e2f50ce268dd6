/*
 * safepoint: where a G may be switched away by a signal: see safepoint.c.
 */
#ifndef WEFT_SHIM_SAFEPOINT_H
#define WEFT_SHIM_SAFEPOINT_H

#include "shim/shim.h"

void safepoint_init(void) hidden;
/*
 * The G may go on elsewhere.  False: not at this PC, libc may rely on its kernel thread (raise);
 * the handler must then touch nothing of the runtime that pins.
 */
bool safepoint_at_pc(uintptr_t pc, bool forced) hidden;

/* The caller is not libc or the loader, which may hold another lock while they call us. */
bool safepoint_at_caller(const void *caller) hidden;
/*
 * Functions that libc calls: while the PC is in one of them, libc counts as interrupted.  They stay
 * in the order of the file; a compiler that lacks the attribute never changes it.
 */
#if __has_attribute(no_reorder)
#define IN_ORDER no_reorder
#else
#define IN_ORDER
#endif
#define CALLED_BY_LIBC __attribute__((section(".text.called_by_libc"), IN_ORDER))
void called_begin(void) hidden; /* malloc.c's first and last */
void called_end(void) hidden;

/*
 * Around a call of libc that takes a lock of libc's.  A waiter for such a lock blocks a kernel
 * thread and its P, so the holder must not be switched away.  On a G only.
 */
static inline __attribute__((always_inline)) void libc_enter(void)
{
	weft_tls.depth++;
	fence_compiler();
}

static inline __attribute__((always_inline)) void libc_leave(void)
{
	bool resched = unlikely(weft_tls.need_resched) && safepoint_at_caller(__builtin_return_address(0));

	fence_compiler();
	weft_tls.depth--;
	if (unlikely(resched && !weft_tls.depth))
		runtime_yieldhere();
}

#endif
