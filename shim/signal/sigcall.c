/*
 * sigcall: a system call that a signal has interrupted: does it end, go on, or begin again?
 *
 * Must never: touch anything but the frame.
 */
#include "shim/signal/sig32.h"

#include "shim/signal/handlerframe.h"
#include "shim/signal/safepoint.h"

#include <linux/futex.h>

/*
 * A system call of libc's own (stdio, pclose, a shared semaphore, aio_suspend) that the kernel is about
 * to begin again, or that has not begun.  A handler without SA_RESTART ends these calls with EINTR,
 * which their callers accept.  Of futex these are the waits: the kernel never ends a FUTEX_LOCK_PI so.
 */
static bool libc_call(const struct sigframe *f)
{
	const void *pc = (const void *)sigframe_pc(f);
	long op = mcontext_call_arg(&f->uc.mc, 1) & FUTEX_CMD_MASK;

	if (safepoint_at_caller(pc) || !insn_is_syscall(pc))
		return false;
	switch (mcontext_call_nr(&f->uc.mc)) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_wait4:
	case SYS_waitid:
		return true;
	case SYS_futex:
		return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
	}
	return false;
}

/* Where a system call goes on that is over before it began, or is not begun again; 0: it is none. */
uintptr_t call_end(const struct sigframe *f)
{
	uintptr_t pc = sigframe_pc(f);

	return stub_of(pc, cp_begin, cp_end)	   ? (uintptr_t)cp_end
	       : stub_of(pc, nocp_begin, nocp_end) ? (uintptr_t)nocp_end
	       : libc_call(f)			   ? pc + INSN_SYSCALL
						   : 0;
}

bool call_in_stub(const struct sigframe *f)
{
	uintptr_t pc = sigframe_pc(f);

	return stub_of(pc, cp_begin, cp_end) || stub_of(pc, nocp_begin, nocp_end);
}

void call_over(struct sigframe *f, uintptr_t end)
{
	mcontext_set_pc(&f->uc.mc, end);
	mcontext_set_call_result(&f->uc.mc, -EINTR);
	mcontext_call_over(&f->uc.mc); /* for good: see call_again() */
}

/*
 * Calls that wait for a time that the kernel counts from their beginning, or whose caller finds out
 * itself for which thread the signal was: those end.
 */
static bool timed(const struct sigframe *f, long nr)
{
	switch (nr) {
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_pause:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_io_getevents:
	case SYS_recvmmsg:
		return true;
	case SYS_poll:
		return (int)mcontext_call_arg(&f->uc.mc, 2) > 0;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)mcontext_call_arg(&f->uc.mc, 3) > 0;
	case SYS_semtimedop:
	case SYS_futex:
		return mcontext_call_arg(&f->uc.mc, 3) != 0;
	}
	return false;
}

/*
 * The kernel has ended a call of the stub's for a signal that is another thread's: it begins again.
 * Its number is where the stub left it.  Not a call that a handler has ended (call_over(),
 * call_ended()).
 */
void call_again(struct sigframe *f)
{
	mcontext_t *mc = &f->uc.mc;
	uintptr_t pc = mcontext_pc(mc);
	long nr;

	if ((pc != (uintptr_t)cp_end && pc != (uintptr_t)nocp_end) ||
	    mcontext_call_result(mc) != -EINTR || !mcontext_call_made(mc, pc))
		return;
	nr = mcontext_stub_nr(mc);
	if (!timed(f, nr))
		mcontext_call_again(mc, nr);
}

/* A handler of the program's has run, which ends a call: also one that was to begin again. */
void call_ended(struct sigframe *f, bool restarts)
{
	mcontext_t *mc = &f->uc.mc;
	uintptr_t pc = mcontext_pc(mc), end = call_end(f);

	if (pc == (uintptr_t)cp_end || pc == (uintptr_t)nocp_end)
		mcontext_call_over(mc);
	else if (end && call_in_stub(f) && !restarts && pc == end - INSN_SYSCALL &&
		 mcontext_call_made(mc, end))
		call_over(f, end);
}
