/*
 * bridge: where libc's own system calls look for a cancellation.
 *
 * libc's functions block inside libc (stdio, system, fopen of a named pipe).  Up to 2.40 each such
 * call sets asynchronous cancellation around itself, a bit of the thread block, which is all that
 * our signal's handler has to know.  Since 2.41 they go through one function, and libc's handler
 * compares the interrupted PC with its bounds: from its first instruction to the system call the
 * call has had no effect.  Where that lies is no public symbol.
 *
 * It is measured: a donor sleeps in libc's pause(), and libc's signal 32 is sent to it, with a
 * handler of ours, until it comes back.  Where the handler ended a system call, before the donor was
 * through, is the end; the return address there follows a call of the function, whose target is the
 * start.  If the handler finds the thread asynchronous there, this libc needs no bounds.
 *
 * One signal more may be on its way when the donor is through.  To ignore the signal makes the kernel drop
 * what is pending: by default it ends the process.
 *
 * The caller that returns -EINTR from there acts on the cancellation in libc: the same code that
 * sees a signal end the call.
 *
 * Must never: send the signal to any other thread; leave the handler behind.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compat/donor.h"
#include "compat/tcb.h"
#include "runtime/base/atomic.h"

#include "runtime/arch/mcontext.h"

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

enum { SIGCANCEL = 32, NEAR = 128, WAIT_LEAST_NS = 10000, WAIT_MOST_NS = 200000 };

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* What the handler saw; the donor's, read by the sender after its step. */
static struct {
	struct donor *donor; /* (c) and its step: it is not yet through while ready is below that */
	uint32_t step;
	uintptr_t pc, back;
	bool async;
} seen;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	const mcontext_t *mc = &((ucontext_t *)ctx)->uc_mcontext;
	uintptr_t pc = mcontext_pc(mc);

	(void)sig;
	(void)si;
	if (load_relaxed(&seen.donor->ready) >= seen.step ||
	    mcontext_call_result(mc) != -EINTR || !insn_is_syscall((const char *)pc - INSN_SYSCALL))
		return; /* before the sleep, or after it */
	seen.pc = pc;
	seen.back = mcontext_return_address(mc);
	seen.async = tcb_cancel_async(arch_getfs());
}

void bridge_pause(void)
{
	libc.pause();
}

/* The bounds from what was seen. */
static const char *find(void)
{
	uintptr_t start;

	if (seen.async)
		return NULL;
	start = seen.pc ? insn_call_target((const char *)seen.back - INSN_CALL_DIRECT, seen.back) : 0;
	if (!start)
		return "cancellation of libc's own calls not found";
	if (seen.pc - start > NEAR)
		return "cancellation of libc's own calls is out of order";
	layout.bridge = start;
	layout.bridge_end = seen.pc;
	return NULL;
}

const char *bridge_probe(struct donor *d, uint32_t step)
{
	struct kernel_sigaction ours = {handler, 4 | 0x04000000 /* SA_SIGINFO, SA_RESTORER */,
					arch_restorer, ~UINT64_C(0)}, old,
			       ignore = {(void *)SIG_IGN, 0, NULL, 0};
	struct sys_patience patience = sys_patience(UINT64_C(10000000000));
	uint64_t wait = WAIT_LEAST_NS;
	long r;

	seen.donor = d;
	seen.step = step;
	if (sys_4(SYS_rt_sigaction, SIGCANCEL, &ours, &old, 8))
		return "self-test: signal 32 is refused";
	/*
	 * A real-time signal counts among what a user may have queued.  Before the donor sleeps: nothing
	 * else would end its sleep.
	 */
	r = sys_3(SYS_tgkill, sys_getpid(), d->ostid, SIGCANCEL);
	if (r == -EAGAIN) {
		sys_4(SYS_rt_sigaction, SIGCANCEL, &old, NULL, 8);
		return "self-test: no more signals may be queued (ulimit -i)";
	}
	donor_send(d, DONOR_PAUSE);
	/* It may arrive before the sleep has begun: again, and soon.  Pairs with the donor's step. */
	while (load_acquire(&d->ready) < step && sys_patient(&patience)) {
		sys_3(SYS_tgkill, sys_getpid(), d->ostid, SIGCANCEL);
		sys_futex_wait(&d->ready, step - 1, wait);
		wait = wait < WAIT_MOST_NS ? 2 * wait : wait;
	}
	sys_4(SYS_rt_sigaction, SIGCANCEL, &ignore, NULL, 8);
	sys_4(SYS_rt_sigaction, SIGCANCEL, &old, NULL, 8);
	return donor_await(d, step) ? find() : DONOR_HANGS;
}

uintptr_t tcb_cancel_bridge(uintptr_t pc)
{
	return pc - layout.bridge < layout.bridge_end - layout.bridge ? layout.bridge_end : 0;
}
