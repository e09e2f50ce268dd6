/*
 * sigforget: what the kernel throws away of signals that wait: see sigforget.c.
 */
#ifndef WEFT_SHIM_SIGFORGET_H
#define WEFT_SHIM_SIGFORGET_H

#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"

/* What waits of this set, for any thread, is forgotten from now on. */
void sigforget(uint64_t set) hidden;
/* A timer was set anew whose signal waits for th (NULL: which has ended). */
void sigforget_timer(struct thread *th, int sig) hidden;
/* sig is sent: what stops and what continues the process forget each other. */
void sigforget_opposite(int sig) hidden;
/* To be noted in a signal's node when it is queued, after its bit in pending was set. */
uint32_t sigforget_round(int sig) hidden;
bool sigforget_stale(const struct signode *n) hidden;
uint32_t sigforget_count(void) hidden; /* changes when something is forgotten */
bool signals_queued(void) hidden; /* signode.c: something may be queued on some thread */

#endif
