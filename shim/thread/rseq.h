/*
 * rseq: what other files need of restartable sequences.
 */
#ifndef WEFT_SHIM_RSEQ_H
#define WEFT_SHIM_RSEQ_H

#include "shim/shim.h"

/* rseq(2) by number, on a G or before there are any: the result or -errno. */
long rseq_by_hand(long area, long size, long flags, long signature) hidden;
/* weft starts, on this thread: what the program registered for it is registered no more. */
void rseq_end(void) hidden;

#endif
