/*
 * latency: how long threads of a process that were woken wait until they run.
 */
#ifndef WEFT_CTL_LATENCY_H
#define WEFT_CTL_LATENCY_H

#include "ctl/process.h"

struct latency {
	size_t n;                    /* threads that were woken and ran */
	uint64_t p50, p99, most;     /* ns */
};

/* Of the next ns, as an execution trace has them.  False: none was to be had, as of a process that is idle. */
bool latency_take(struct proc *p, uint64_t ns, struct latency *l);

#endif
