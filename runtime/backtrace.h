/*
 * backtrace: where a saved stack was called from: see backtrace.c.
 */
#ifndef WEFT_BACKTRACE_H
#define WEFT_BACKTRACE_H

#include "runtime/gmp.h"

struct map;

struct backtrace {
	char *text;          /* /proc/self/maps; the names below point into it */
	struct map *maps;    /* the executable ones, ascending */
	uint32_t nmaps;
	uintptr_t stackend;  /* first byte above the main thread's stack */
};

/* Reads the mappings; false: no memory or no /proc, and nothing can be printed. */
bool backtrace_open(struct backtrace *b) hidden;
void backtrace_close(struct backtrace *b) hidden;
/* One line: pc (0: unknown), then the calls found from sp up to top (0: the end of main's stack). */
void backtrace_print(struct backtrace *b, struct outbuf *o, uintptr_t pc, uintptr_t sp,
		     uintptr_t top) hidden;

#endif
