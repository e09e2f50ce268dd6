/*
 * counts: what a process is doing, in numbers: its threads by state and by what they wait for, its Ps and Ms, and what
 * has happened up to now, of which two looks make a rate.
 */
#ifndef WEFT_CTL_COUNTS_H
#define WEFT_CTL_COUNTS_H

#include "ctl/object.h"

struct counts {
	uint64_t when;              /* now_ns() */
	unsigned long threads, running, runnable, waiting, calls;
	unsigned long reason[NREASON]; /* of those that wait */
	int ps, psbusy, ms, msidle, spinning;
	uint64_t queued;            /* runnable and in some queue */
	uint64_t runs, syscalls, schedules; /* so far; each wraps at 2^32 a P */
	uint64_t cpu;               /* ns of all kernel threads so far */
};

/* False: the process is gone. */
bool counts_take(const struct proc *p, struct counts *c);
/* What happened between two looks, a second. */
double counts_rate(const struct counts *was, const struct counts *now, uint64_t then, uint64_t here);

#endif
