/*
 * pollset: waiting for any of several descriptors, for poll and select.
 */
#ifndef WEFT_SHIM_POLLSET_H
#define WEFT_SHIM_POLLSET_H

#include "shim/fd/fdwait.h"

enum {
	POLLWAIT_MAX = 1024,
	POLLWAIT_FEW = 12, /* links that fit a small stack */
};

struct pollwait {
	const struct pollfd *fds; /* what to watch; readable memory */
	unsigned int n;           /* at most POLLWAIT_MAX */
	long (*ask)(void *arg);   /* without waiting: more than 0 or an error ends the wait */
	void *arg;
	uint64_t deadline;        /* 0: none */
	uint64_t *mark;           /* eintr_mark()'s, from before the first question */
	bool parked;              /* it did */
};

/*
 * The answer was 0, or will be: asks, and parks until it is not.  That answer, 0 at the deadline, -EINTR or
 * FDWAIT_FALLBACK.
 */
long pollwait_wait(struct pollwait *w) hidden;
/*
 * After each wait, with nothing held, for handlers and cancellation may leave from here: wait once
 * more?
 */
bool pollwait_goes_on(uint64_t *mark, long r) hidden;

#endif
