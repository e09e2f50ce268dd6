/*
 * rseqfield: restartable sequences are the kernel thread's, blocks of ours are not.
 */
#ifndef WEFT_COMPAT_RSEQFIELD_H
#define WEFT_COMPAT_RSEQFIELD_H

#include "compat/glibc.h"
#include "compat/tcb.h"

/* Ends the calling kernel thread's registration, if it is on t; no effect otherwise. */
void rseq_off(struct tcb *t) hidden;

#endif
