/*
 * sigframe: the layout of x86-64: frame, then the vector state (XSAVE), each as aligned as the kernel
 * has it.  All figures are Linux's get_sigframe().
 */
#include "runtime/arch/sigframe.h"

#include <cpuid.h>
#include <string.h>

enum {
	FXSAVE = SIGFRAME_CALL, /* without more: what every CPU has */
	SW_BYTES = 464,      /* of these the kernel's own: magic, size of all of it */
	STATE_ALIGN = 64,
	FRAME_ALIGN = 16,    /* of the stack pointer before the call that a frame stands for */
};
#define STATE_MAGIC 0x46505853u /* FP_XSTATE_MAGIC1 */

_Static_assert(offsetof(struct sigframe, si) == 312 && sizeof(struct sigframe) == 440, "rt_sigframe");
_Static_assert(offsetof(struct sigframe_uc, mc) == offsetof(ucontext_t, uc_mcontext) &&
	       offsetof(struct sigframe_uc, mask) == offsetof(ucontext_t, uc_sigmask), "ucontext");

void *sigframe_restorer;

extern const char sigframe_leave_last[] SIGFRAME_HIDDEN;
extern const char sigframe_put_move[] SIGFRAME_HIDDEN, sigframe_put_end[] SIGFRAME_HIDDEN;
void sigframe_make(uintptr_t end, void (*fn)(struct sigframe *, void *), void *arg) SIGFRAME_HIDDEN;

size_t sigframe_state(const struct sigframe *f)
{
	const char *fp = (const char *)f->uc.mc.fpregs;
	uint32_t sw[2];

	if (!fp)
		return 0;
	memcpy(sw, fp + SW_BYTES, sizeof(sw));
	return sw[0] == STATE_MAGIC ? sw[1] : FXSAVE;
}

static uintptr_t state_at(uintptr_t end, size_t state)
{
	return (end - state) & ~(uintptr_t)(STATE_ALIGN - 1);
}

struct sigframe *sigframe_at(uintptr_t end, size_t state)
{
	uintptr_t sp = state_at(end, state) - sizeof(struct sigframe);

	return (struct sigframe *)((sp & ~(uintptr_t)(FRAME_ALIGN - 1)) - sizeof(void *));
}

bool sigframe_copy(struct sigframe *to, uintptr_t end, const struct sigframe *f)
{
	size_t state = sigframe_state(f);

	/* The lowest byte first, where guards are. */
	if (sigframe_put(to, f, sizeof(*f)))
		return false;
	if (!state)
		return true;
	to->uc.mc.fpregs = (fpregset_t)state_at(end, state);
	return sigframe_put(to->uc.mc.fpregs, f->uc.mc.fpregs, state) == 0;
}

bool sigframe_fault(struct sigframe *f)
{
	if (sigframe_pc(f) != (uintptr_t)sigframe_put_move)
		return false;
	mcontext_set_pc(&f->uc.mc, (uintptr_t)sigframe_put_end);
	return true;
}

bool sigframe_leaving(uintptr_t pc)
{
	return pc == (uintptr_t)sigframe_leave_last;
}

/* Protection keys are in use: the register is there, and the program may have changed it. */
static bool have_keys(void)
{
	static int have; /* 1: yes, 2: no */
	unsigned a, b, c = 0, d;

	if (!have)
		have = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_OSPKE) ? 1 : 2;
	return have == 1;
}

/*
 * The frame that is made here holds what a call preserves, and sigreturn puts all else into its
 * initial state: the protection keys too, which a call does preserve.
 */
void sigframe_call(uintptr_t end, void (*fn)(struct sigframe *, void *), void *arg)
{
	uint32_t keys = 0, high;

	if (!have_keys()) {
		sigframe_make(end, fn, arg);
		return;
	}
	__asm__ volatile("rdpkru" : "=a"(keys), "=d"(high) : "c"(0));
	sigframe_make(end, fn, arg);
	__asm__ volatile("wrpkru" : : "a"(keys), "c"(0), "d"(0) : "memory");
}
