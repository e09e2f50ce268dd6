/*
 * tablepart: see tablepart.c.
 */
#ifndef WEFT_SHIM_TABLEPART_H
#define WEFT_SHIM_TABLEPART_H

#include "shim/syscall/rawsyscall.h"

/*
 * A part of a large table, n bytes at *part: zeroes, mapped by the first thread that uses it.  Any
 * thread may call it, in a handler too.  NULL: the kernel has no memory.
 */
void *tablepart(void *_Atomic *part, size_t n) hidden;

#endif
