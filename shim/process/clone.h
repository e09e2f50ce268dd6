/*
 * clone: what other files need of clone(2) made by hand.
 */
#ifndef WEFT_SHIM_CLONE_H
#define WEFT_SHIM_CLONE_H

#include "shim/shim.h"

/*
 * weft_tls.unshared of a process in our memory: what it has of its own, and what we note is another's.
 * UNSHARED_TABLE: a G that left the table of descriptors (unshare); its kernel thread's copy has our
 * descriptors still.
 */
enum { UNSHARED_FILES = 1, UNSHARED_SIGHAND = 2, UNSHARED_TABLE = 4 };

static inline bool is_unshared(uint32_t what)
{
	return unlikely(weft_tls.unshared & what);
}

/*
 * The system call nr when it is a fork; false: it is not, or it brings its own stack.  Twice, as
 * fork.
 */
bool clone_by_hand(long nr, long a, long b, long c, long d, long e, long *r) hidden;
void clone_fork_child(void) hidden;
void vfork_fork_child(void) hidden; /* made by a child of a vfork, perhaps */
/* What runtime_vfork() calls. */
struct vforked vfork_begins(void) hidden;
void vfork_child(struct vforked v) hidden;
int vfork_parent(long r, struct vforked v) hidden;

/*
 * fork.c: signals are kept out around any fork; they are let in by the parent when the kernel has
 * returned, by the child when it has put weft in order (child: it has weft of its own to put in
 * order), before it does anything else.
 */
uint64_t fork_begins(void) hidden; /* the mask, for fork_ends() */
void fork_ends(bool child, uint64_t was) hidden;

#endif
