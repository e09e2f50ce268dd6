/* futex: private futex words, of all calls that name them: futex.c (futex(2)), futex2.c (the rest). */
#ifndef WEFT_SHIM_FUTEX_H
#define WEFT_SHIM_FUTEX_H

#include "runtime/base/list.h"
#include <linux/futex.h>

#include "shim/syscall/syscall.h"

/* Set for good before the first wait for a private word in the kernel. */
/*
 * seq_cst with the program's futex words: set before the kernel reads them, read after a waker
 * wrote
 */
extern _Atomic bool futex_in_kernel hidden;

/*
 * What a waiter expects of a word that is there; under the lot's lock futex_differs() says whether it is
 * another by now.
 */
struct futexword {
	uint32_t *at, value;
};
int futex_differs(void *word) hidden;

/*
 * The time of a wait as the program gives it, NULL: without end.  FUTEX_RELATIVE: from now on.  0 or -errno.
 */
enum { FUTEX_RELATIVE = -1 };
long futex_until(int clock, const struct timespec *user, struct park *pk) hidden;

/* True: no word can be there, and *err says what the kernel says. */
bool futex_bad_word(const uint32_t *w, long *err) hidden;

/*
 * On the lot: 0 or -errno.  pk has a deadline, or none.  ends: a handler ends it, SA_RESTART or not.
 * Wakers and movers return how many.
 */
long futex_wait(uint32_t *at, uint32_t value, uint32_t bits, struct park *pk, bool ends) hidden;
long futex_wake(uint32_t *at, unsigned n, uint32_t bits) hidden;
long futex_requeue(uint32_t *from, int nwake, int nmove, uint32_t *to, const uint32_t *value) hidden;

/* robustlist.c */
void robustlist_thread_ends(void) hidden; /* the calling thread: before futexpi_thread_ends() */

void cleared_tid_thread_ends(void) hidden;   /* after it */
struct call;
long reads_tid_address(const struct call *x) hidden; /* prctl(2), PR_GET_TID_ADDRESS */

/* futexpi.c: the operations on words that hold their owner's id. */
bool futexpi_is(int op) hidden;
long futexpi_call(const struct call *x) hidden;
struct waits;
extern listhead futexpi_waits hidden; /* (L its lock) all that wait for such words; NULL: none */
void futexpi_give_up(void) hidden;
/*
 * The calling thread ends, TH_ENDING is set: what it owns goes to the waiters.  The load comes after
 * that store in the one order of both: seq_cst with the fence of wait_begins().
 */
static inline void futexpi_thread_ends(void)
{
	if (unlikely(load_seqcst(&futexpi_waits)))
		futexpi_give_up();
}
void futexpi_fork_child(void) hidden;

#endif
