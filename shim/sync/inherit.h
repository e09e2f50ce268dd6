/* inherit: see inherit.c. */
#ifndef WEFT_SHIM_INHERIT_H
#define WEFT_SHIM_INHERIT_H

#include "runtime/base/list.h"
#include <linux/futex.h>

#include "shim/sync/sync.h"

/* On the stack of a thread that waits for an inheriting lock. */
struct claim {
	/* the word that holds the owner's id, in its low bits; seq_cst with inherit_claims */
	const int *owner;
	struct thread *th;         /* (c) the waiter; NULL: it is of no interest */
	struct listlink link;      /* inherit_claims */
};

/*
 * seq_cst with the owner's id: a waiter notes its claim, then reads who owns; the thread that takes writes
 * its id, then reads whether there are claims
 */
extern listhead inherit_claims hidden;

/* A thread that may have inherited. */
struct heir {
	struct thread *th;
	struct heir *next;
	int want;                  /* (L) while settling: the highest priority among its waiters */
	/* (L) written; seq_cst with the owner's id: settle() writes this one, then reads that once more */
	_Atomic bool listed;
};
extern __thread struct heir inherit_heir hidden __attribute__((tls_model("initial-exec")));

void inherit_settle(void) hidden;
/* Around each park for a lock of which *owner names the holder, in its low bits. */
void inherit_claim(struct claim *c, const int *owner) hidden;
void inherit_unclaim(struct claim *c) hidden;

/*
 * Before the caller tries to take such a lock: until it gave up, or released it.  The calling thread is
 * counted as a holder already while it waits (struct park, gives).
 */
void inherit_begin(void) hidden;
/* The owner's id has been written, by an operation that is a full fence. */
static inline void inherit_taken(void)
{
	if (unlikely(load_seqcst(&inherit_claims)))
		inherit_settle();
}
/* The owner's id is gone, by an operation that is a full fence.  stay: the caller may not switch. */
static inline void inherit_released(bool stay)
{
	if (unlikely(load_seqcst(&inherit_heir.listed)))
		inherit_settle();
	runtime_release(stay);
}

void inherit_thread_ends(void) hidden; /* the calling thread, whose robust locks are given up */
void inherit_fork_child(void) hidden;

#endif
