/*
 * strict: SECCOMP_MODE_STRICT, in which a thread may read, write, end and return from a handler, and nothing else.
 *
 * For all else the kernel ends the kernel thread, so from then on no call of weft's may be made on it: the
 * caller gives its P away for good, and is a thread that weft does not schedule (getg() is NULL).  What the
 * program calls is libc's own.  Its kernel thread is its own, and is never used again.
 *
 *	its end		is the kernel's, by exit(2) or for a call that it may not make.  The kernel clears
 *			strict_tid then; joiners wait for that in the kernel
 *	signals		of weft's own are kept out (the last mask it has).  The program's come from the kernel,
 *			and trampoline() runs the handler where it is
 *	main, alone	weft's kernel threads end first: the process then ends with that thread, and its status
 *
 * Its G and its stack are never used again either: nothing tells when the kernel has left them for sure.
 *
 * Must never: make a system call on such a thread; lock what it may hold for good.
 */
#include "shim/syscall/seccomp.h"

#include <linux/futex.h>
#include <linux/seccomp.h>

#include "runtime/process.h"
#include "shim/process/single.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/thread/thread.h"
#include "shim/thread/tid.h"

/* ---- begins ---------------------------------------------------------------------------------- */

/* Joiners that are parked wait in the kernel from now on; or again in the lot. */
static void tell_joiners(struct thread *th, bool strict)
{
	store_seqcst(&th->strict, strict);
	if (strict)
		lot_wake(&th->state, 1, 0, READY_TAIL, NULL, NULL);
	else
		direct3(SYS_futex, &th->strict_tid, FUTEX_WAKE, 1);
}

static uint64_t set_mask(uint64_t mask)
{
	uint64_t was = 0;

	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &was, sizeof(was));
	return was;
}

/*
 * No G from the first store of weft_tls on, until it is the G's again.  alone: no other kernel thread is there
 * that could take the P, and none is to be made for it.
 */
static __attribute__((noinline)) long leave_weft(const struct call *x, bool alone)
{
	struct weft_tls ours;
	uint64_t was;
	long r;

	if (alone)
		entersyscall();
	else
		entersyscallblock();
	was = set_mask(~UINT64_C(0));
	ours = weft_tls;
	weft_tls = (struct weft_tls){ .strict = true, .tid = ours.tid };
	direct3(SYS_set_tid_address, &self_thread.strict_tid, 0, 0);
	set_mask(was | SIGBIT(SIGWEFT));
	r = call_plain(x);
	if (r == 0)
		return 0;
	set_mask(~UINT64_C(0));
	weft_tls = ours;
	set_mask(was);
	exitsyscall();
	return r;
}

static bool mode_is_set(void)
{
	return direct3(SYS_prctl, PR_GET_SECCOMP, 0, 0) != 0;
}

bool strict_asked(const struct call *x)
{
	if (x->nr == SYS_prctl)
		return (int)x->a == PR_SET_SECCOMP && x->b == SECCOMP_MODE_STRICT;
	return x->nr == SYS_seccomp && (unsigned)x->a == SECCOMP_SET_MODE_STRICT && !x->b && !x->c;
}

long strict_enter(const struct call *x)
{
	struct thread *th = &self_thread;
	bool owned = th->owns_os, alone;
	long r;

	if (mode_is_set())
		return call_plain(x); /* the kernel's error */
	signals_deliver();
	threadstate_own(false);
	alone = single_become();
	store_relaxed(&th->strict_os, (int)direct3(SYS_gettid, 0, 0, 0));
	store_release(&th->strict_tid, 1);
	tell_joiners(th, true);
	r = leave_weft(x, alone);
	if (r == 0)
		return 0;
	store_release(&th->strict_tid, 0);
	tell_joiners(th, false);
	if (!owned)
		threadstate_disown();
	return r;
}

/* ---- ends ------------------------------------------------------------------------------------ */

bool strict_has_ended(struct thread *th)
{
	if (!load_seqcst(&th->strict) || load_acquire(&th->strict_tid))
		return false;
	if (!load_seqcst(&th->strict)) /* it was refused */
		return false;
	th->result = NULL;
	fetch_or_seqcst(&th->state, TH_EXITED);
	return true;
}

int strict_await(struct thread *th, const struct until *u)
{
	int op = FUTEX_WAIT_BITSET | (u && u->clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
	long r = 0;

	while (load_seqcst(&th->strict) && !strict_has_ended(th) && r != -ETIMEDOUT)
		r = await6(SYS_futex, &th->strict_tid, op, 1, u ? u->abs : NULL, 0, FUTEX_BITSET_MATCH_ANY);
	return r == -ETIMEDOUT ? ETIMEDOUT : 0;
}

int strict_kill(struct thread *th, int sig)
{
	long r = direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), load_relaxed(&th->strict_os), sig);

	return r == -EINVAL ? EINVAL : 0; /* one that has ended ignores it */
}

/* The thread's function has returned, or pthread_exit() has: libc would unmap, or wake. */
void strict_end(void)
{
	for (;;)
		direct3(SYS_getpid, 0, 0, 0);
}
