/*
 * handlerframe: the frame that a handler of the program runs on.
 *
 * A signal arrives on the M's signal stack (sigstack.c of the runtime), or its G takes it from its
 * queue.  Either way the handler is called over a frame that lies where the kernel would have put it:
 * at the top of the program's alternate stack, or below the red zone of what was interrupted.  From
 * there on everything is the G's own: the handler may block, change kernel threads, jump out, and
 * sigreturn reads what it made of registers and mask.
 *
 *	arrival				the frame is made of
 *	the kernel's, at a handler	the kernel's frame
 *	signal 32, in the program	the kernel's frame of signal 32, with the queued signal's siginfo
 *	a look at the queue in a call	the registers as of that call
 *
 * uc_stack shows the program's alternate stack, and counts when the handler returns, as in the kernel.
 * What the kernel reads there is an alternate stack that it refuses, so the M keeps its own: the G may
 * have come to another M, and may come to one between any two instructions.
 *
 * Must never: write to memory that the kernel would not have written to.
 */
#include "runtime/process.h"
#include "shim/signal/handlerframe.h"

#include "shim/syscall/rawsyscall.h"

#include <string.h>
#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* Linux 5.14; older kernels do not tell */
#endif
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

struct place {
	uintptr_t end;
	struct sigframe *frame;
};

/* The program's, as its thread has it now. */
static stack_t alternate(const struct sigframe *f)
{
	stack_t ss;

	if (on_g())
		return self_thread.altstack;
	ss = f->uc.stack; /* the kernel's own */
	if (ss.ss_flags & SS_DISABLE)
		ss.ss_size = 0;
	return ss;
}

/* Linux's get_sigframe(); false: an overflow of the alternate stack. */
static bool choose(struct place *p, const stack_t *ss, uintptr_t sp, uintptr_t end, size_t state, int flags)
{
	bool inside = altstack_on(ss, sp), enters = (flags & SA_ONSTACK) && altstack_goes(ss, end);

	p->end = enters ? (uintptr_t)ss->ss_sp + ss->ss_size : end;
	p->frame = sigframe_at(p->end, state);
	return !(inside || enters) || altstack_spans(ss, (uintptr_t)p->frame);
}

/* As each delivery by the kernel: it shows the alternate stack, and takes it away if that was asked. */
static void show_stack(struct sigframe *f)
{
	stack_t ss = self_thread.altstack;

	if (!ss.ss_size && getg() != g_main())
		ss.ss_flags = SS_DISABLE;
	f->uc.stack = ss;
	if ((unsigned)ss.ss_flags & SS_AUTODISARM)
		altstack_set(&(stack_t){ .ss_flags = SS_DISABLE });
}

bool frame_move(struct sigframe *f, int flags, frame_fn *fn, void *arg)
{
	uintptr_t sp = sigframe_sp(f);
	stack_t ss = alternate(f);
	struct place p;

	/* The runtime's own fault, on its own stack. */
	if (!on_g() && runtime_on_m()) {
		fn(f, arg);
		return true;
	}
	if (!choose(&p, &ss, sp, sp - SIGFRAME_REDZONE, sigframe_state(f), flags))
		return false;
	if (p.frame == f) {
		if (on_g())
			show_stack(f);
		fn(f, arg);
		return true;
	}
	/* Natively it is the kernel that writes, and finds out. */
	if (!sigframe_copy(p.frame, p.end, f))
		return false;
	if (on_g())
		show_stack(p.frame);
	sigframe_enter(p.frame, fn, arg);
}

/* Of the kernel's frames.  One that is made here is smaller, but what natively has no room has none. */
static size_t frame_size(void)
{
	static size_t size;

	if (!size)
		size = __getauxval(AT_MINSIGSTKSZ);
	return size;
}

struct call {
	frame_fn *fn;
	void *arg;
};

static void called(struct sigframe *f, void *arg)
{
	const struct call *c = arg;

	memset(&f->si, 0, sizeof(f->si));
	show_stack(f);
	c->fn(f, c->arg);
}

/* Out of a call by SIGSEGV: where the frame would be is nowhere. */
static void nowhere(struct sigframe *f, void *arg)
{
	(void)arg;
	f->uc.mask = sigmask_of(getg());
	frame_none(f, false);
	frame_leave(f);
}

void frame_call(int flags, frame_fn *fn, void *arg)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	stack_t ss = self_thread.altstack;
	struct call c = { fn, arg };
	struct place p;

	/*
	 * The stack first, then the queue: no handler may take a signal from the queue in between,
	 * and be put on top.
	 */
	self_thread.leaving = true;
	if (!(flags & SA_ONSTACK) || !altstack_goes(&ss, sp))
		sigframe_call(0, called, &c);
	else if (ss.ss_size >= frame_size() && choose(&p, &ss, sp, sp, SIGFRAME_CALL, flags))
		sigframe_call(p.end, called, &c);
	else
		sigframe_call(0, nowhere, NULL);
}

void frame_leave(struct sigframe *f)
{
	if (!on_g())
		return;
	self_thread.leaving = true;
	altstack_call(&f->uc.stack, NULL, sigframe_sp(f)); /* the kernel forgets about errors, too */
	f->uc.stack.ss_flags = SIGFRAME_STACKFLAGS;
	sigframe_leave(f, &self_thread.leaving);
}

void frame_none(struct sigframe *f, bool faults_again)
{
	action_default(SIGSEGV);
	f->uc.mask &= ~SIGBIT(SIGSEGV);
	if (!faults_again)
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), direct3(SYS_gettid, 0, 0, 0), SIGSEGV);
}

void frame_on(int flags, void *uc, void (*fn)(void *), void *arg)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), sp = sigframe_sp(sigframe_of(uc));
	stack_t ss = self_thread.altstack;

	/*
	 * Of several handlers one after the other over one frame, each may ask for another stack.  One that
	 * asks for none, over a frame on the alternate stack, stays there: so it does in the kernel, which
	 * puts its frame below that frame.  (Rejected: the stack of the code that was interrupted.  What
	 * such a handler raises is put on top of the alternate stack, which is this function's callers'.)
	 */
	if ((flags & SA_ONSTACK) && altstack_goes(&ss, sp) && !altstack_on(&ss, here))
		sigframe_callon((uintptr_t)ss.ss_sp + ss.ss_size, fn, arg);
	else
		fn(arg);
}
