/*
 * backtrace: where a saved stack was called from: see backtrace.c.
 */
#ifndef WEFT_BACKTRACE_H
#define WEFT_BACKTRACE_H

#include "runtime/sched/gmp.h"

struct map;

struct backtrace {
	char *text;          /* /proc/self/maps; the names below point into it */
	struct map *maps;    /* the executable ones, ascending */
	uint32_t nmaps;
	uintptr_t stackend;  /* first byte above the main thread's stack */
};

/* Reads the mappings; false: no memory or no /proc, and nothing can be printed. */
bool backtrace_open(struct backtrace *b) hidden;
/* The mappings as they are now, in the memory that b has: backtrace_knows() may be asked meanwhile, and be wrong. */
bool backtrace_again(struct backtrace *b) hidden;
void backtrace_close(struct backtrace *b) hidden;
/*
 * One line: pc (0: unknown), then the calls found from sp up to top (0: the end of main's stack).
 */
void backtrace_print(const struct backtrace *b, struct outbuf *o, uintptr_t pc, uintptr_t sp,
		     uintptr_t top) hidden;
/* Its parts: return addresses from sp up, at most max; their number. */
int backtrace_calls(const struct backtrace *b, uintptr_t sp, uintptr_t top, uintptr_t *call,
		    int max) hidden;
bool backtrace_knows(const struct backtrace *b, uintptr_t pc) hidden; /* in a module */
void backtrace_place(const struct backtrace *b, struct outbuf *o, uintptr_t pc) hidden; /* " module+0x..." */

#endif
