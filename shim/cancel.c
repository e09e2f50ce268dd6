/*
 * cancel: pthread_cancel, and system calls as cancellation points.
 *
 * A request is a bit in glibc's own word of the target's thread block, so pthread_testcancel,
 * setcancelstate and libc's own cancellation points keep working unchanged.  What remains is to
 * make the target look:
 *   parked at a cancellation point        g_interrupt(): lot_park returns -EINTR, the wrapper tests
 *   in our system call stub               signal 32 to its M; the handler moves the PC to the stub's way out
 *   asynchronous and running              signal 32; the handler tests on the spot
 * Signal 32 is libc's own number for this: a program can neither see nor block it.  sysmon's
 * requests to give way (preempt.c) come by the same signal; the handler serves them first.
 *
 * The stub makes the decision atomic, as POSIX wants it: a signal that arrives at an instruction
 * between cp_begin and cp_end arrives before the call has had any effect.
 */
#include "shim/preempt.h"
#include "shim/sched.h"
#include "shim/sigroute.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

enum { SIGCANCEL_ = 32, NEST_ROOM = 9 * 1024 };

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/*
 * long syscall_cp(const int *cancelhandling, int bits, nr, a, b, c, [stack: d, e, f]) Returns
 * -ECANCELED without a system call if (*cancelhandling & bits) at the last instant, -EINTR if a
 * handler has run that ends the call (callmask.h).
 */
long syscall_cp(const int *word, long bits, long nr, long a, long b, long c, long d, long e,
		long f) hidden;
extern const char cp_begin[] hidden, cp_end[] hidden, cp_cancel[] hidden;

/*
 * The same for a call that is no cancellation point: a handler without SA_RESTART ends it, nothing
 * else.
 */
long syscall_nocp(long nr, long a, long b, long c, long d, long e, long f) hidden;
extern const char nocp_begin[] hidden, nocp_end[] hidden;

__asm__(".pushsection .text\n"
	".globl syscall_cp\n.hidden syscall_cp\n.type syscall_cp, @function\n"
	"syscall_cp:\n"
	".cfi_startproc\n"
	"	mov %rdx, %rax\n"
	"	mov %rdi, %r11\n"
	"	mov %rcx, %rdi\n"      /* a */
	"	mov %rsi, %rcx\n"      /* bits */
	"	mov %r8, %rsi\n"       /* b */
	"	mov %r9, %rdx\n"       /* c */
	"	mov 8(%rsp), %r10\n"   /* d */
	"	mov 16(%rsp), %r8\n"   /* e */
	"	mov 24(%rsp), %r9\n"   /* f */
	".globl cp_begin\n.hidden cp_begin\ncp_begin:\n"
	"	test %ecx, (%r11)\n"
	"	jnz cp_cancel\n"
	"	mov self_thread@gottpoff(%rip), %rcx\n"
	"	cmpb $0, %fs:(%rcx)\n" /* self_thread.stop */
	"	jne cp_stop\n"
	"	syscall\n"
	".globl cp_end\n.hidden cp_end\ncp_end:\n"
	"	ret\n"
	".globl cp_cancel\n.hidden cp_cancel\ncp_cancel:\n"
	"	mov $-125, %rax\n"     /* -ECANCELED */
	"	ret\n"
	"cp_stop:\n"
	"	mov $-4, %rax\n"       /* -EINTR */
	"	ret\n"
	".cfi_endproc\n"
	".size syscall_cp, . - syscall_cp\n"
	".globl syscall_nocp\n.hidden syscall_nocp\n.type syscall_nocp, @function\n"
	"syscall_nocp:\n"
	".cfi_startproc\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"     /* a */
	"	mov %rdx, %rsi\n"     /* b */
	"	mov %rcx, %rdx\n"     /* c */
	"	mov %r8, %r10\n"      /* d */
	"	mov %r9, %r8\n"       /* e */
	"	mov 8(%rsp), %r9\n"   /* f */
	".globl nocp_begin\n.hidden nocp_begin\nnocp_begin:\n"
	"	syscall\n"
	".globl nocp_end\n.hidden nocp_end\nnocp_end:\n"
	"	ret\n"
	".cfi_endproc\n"
	".size syscall_nocp, . - syscall_nocp\n"
	".popsection\n");

_Static_assert(offsetof(struct thread, stop) == 0, "the stub reads it there");

/*
 * A system call of libc's own (stdio, pclose) that the kernel is about to begin again, or that has
 * not begun: of these a handler without SA_RESTART ends one with EINTR, and nobody who calls them
 * takes that amiss.
 */
static bool libc_call(const ucontext_t *uc)
{
	const unsigned char *pc = (const unsigned char *)uc->uc_mcontext.gregs[REG_RIP];

	if (pc[0] != 0x0f || pc[1] != 0x05 || preempt_may(pc))
		return false;
	switch (uc->uc_mcontext.gregs[REG_RAX]) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_wait4:
	case SYS_waitid:
		return true;
	}
	return false;
}

static bool between(uintptr_t pc, const char *begin, const char *end)
{
	return pc >= (uintptr_t)begin && pc < (uintptr_t)end;
}

/*
 * Runs what is queued on this G; true: the system call it is about to make, or is in, must end now.
 */
static bool take_signals(const ucontext_t *uc)
{
	struct thread *th = &self_thread;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	bool stub = between(pc, cp_begin, cp_end) || between(pc, nocp_begin, nocp_end), ends;
	int saved = errno;

	ends = signals_deliver();
	errno = saved;
	if (stub)
		return ends || th->stop || (th->held && th->waitset);
	return ends && libc_call(uc);
}

/* A cancellation that is due. */
static void act(void)
{
	/*
	 * Until libc itself notes that the thread is ending, another signal must not begin this
	 * again.
	 */
	self_thread.cancelling = true;
	unwind_ready();
	pthread_testcancel();
}

/*
 * The signal is deferred while its handler runs: several may be pending, and the kernel would stack
 * a frame for each on what may be the smallest stack there is.  But an M that its G leaves inside
 * the handler must go on with the signal let in.
 *
 * The kernel queues each one that was sent, and an M that waited for its CPU has one for each
 * millisecond somebody kicked it.  They all say the same, look; the handler that runs is about to,
 * so they are taken out first.
 */
static void let_in(void)
{
	uint64_t us = SIGBIT(SIGCANCEL_);
	struct timespec zero = {0, 0};
	bool more = false;

	while (direct4(SYS_rt_sigtimedwait, &us, NULL, &zero, sizeof(us)) == SIGCANCEL_)
		more = true;
	if (more)
		runtime_signalled(); /* it may have been the one that sysmon waits to see received */
	direct4(SYS_rt_sigprocmask, SIG_UNBLOCK, &us, NULL, sizeof(us));
}

static void handler(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	struct tcb *t = tcb_self();
	bool preempt, ends, cramped;

	(void)sig;
	(void)si;
	if (on_g() && !runtime_busy())
		g_notekernel(sigs_of(&uc->uc_sigmask), altstack_of(uc));
	/* Before anything that pins: who has no P gets one then. */
	if (runtime_rejoin_asked()) {
		if (!preempt_may_move(uc, runtime_rejoin_forced()))
			return; /* sysmon asks again */
		let_in();
		runtime_rejoin();
	}
	preempt = runtime_signalled();
	if (!on_g() || signals_busy())
		return; /* whoever kicked, kicks again or is seen at the next look */
	if (sigalone_rings())
		sigalone_take();
	if (preempt) {
		let_in();
		preempt_here(uc);
	}
	if (atomic_load_explicit(&self_thread.sched_pending, memory_order_relaxed)) {
		let_in();
		sched_apply_here();
	}
	/*
	 * A handler runs already, on a stack that might be too small for another of ours and of the
	 * kernel's, which come on top of those that the program reckons with: when that has returned.
	 */
	cramped = unlikely(g_stackleft() < NEST_ROOM) && (in_handler() || before_handler(pc));
	ends = !cramped && take_signals(uc);
	atomic_store(&self_thread.kicked, false);
	/* Again, should one have come that was not kicked for any more. */
	if (unlikely(atomic_load(mailbox(&self_thread)) != NULL) && !cramped)
		ends |= take_signals(uc);
	if (ends) {
		/*
		 * The call is over before it began, or is not begun again: on behind its
		 * instruction.
		 */
		uc->uc_mcontext.gregs[REG_RIP] =
			(greg_t)(between(pc, cp_begin, cp_end)	     ? (uintptr_t)cp_end
				 : between(pc, nocp_begin, nocp_end) ? (uintptr_t)nocp_end
								     : pc + 2);
		uc->uc_mcontext.gregs[REG_RAX] = -EINTR;
	}
	if (!tcb_cancel_pending(t))
		return;
	if (between(pc, cp_begin, cp_end)) {
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)cp_cancel;
		return;
	}
	if (tcb_cancel_async(t) && !self_thread.cancelling) {
		/*
		 * Before more of these are let in: each would stack a frame and come this far
		 * again.
		 */
		self_thread.cancelling = true;
		/*
		 * No sigreturn will give this kernel thread, which goes on to run others, its mask
		 * back.
		 */
		direct4(SYS_rt_sigprocmask, SIG_SETMASK, &uc->uc_sigmask, NULL, 8);
		act(); /* does not return: unwinds through this frame */
	}
}

void cancel_init(void)
{
	struct kernel_sigaction sa = { 0 };

	/* libc's restorer: unwinders recognise its bytes as a signal frame. */
	if (direct4(SYS_rt_sigaction, 33, 0, &sa, 8) || !sa.restorer)
		return;
	sa.handler = handler;
	sa.flags = SA_SIGINFO | SA_RESTART | 0x04000000; /* SA_RESTORER */
	sa.mask = 0;
	direct4(SYS_rt_sigaction, SIGCANCEL_, &sa, 0, 8);
}

void testcancel(void)
{
	struct thread *th = &self_thread;

	if (!on_g()) {
		pthread_testcancel();
		return;
	}
	/* What nearly every call finds, asked in line: nothing. */
	if (unlikely(atomic_load_explicit(&th->sched_pending, memory_order_relaxed)))
		sched_apply();
	if (unlikely(atomic_load_explicit(mailbox(th), memory_order_relaxed) || th->held))
		signals_deliver();
	if (unlikely(tcb_cancel_pending(tcb_self()))) {
		syscall_reset();
		act();
	}
}

void thread_look_slow(void)
{
	atomic_store(&self_thread.look, false);
	sched_apply();
	signals_deliver();
	if (tcb_cancel_async(tcb_self()) && tcb_cancel_pending(tcb_self())) {
		syscall_reset();
		act();
	}
}

/* Inlined: the seven words of a system call are not handed on. */
static inline __attribute__((always_inline)) long
call_cp(void (*enter)(void), long nr, long a, long b, long c, long d, long e, long f)
{
	struct tcb *t = tcb_self();
	long r;

	runtime_checkyield();
	testcancel();
	enter();
	r = syscall_cp(tcb_cancelhandling(t), tcb_cancel_enabled(t) ? tcb_cancel_request_bits : 0,
		       nr, a, b, c, d, e, f);
	exitsyscall();
	if (unlikely(r == -ECANCELED || r == -EINTR))
		testcancel();
	return r == -ECANCELED ? -EINTR : r;
}

long block_cp(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_cp(entersyscall, nr, a, b, c, d, e, f);
}

long await_cp(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_cp(entersyscallblock, nr, a, b, c, d, e, f);
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
	if (atomic_load(&th->state) & TH_EXITED)
		return 0;
	__atomic_fetch_or(tcb_cancelhandling((struct tcb *)t), tcb_cancel_request_bits,
			  __ATOMIC_SEQ_CST);
	atomic_store(&th->look, true);
	if (t == (pthread_t)tcb_self()) {
		if (tcb_cancel_async((struct tcb *)t))
			act();
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
	ostid = g_ostid(th->g);
	if (ostid)
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), ostid, SIGCANCEL_);
	if (tcb_cancel_async((struct tcb *)t))
		sigroute_watch(); /* nothing it calls need ever look */
	return 0;
}
