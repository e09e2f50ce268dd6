/*
 * stacklist: glibc's list of thread blocks on stacks that glibc does not own, and the lock over it.
 *
 * Why a block must be on it: dlopen copies the initial image of initial-exec TLS into every listed
 * block, dlclose waits for every listed thread to leave the loader, and setuid signals every listed
 * thread.
 *
 * Lock: glibc's own dl_stack_cache_lock, the innermost of glibc's locks here (dlopen takes it while
 * it holds the loader's).  The critical sections below are a few stores and never call out.
 */
#ifndef WEFT_COMPAT_STACKLIST_H
#define WEFT_COMPAT_STACKLIST_H

#include "compat/glibc.h"

void stacklist_lock(void) hidden;
void stacklist_unlock(void) hidden;

/* Both take the lock themselves.  The node is layout.list bytes into the block. */
void stacklist_insert(struct list_node *n) hidden;
void stacklist_remove(struct list_node *n) hidden;

/* Self-linked: what glibc's fork child may unlink without harm. */
static inline void list_self(struct list_node *n)
{
	n->next = n->prev = n;
}

/* Walks head's list, at most a million nodes: true when n is on it.  *broken when a back link is
 * wrong. */
bool list_holds(const struct list_node *head, const struct list_node *n, bool *broken) hidden;

#endif
