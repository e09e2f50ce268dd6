/*
 * mcontext: x86-64's part of runtime/arch/mcontext.h.
 *
 * A system call leaves the address behind its instruction in rcx, which nobody else needs: 0 there is the
 * note that the call is over for good.  The stubs (shim_call.S) leave the call's number below the stack
 * pointer, in the red zone: rax is the result's.
 */
#ifndef WEFT_ARCH_X86_64_MCONTEXT_H
#define WEFT_ARCH_X86_64_MCONTEXT_H

static inline uintptr_t mcontext_pc(const mcontext_t *mc)
{
	return (uintptr_t)mc->gregs[REG_RIP];
}

static inline uintptr_t mcontext_sp(const mcontext_t *mc)
{
	return (uintptr_t)mc->gregs[REG_RSP];
}

/* The frame pointer, in code that has one. */
static inline uintptr_t mcontext_fp(const mcontext_t *mc)
{
	return (uintptr_t)mc->gregs[REG_RBP];
}

/* Where a function without a frame returns to. */
static inline uintptr_t mcontext_return_address(const mcontext_t *mc)
{
	return *(const uintptr_t *)mcontext_sp(mc);
}

static inline void mcontext_set_return_address(const mcontext_t *mc, uintptr_t pc)
{
	*(uintptr_t *)mcontext_sp(mc) = pc;
}

static inline void mcontext_set_pc(mcontext_t *mc, uintptr_t pc)
{
	mc->gregs[REG_RIP] = (greg_t)pc;
}

/* At the instruction of a call: its number, and argument n, from 0. */
static inline long mcontext_call_nr(const mcontext_t *mc)
{
	return mc->gregs[REG_RAX];
}

static inline long mcontext_call_arg(const mcontext_t *mc, int n)
{
	static const unsigned char where[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9 };

	return mc->gregs[where[n]];
}

static inline void mcontext_set_call_arg(mcontext_t *mc, int n, long value)
{
	static const unsigned char where[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9 };

	mc->gregs[where[n]] = value;
}

/* Behind it: what it returns. */
static inline long mcontext_call_result(const mcontext_t *mc)
{
	return mc->gregs[REG_RAX];
}

static inline void mcontext_set_call_result(mcontext_t *mc, long r)
{
	mc->gregs[REG_RAX] = r;
}

/* Has the call whose instruction ends at end been made, and not been declared over since? */
static inline bool mcontext_call_made(const mcontext_t *mc, uintptr_t end)
{
	return mc->gregs[REG_RCX] == (greg_t)end;
}

static inline void mcontext_call_over(mcontext_t *mc)
{
	mc->gregs[REG_RCX] = 0;
}

/* The number of the call that a stub of weft's makes or has made. */
static inline long mcontext_stub_nr(const mcontext_t *mc)
{
	return ((const long *)mcontext_sp(mc))[-1];
}

/*
 * Right behind a call: it is made again, by its number.  R11, which is the kernel's, says so: the kernel
 * leaves the flags there, which are never 0.
 */
static inline void mcontext_call_again(mcontext_t *mc, long nr)
{
	mc->gregs[REG_RAX] = nr;
	mc->gregs[REG_RIP] -= INSN_SYSCALL;
	mc->gregs[REG_R11] = 0;
}

/* Before the call whose instruction ends at end: is it made again by mcontext_call_again()? */
static inline bool mcontext_call_is_again(const mcontext_t *mc, uintptr_t end)
{
	return mc->gregs[REG_RIP] == (greg_t)(end - INSN_SYSCALL) && mc->gregs[REG_R11] == 0 &&
	       mcontext_call_made(mc, end);
}

#endif
