/*
 * rseqfield: takes the kernel's per-thread CPU number away from a block that will move.
 *
 * libc registers each kernel thread's own block with the kernel, which then keeps the CPU number
 * there up to date.  Once the block belongs to a G and the G runs on another kernel thread, the
 * number is that of the wrong CPU.  Unregistered, the number reads as -1 and libc asks the kernel
 * (vDSO) instead.
 *
 * Must never: be called for a block that FS of another kernel thread is registered with.
 */
#include "compat/rseqfield.h"

#include <sys/auxv.h>

extern unsigned long __getauxval(unsigned long type); /* its other name is interposed */

enum { UNREGISTER = 1, SIGNATURE = 0x53053053, AUXV_FEATURE_SIZE = 27 };

void rseq_off(struct tcb *t)
{
	unsigned long feature = (__getauxval(AUXV_FEATURE_SIZE) + 31) & ~31UL;
	/* The length must be the registered one, which is not published in every version. */
	unsigned long len[] = {32, feature, libc_data.rseq_size};

	if (!libc_data.rseq_offset)
		return;
	for (int i = 0; i < 3; i++)
		if (!sys_4(SYS_rseq, at(t, libc_data.rseq_offset), len[i], UNREGISTER, SIGNATURE))
			return;
}
