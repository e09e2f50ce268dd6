/*
 * scratch: memory for the length of one call (and what is mapped as that is), where a stack may be too small
 * and malloc() is the program's.
 *
 * A handler that jumps out of the call leaves it behind, so it is for rare cases.
 *
 * Must never: be kept when the call is over.
 */
#ifndef WEFT_SHIM_SCRATCH_H
#define WEFT_SHIM_SCRATCH_H

#include "shim/syscall/rawsyscall.h"

/* n bytes of zeroes at *at: 0, or -errno and nothing is there. */
static inline long scratch_map(void **at, size_t n)
{
	long r = direct6(SYS_mmap, NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if ((unsigned long)r > -4096UL)
		return r;
	*at = (void *)r;
	return 0;
}

static inline void scratch_unmap(void *at, size_t n)
{
	direct3(SYS_munmap, at, n, 0);
}

#endif
