/*
 * sigmask: signal masks.
 *
 * Must never: run a handler.
 */
#ifndef WEFT_SIGMASK_H
#define WEFT_SIGMASK_H

#include "runtime/runtime.h"

/*
 * Signals that come while all Gs are parked are for the signal thread, which the shim makes.  Until
 * there is one (as in a child of fork(2) that has not parked) a G calls hooks.attend before it
 * parks.
 */
void runtime_sigthread_runs(bool yes, uint64_t idlemask); /* idlemask: a mask, for Ms that sleep without a G */

/* Kernel signal mask while gp runs; set on the caller itself it takes effect at once. */
uint64_t g_mask(const struct g *gp);
void g_setmask(struct g *gp, uint64_t mask);

/* The kernel already has this mask on the calling G's M (a handler runs): only remember it. */
void g_notemask(uint64_t mask);

/*
 * In a handler: an M that runs no G keeps these signals out until it runs one; the caller puts them
 * into the mask to which it returns.  False: a G runs here, or this is M0.
 */
bool runtime_block_idle(uint64_t set);

/*
 * When every G keeps set out, so do the kernel threads that run them.  There are two exceptions: an
 * M between two Gs, for as long as it looks for the next, and an M that sleeps as the poller, until
 * runtime_set_allblocked() told it.  set is all that no G lets in.
 */
void runtime_set_allblocked(uint64_t set);
bool runtime_all_ms_block(uint64_t set);

/*
 * In a signal handler that interrupted a G outside the runtime: the mask that the kernel had for the
 * interrupted code, which may be newer than the notes.  Before anything that may give this M to
 * another G, whose own would be compared with the notes.
 */
void g_notekernel(uint64_t kernelmask);

#endif
