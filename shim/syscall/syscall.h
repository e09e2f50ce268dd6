/* syscall: system calls by number; see syscall.c and the table, syscalls.def. */
#ifndef WEFT_SHIM_SYSCALL_H
#define WEFT_SHIM_SYSCALL_H

#include "shim/syscall/rawsyscall.h"

struct call {
	long nr, a, b, c, d, e, f;
};

/*
 * The call by its line of the table, on a G: the result or -errno.  Libc's functions that are
 * nothing but a call come here, too.
 */
long call_by_table(struct call *x) hidden;

#define by_table6(nr, a, b, c, d, e, f)                                                            \
	call_by_table(&(struct call){ nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),   \
				      (long)(f) })
#define by_table4(nr, a, b, c, d) by_table6(nr, a, b, c, d, 0, 0)
#define by_table2(nr, a, b) by_table6(nr, a, b, 0, 0, 0, 0)

static inline long call_plain(const struct call *x)
{
	return direct(x->nr, x->a, x->b, x->c, x->d, x->e, x->f);
}

static inline long call_blocks(const struct call *x)
{
	call_timed(x->nr);
	return block_nocp(x->nr, x->a, x->b, x->c, x->d, x->e, x->f);
}

/* What the table names beside PLAIN and its like: f of each CALL(f). */
#define SYSCALL(nr, name, how) how
#define PLAIN
#define BLOCKS
#define FORKS
#define PASSES
#define NAMES(n)
#define CALL(f) long f(const struct call *x) hidden;
#include "shim/syscall/syscalls.def"
#undef SYSCALL
#undef PLAIN
#undef BLOCKS
#undef FORKS
#undef PASSES
#undef NAMES
#undef CALL

#endif
