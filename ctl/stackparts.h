/*
 * stackparts: what unwind.c, names.c and stopping.c share.  No other file includes it.
 */
#ifndef WEFT_CTL_STACKPARTS_H
#define WEFT_CTL_STACKPARTS_H

#include "ctl/stack.h"

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

enum { REGS = 17, COPY = 64 << 10 };

struct regs {
	uint64_t pc, value[REGS];   /* by DWARF's numbers */
	uint32_t known;             /* a bit each */
};

struct stacks {
	struct proc *p;
	bool may_stop;
	bool stopped;               /* copy is of a thread that was stopped, and runs again */
	struct regs regs;           /* of the G that is unwound */
	uint64_t from, to;          /* what of its stack is in copy */
	char copy[COPY];
	void *code;                 /* names.c: executable ranges */
	size_t ncode;
#ifdef HAVE_LIBDW
	Dwfl *dwfl;
#endif
};

enum where { WHERE_GONE, WHERE_CPU, WHERE_KERNEL };

/* Is the kernel thread in the kernel, and since which instruction? */
enum where stopping_where(pid_t pid, pid_t tid, uint64_t *pc, uint64_t *sp);
/* Stops it for a moment: its registers, and its stack into s->copy. */
bool stopping_regs(struct stacks *s, pid_t tid, struct regs *r);

/* Some executable mapping holds pc. */
bool names_is_code(struct stacks *s, uint64_t pc);

#ifdef HAVE_LIBDW
extern const Dwfl_Thread_Callbacks stack_callbacks;
#endif

#endif
