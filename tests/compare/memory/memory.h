/*
 * memory.h: what one case of the comparison of bad memory is made of.
 *
 * A case is CALL x ARGUMENT x what is WRONG with the memory that it names x WHERE the call is made.  All
 * other arguments are good.  What went wrong since an earlier call was good for the same call before.  One line
 * tells what the call answered (a result, an error, a signal that ended the process), whether that was before
 * what it waits for came, and how much is left in the descriptors that it may have read.  Each case is a
 * process of its own.  The program knows nothing of weft: its output on libc is the oracle.
 */
#ifndef COMPARE_MEMORY_H
#define COMPARE_MEMORY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "../lib/cases.h"
#include <pthread.h>
#include <stddef.h>

enum { ARGS = 5 };

/* An argument that is a pointer: so many bytes, which hold this. */
struct memory {
	size_t size;
	const void *holds; /* NULL: zeros */
};

enum { /* of a call */
	WAITS = 1,   /* it waits until it is fed */
	SIGNALS = 2, /* the same, and what it waits for is a signal */
};

struct call {
	const char *name;
	int flags;
	long (*make)(void **p);
	struct memory arg[ARGS]; /* up to the first without a size */
};

extern const struct call calls[]; /* calls.c, from calls.def */
extern const unsigned ncalls;

/* What the calls use: nothing can be read until it is fed; one pipe is full until then. */
struct fixture {
	int pipe[2], full[2], stream[2], datagram[2], seq[2], listener, connected;
	int event, clock, signals, epoll, queue, set, messages, file;
	void *timer;
};

extern struct fixture f;
extern pthread_t other; /* a thread that does not make the call, and lives */
extern _Atomic pid_t other_id;

void fixture_make(void);
void fixture_feed(int flags);
void fixture_drain(void); /* as it was before it was fed */
long fixture_left(void); /* a sum of what can still be read */
void fixture_drop(void); /* what does not end with the process */

#endif
