/*
 * sigcall: a system call that a signal has interrupted: does it end, go on, or begin again?
 *
 * Must never: touch anything but the frame.
 */
#include "shim/signal/sig32.h"

#include "shim/signal/handlerframe.h"
#include "shim/signal/safepoint.h"
#include "shim/syscall/usermem.h"

#include <fcntl.h>
#include <linux/futex.h>

/*
 * A system call of libc's own (stdio, pclose, a shared semaphore, aio_suspend) that the kernel is about
 * to begin again, or that has not begun.  A handler without SA_RESTART ends these calls with EINTR,
 * which their callers accept.  Of futex these are the waits: the kernel never ends a FUTEX_LOCK_PI so.
 * An open (fopen() of a FIFO), or a lock, that has not begun goes on: of a file that does not wait EINTR is no answer.
 */
static bool libc_call(const struct sigframe *f)
{
	const void *pc = (const void *)sigframe_pc(f);
	long cmd = mcontext_call_arg(&f->uc.mc, 1), op = cmd & FUTEX_CMD_MASK;

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
	case SYS_openat:
		return mcontext_call_made(&f->uc.mc, (uintptr_t)pc + INSN_SYSCALL);
	case SYS_fcntl:
		return (cmd == F_SETLKW || cmd == F_OFD_SETLKW) &&
		       mcontext_call_made(&f->uc.mc, (uintptr_t)pc + INSN_SYSCALL);
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

/* ---- a call that the kernel has ended for a signal that is none of the program's for this thread -- */

void call_begins(void)
{
	self_thread.callbegan = nanotime();
}

/* The time in a clock that runs as nanotime() does? */
static bool runs_on(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
}

static bool ms_left(mcontext_t *mc, int arg, uint64_t used)
{
	int64_t ms = (int)mcontext_call_arg(mc, arg), gone = (int64_t)(used / 1000000);

	if (ms > 0)
		mcontext_set_call_arg(mc, arg, ms > gone ? (long)(ms - gone) : 0);
	self_thread.callbegan -= used % 1000000; /* counts at the next interruption */
	return true;
}

static bool spec_left(mcontext_t *mc, int arg, uint64_t used)
{
	struct timespec *left = &self_thread.callleft, was;
	const void *at = (const void *)mcontext_call_arg(mc, arg);

	if (!at)
		return true;
	if (at == left)
		was = *left;
	else if (!user_read(&was, at, sizeof(was)))
		return false;
	was.tv_sec -= (time_t)(used / 1000000000);
	was.tv_nsec -= (long)(used % 1000000000);
	if (was.tv_nsec < 0) {
		was.tv_sec--;
		was.tv_nsec += 1000000000;
	}
	*left = was.tv_sec < 0 ? (struct timespec){ 0, 0 } : was;
	mcontext_set_call_arg(mc, arg, (long)left);
	return true;
}

/* The call will be made again: its time becomes what is left of it.  False: nobody knows. */
static bool rest_of_time(mcontext_t *mc, long nr)
{
	enum { NONE, MS, SPEC } kind = NONE;
	uint64_t now, used;
	int arg = 0;
	long op;

	switch (nr) {
#define TIMED(name, n, how)                                                                                            \
	case SYS_##name:                                                                                               \
		arg = n;                                                                                               \
		kind = how;                                                                                            \
		break;
#include "shim/syscall/timed.def"
#undef TIMED
	}
	if (kind == NONE)
		return true;
	op = mcontext_call_arg(mc, 1);
	if (nr == SYS_futex && (op & FUTEX_CMD_MASK) != FUTEX_WAIT)
		return true; /* the others that wait do so until a time */
	if (nr == SYS_clock_nanosleep && op & TIMER_ABSTIME)
		return true;
	if (nr == SYS_clock_nanosleep && !runs_on((clockid_t)mcontext_call_arg(mc, 0)))
		return false;
	if (!self_thread.callbegan)
		return false;
	now = nanotime();
	used = now - self_thread.callbegan;
	self_thread.callbegan = now;
	return kind == MS ? ms_left(mc, arg, used) : spec_left(mc, arg, used);
}

/*
 * It begins again, as if the kernel had said so (ERESTARTSYS).  Its number is where the stub left it.  Not a
 * call that a handler has ended (call_over(), call_ended()).  A close is over: the number is free.
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
	if (nr != SYS_close && rest_of_time(mc, nr))
		mcontext_call_again(mc, nr);
}

/*
 * Those of libc begin again by themselves, or their callers see to that; those of the stubs by call_again().
 * weft's own count, too: a poll that asks, and does not wait, says EINTR when a signal is there.  So most
 * programs that poll have no alarms.  With them stunnel needed 1.6 times its CPU time: runtime/sched/README.md,
 * "Tried and measured".
 */
bool call_cut(const struct sigframe *f)
{
	const mcontext_t *mc = &f->uc.mc;
	uintptr_t pc = mcontext_pc(mc);

	return mcontext_call_result(mc) == -EINTR && mcontext_call_made(mc, pc) && pc != (uintptr_t)cp_end &&
	       pc != (uintptr_t)nocp_end && safepoint_at_caller((const void *)pc);
}

bool call_ended_once(const struct sigframe *f)
{
	uintptr_t end = call_end(f);

	return call_in_stub(f) && mcontext_call_is_again(&f->uc.mc, end);
}

/* A handler of the program's has run, which ends a call: also one that was to begin again. */
void call_ended(struct sigframe *f, bool restarts)
{
	mcontext_t *mc = &f->uc.mc;
	uintptr_t pc = mcontext_pc(mc), end = call_end(f);

	if (pc == (uintptr_t)cp_end || pc == (uintptr_t)nocp_end)
		mcontext_call_over(mc);
	else if (end && call_in_stub(f) && (!restarts || call_ended_once(f)) && pc == end - INSN_SYSCALL &&
		 mcontext_call_made(mc, end))
		call_over(f, end);
}
