/*
 * coro: the smallest scheduler that can run code on a thread block of ours: two contexts and an FS
 * swap, on one kernel thread.  The tests of compat/ use it so that a failure is compat's and nobody
 * else's.
 *
 * A coroutine's block lies at the top of its own stack, as the runtime places it.
 */
#ifndef WEFT_TESTS_CORO_H
#define WEFT_TESTS_CORO_H

#include "compat/sys.h"
#include "compat/tcb.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

struct coro {
	struct tcb *tcb;
	void *map;
	size_t map_size, stack_size;
	ucontext_t self, back;
	void *back_fs;
	int (*fn)(struct coro *, void *);
	void *arg;
	int result;
	bool done, unwound; /* unwound: pthread_exit or a cancellation ended it */
};

enum { CORO_STACK = 256 << 10, CORO_GUARD = 4096 };

/* Makes the block; false when memory ran out. */
bool coro_new(struct coro *c, uint32_t tid);
/* A new life on the same block. */
bool coro_again(struct coro *c, uint32_t tid);
/* Runs fn on it until it yields or ends; returns true when it ended. */
bool coro_run(struct coro *c, int (*fn)(struct coro *, void *), void *arg);
bool coro_resume(struct coro *c);
/* Back to whoever runs it. */
void coro_yield(struct coro *c);
void coro_free(struct coro *c);

/*
 * Runs fn in a forked child: true when it returned 0.  *how says how it ended otherwise: a signal's
 * number, or 256 + exit code.  A child that hangs is ended by SIGALRM after `seconds`.
 */
bool in_child(int (*fn)(void), unsigned seconds, int *how);

extern int passed, failed;
void report(const char *name, bool ok, const char *detail);
/* Prints the last line; the exit code. */
int summary(void);

#endif
