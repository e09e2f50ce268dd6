/*
 * cancel: pthread_cancel, and system calls as cancellation points.
 *
 * A request is a bit in glibc's own word of the target's thread block, so pthread_testcancel,
 * setcancelstate and libc's own cancellation points keep working unchanged.  What remains is to
 * make the target look:
 *   parked at a cancellation point        g_interrupt(): lot_park returns -EINTR, the wrapper tests
 *   about to park there                   the same: g->interrupted is set, and enqueue() refuses with -EINTR
 *   about to make the call                the stub tests before the instruction (cp_begin)
 *   in our system call stub               signal 32 to its M; the handler moves the PC to the stub's way out
 *   asynchronous and running              signal 32; the handler tests on the spot
 * Signal 32 is libc's own number for this: a program can neither see nor block it.  Its handler is
 * in sig32.c.
 *
 * The stub (runtime/arch/callstub.h) makes the decision atomic, as POSIX wants it.
 */
#include "shim/signal/sig32.h"
#include "shim/thread/schedparam.h"
#include "shim/signal/sigroute.h"
#include "shim/signal/waitmask.h"

#include <stddef.h>

_Static_assert(offsetof(struct thread, stop) == 0, "the stub reads it there");

void cancel_act(void)
{
	/*
	 * Until libc itself notes that the thread is ending, another signal must not begin this
	 * again.
	 */
	self_thread.cancelling = true;
	unwind_ready();
	pthread_testcancel();
}

void testcancel(void)
{
	struct thread *th = &self_thread;

	if (!on_g()) {
		pthread_testcancel();
		return;
	}
	if (unlikely(load_relaxed(&th->schedparam_pending)))
		schedparam_apply();
	if (unlikely(load_relaxed(mailbox(th)) || th->held))
		signals_deliver();
	if (unlikely(tcb_cancel_pending(tcb_self()))) {
		syscall_reset();
		cancel_act();
	}
}

void thread_look_slow(void)
{
	store_seqcst(&self_thread.look, false);
	schedparam_apply();
	signals_deliver();
	if (tcb_cancel_async(tcb_self()) && tcb_cancel_pending(tcb_self())) {
		syscall_reset();
		cancel_act();
	}
}

/* Inlined: the seven words of a system call are not handed on. */
static inline __attribute__((always_inline)) long
entered_cp(long nr, long a, long b, long c, long d, long e, long f)
{
	struct tcb *t = tcb_self();
	long r;

	r = syscall_cp(tcb_cancelhandling(t), tcb_cancel_acts(t) ? tcb_cancel_request_bits : 0,
		       nr, a, b, c, d, e, f);
	exitsyscall();
	if (unlikely(r == -ECANCELED || r == -EINTR))
		testcancel();
	return r == -ECANCELED ? -EINTR : r;
}

static inline __attribute__((always_inline)) long
call_cp(void (*enter)(void), long nr, long a, long b, long c, long d, long e, long f)
{
	runtime_checkyield();
	testcancel_inline();
	enter();
	return entered_cp(nr, a, b, c, d, e, f);
}

long block_cp(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_cp(entersyscall, nr, a, b, c, d, e, f);
}

long await_cp(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_cp(entersyscallblock, nr, a, b, c, d, e, f);
}

long await_entered(long nr, long a, long b, long c, long d, long e, long f)
{
	return entered_cp(nr, a, b, c, d, e, f);
}

static inline __attribute__((always_inline)) long
call_nocp(void (*enter)(void), long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	enter();
	r = syscall_nocp(nr, a, b, c, d, e, f);
	exitsyscall();
	return r;
}

long block_nocp(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_nocp(entersyscall, nr, a, b, c, d, e, f);
}

long await_nocp(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_nocp(entersyscallblock, nr, a, b, c, d, e, f);
}

EXPORT int pthread_cancel(pthread_t t)
{
	struct thread *th = thread_of(t);
	int ostid;

	if (!weft_on || !th->g)
		return real.pthread_cancel(t);
	if (load_seqcst(&th->state) & TH_EXITED)
		return 0;
	unwind_ready(); /* where libc acts on it, no caller can do that first */
	/* seq_cst with look: the thread clears that one, then reads this word */
	fetch_or_seqcst(tcb_cancelhandling((struct tcb *)t), tcb_cancel_request_bits);
	store_seqcst(&th->look, true);
	if (t == (pthread_t)tcb_self()) {
		if (tcb_cancel_async((struct tcb *)t))
			cancel_act();
		return 0;
	}
	if (!tcb_cancel_enabled((struct tcb *)t))
		return 0;
	if (g_interrupt(th->g))
		return 0;
	/*
	 * Running, or about to be in a system call: its M must look.  A miss is harmless: the stub
	 * and every park test the word themselves.
	 */
	ostid = g_m(th->g).ostid;
	if (ostid)
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), ostid, SIGWEFT);
	if (tcb_cancel_async((struct tcb *)t))
		sigroute_watch(); /* nothing it calls need ever look */
	return 0;
}

bool cancel_may_wake(unsigned reason, const struct g *gp)
{
	const struct tcb *t = g_tls(gp);

	return reason == WaitJoin ? tcb_cancel_enabled(t) : tcb_cancel_async(t);
}
