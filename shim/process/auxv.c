/*
 * auxv: getauxval(), for one question that announces something.
 *
 * A program may change the base of GS by an instruction, which weft does not see (sandboxes for
 * WebAssembly do).  It must ask first whether the kernel lets it (HWCAP2_FSGSBASE); from then on
 * each G that leaves its M has its base read.  To read it always would cost 3 ns a switch.
 *
 * Must never: be called by weft itself, which asks libc by the other name.
 */
#include <sys/auxv.h>

#include "runtime/process.h"
#include "shim/syscall/rawsyscall.h"

EXPORT unsigned long getauxval(unsigned long type)
{
	if (unlikely(type == AT_HWCAP2))
		runtime_fromnow(FROMNOW_GS);
	return __getauxval(type);
}
