/*
 * altstack: sigaltstack(2).
 *
 * The alternate stack that the kernel knows on an M is weft's (sigstack.c of the runtime).  The
 * program's is a note in the G's own memory, and handlerframe.c puts the frames of handlers there as the
 * kernel would.  Whether a thread is on it is asked of the stack pointer, never remembered: a handler
 * may be left by a jump.
 *
 * Native threads have what the kernel has.
 */
#include "shim/signal/altstack.h"
#include "shim/syscall/usermem.h"

#include <string.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
enum { LEAST = 2048 }; /* MINSIGSTKSZ of the kernel: it has no part in what CPUs need */

bool altstack_on(const stack_t *ss, uintptr_t sp)
{
	return !((unsigned)ss->ss_flags & SS_AUTODISARM) && altstack_spans(ss, sp);
}

void altstack_set(const stack_t *ss)
{
	pin_m(); /* three words: a handler must find all of them old or new */
	self_thread.altstack = *ss;
	unpin();
}

long altstack_call(const stack_t *ss, stack_t *old, uintptr_t sp)
{
	stack_t want, was = self_thread.altstack;
	unsigned mode;

	if (ss) {
		want = *ss; /* old may be the same object */
		mode = (unsigned)want.ss_flags & ~SS_AUTODISARM;
		if (altstack_on(&was, sp))
			return -EPERM;
		if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0)
			return -EINVAL;
		if (mode == SS_DISABLE) {
			want.ss_sp = NULL;
			want.ss_size = 0;
		} else if (want.ss_size < LEAST) {
			return -ENOMEM;
		}
		altstack_set(&want);
	}
	if (old) {
		memset(old, 0, sizeof(*old));
		old->ss_sp = was.ss_sp;
		old->ss_size = was.ss_size;
		old->ss_flags = !was.ss_size ? SS_DISABLE : altstack_on(&was, sp) ? SS_ONSTACK : 0;
		old->ss_flags |= (int)((unsigned)was.ss_flags & SS_AUTODISARM);
	}
	return 0;
}

long altstack_asked(const stack_t *ss, stack_t *old, uintptr_t sp)
{
	stack_t want, was;
	long r;

	if (ss && !user_read(&want, ss, sizeof(want)))
		return -EFAULT;
	r = altstack_call(ss ? &want : NULL, old ? &was : NULL, sp);
	return r == 0 && old && !user_write(old, &was, sizeof(was)) ? -EFAULT : r;
}

void altstack_adopt(void)
{
	stack_t was;

	if (real.sigaltstack(NULL, &was))
		return;
	if (was.ss_flags & SS_DISABLE)
		was.ss_size = 0;
	was.ss_flags &= (int)SS_AUTODISARM;
	altstack_set(&was);
}

void altstack_release(void)
{
	stack_t ss = self_thread.altstack;

	if (!self_thread.g)
		return; /* what a native thread has is the kernel's already */
	if (!ss.ss_size)
		ss.ss_flags = SS_DISABLE;
	real.sigaltstack(&ss, NULL);
}

EXPORT int sigaltstack(const stack_t *ss, stack_t *old)
{
	if (!on_g())
		return real.sigaltstack(ss, old);
	return (int)syscall_ret(altstack_asked(ss, old, (uintptr_t)__builtin_frame_address(0)));
}

/* As libc: the caller cannot say how large the stack is, so its size is a guess that is far off. */
EXPORT int sigstack(struct sigstack *ss, struct sigstack *old)
{
	stack_t want, was;

	if (ss)
		want = (stack_t){.ss_sp = ss->ss_sp, .ss_size = (size_t)ss->ss_sp,
				 .ss_flags = ss->ss_onstack ? SS_ONSTACK : 0};
	if (sigaltstack(ss ? &want : NULL, old ? &was : NULL))
		return -1;
	if (old)
		*old = (struct sigstack){was.ss_sp, !!(was.ss_flags & SS_ONSTACK)};
	return 0;
}
