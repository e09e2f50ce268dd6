/*
 * stack: from where a G was called, with the names of the program's own symbols and debug information.
 *
 * A parked G's registers lie on its stack; from there libdw unwinds by .eh_frame over memory that proc_read() reads.
 * weft's own frames are left out, and the signal frame below them.  One that is in the kernel is found by the stack pointer that it left there; one
 * that computes is stopped for some microseconds (ptrace), if stacks_stop() was called.
 *
 * Without libdw (HAVE_LIBDW) stacks are empty and a place is its address.
 */
#ifndef WEFT_CTL_STACK_H
#define WEFT_CTL_STACK_H

#include "ctl/process.h"

enum { STACK_DEPTH = 64 };

struct stacks;

/* NULL: no memory. */
struct stacks *stacks_open(struct proc *p);
void stacks_close(struct stacks *s);
/* Modules came or went (dlopen): looks again. */
void stacks_renew(struct stacks *s);
/* From here on a G that computes may be stopped for a moment, so that its stack can be read. */
void stacks_stop(struct stacks *s);

/*
 * The calls that led g where it is, innermost first, at most max; how many.  The first is the next instruction where
 * it stands, the others are return addresses; of one that gave way in a signal's handler the first is given as that
 * and 1, as if it were one, too.
 */
int stacks_of(struct stacks *s, const struct proc_g *g, uint64_t *pc, int max);
/*
 * The same of a G that was seen some time ago: it is read again, and its stack, until it stood still meanwhile; g is
 * what it was then.  0, too: it never stood still.  -1: it has ended.
 */
int stacks_fresh(struct stacks *s, struct proc_g *g, uint64_t *pc, int max);

/* It computes at this moment (or the kernel does for it, and does not wait). */
bool stacks_computes(const struct stacks *s, const struct proc_g *g);

struct place {
	char function[256];         /* "" : unknown; demangled where that is possible */
	char raw[256];              /* as the symbol is called */
	char file[256];             /* "": unknown; without folders in short */
	int line;
	char module[256];           /* path of the ELF file; "": in none */
	uint64_t offset;            /* in the function; in the module, if there is no function */
};

/* first: pc is an instruction to be executed; else a return address.  False: in no module. */
bool stacks_place(struct stacks *s, uint64_t pc, bool first, struct place *at);
/* "name (file:line)", or "module+0x12", or "0x1234". */
void stacks_text(struct stacks *s, uint64_t pc, bool first, char *text, size_t n);
/* The variable at addr, or "". */
void stacks_variable(struct stacks *s, uint64_t addr, char *text, size_t n);

#endif
