/*
 * regs: fresh contexts and CPU features of x86-64.  The frame built here is the one switch.S pops.
 */
#include "runtime/arch/arch.h"

#include <sys/auxv.h>

unsigned long __getauxval(unsigned long type); /* its other name is interposed */

int arch_wrfsbase;

void arch_start(void) __attribute__((visibility("hidden")));

int arch_has_wrfsbase(void)
{
	return (__getauxval(AT_HWCAP2) & 2) != 0; /* HWCAP2_FSGSBASE, Linux 5.9 */
}

uintptr_t arch_getgs(void)
{
	uintptr_t base = 0;

	if (arch_wrfsbase)
		__asm__ volatile("rdgsbase %0" : "=r"(base));
	else
		arch_syscall(ARCH_PRCTL, ARCH_PRCTL_GETGS, (long)&base, 0, 0, 0, 0);
	return base;
}

void arch_setgs(uintptr_t base)
{
	if (arch_wrfsbase)
		__asm__ volatile("wrgsbase %0" : : "r"(base));
	else
		arch_syscall(ARCH_PRCTL, ARCH_PRCTL_SETGS, (long)base, 0, 0, 0, 0);
}

uint64_t arch_fpmodes(void)
{
	uint32_t mxcsr;
	uint16_t fcw;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(fcw));
	return mxcsr | (uint64_t)fcw << 32;
}

uintptr_t arch_newctx(void *top, void (*entry)(void *), void *arg, uint64_t fpmodes)
{
	uintptr_t *sp = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15);

	*--sp = 0;                     /* a null return address ends every unwinder's walk */
	*--sp = 0;                     /* alignment: arch_start's call pushes on a 16-byte boundary */
	*--sp = (uintptr_t)arch_start; /* popped by ret */
	*--sp = 0;                     /* rbp */
	*--sp = (uintptr_t)entry;      /* rbx */
	*--sp = (uintptr_t)arg;        /* r12 */
	*--sp = 0;                     /* r13 */
	*--sp = 0;                     /* r14 */
	*--sp = 0;                     /* r15 */
	*--sp = fpmodes;
	return (uintptr_t)sp;
}
