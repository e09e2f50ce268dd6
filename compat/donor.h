/*
 * donor: real threads whose blocks the layout is read from.
 *
 * Three of them live at the same time: two on stacks of ours (their blocks become the template, and
 * what differs between them is what varies per thread) and one ordinary (what differs from it is
 * what marks a user's stack).  Each copies its own block as the very first thing it does.
 *
 * Must never: outlive donors_end(), but when one hangs; write anything in a block except through libc's own functions.
 */
#ifndef WEFT_COMPAT_DONOR_H
#define WEFT_COMPAT_DONOR_H

#include "compat/glibc.h"

enum donor_order { DONOR_WAIT, DONOR_CREATE, DONOR_PROBE, DONOR_PAUSE, DONOR_EXIT };

struct donor {
	pthread_t thread;
	bool started, joined;
	void *stack;
	size_t stack_size, guard;
	uint32_t ready; /* futex: the donor counts its steps here; pairs with donor_await() */
	uint32_t order; /* futex: enum donor_order */
	char *block;	/* its struct pthread */
	char *frame;	/* an address near the top of its stack: static TLS must lie above it */
	int ostid;
	int which;	/* the number of its start function */
	bool dtv_ok, self_ok;
	uint64_t words[PTHREAD_WORDS_MAX]; /* its block at the start */
	struct donor *child;		   /* the thread that DONOR_CREATE makes */
	int create_result;
	const char *probe_failed;
};

struct donors {
	struct donor first, second; /* on our stacks; first makes second */
	struct donor plain;	    /* on a stack of glibc's */
	struct tls_module modules[TLS_MODULES_MAX];
	int nmodules;
	bool hangs; /* one did not come in time: it may never end */
};

/*
 * Of a donor that does not go on.  It allocates, by the program's malloc where it has one, and the
 * caller may come from inside that, with its lock held.
 */
#define DONOR_HANGS "self-test: a thread of its own hangs, as when malloc makes the first thread"

/* NULL when out of memory. */
struct donors *donors_new(void) hidden;
/* Starts one and waits until it has copied its block; 0 or an errno value. */
int donor_start(struct donor *d) hidden;
/* Gives an order without waiting. */
void donor_send(struct donor *d, enum donor_order o) hidden;
/* Waits for the donor's step n, at most ten seconds, and not when all hang; false when it did not come. */
bool donor_await(struct donor *d, uint32_t n) hidden;
/* All donors sleep, and no thread but the caller could wake one; where /proc does not tell, false. */
bool donors_hang(void) hidden;
int donor_join(struct donor *d) hidden;
/* Ends and joins the donors that are left, and frees everything, but when one hangs. */
void donors_end(struct donors *ds) hidden;

/* Run by a donor that is to be interrupted; the other thread's side, until its step. */
void bridge_pause(void) hidden;
const char *bridge_probe(struct donor *d, uint32_t step) hidden;
/* Run by a donor on itself: finds the fields that only change when a thread does something. */
const char *probe_run(void) hidden;
/*
 * A key of ours; or, when the program has taken all, one of its own: not on a thread of the
 * program.
 */
bool compat_some_key(pthread_key_t *key, bool *ours) hidden;

#endif
