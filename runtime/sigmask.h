/*
 * sigmask: which signals reach which kernel thread.
 *
 * The kernel has one mask a thread.  What is in it is kept as follows; only its owner writes a mask.
 *
 * | mask | owner | what it is | changed by |
 * |---|---|---|---|
 * | the kernel's, of a thread | that thread | what is delivered there | the rows below |
 * | g->shim.sigmask | the G | the mask of the program's thread | sigmask_set() |
 * | m->sigmask | the M | what the kernel has for that thread, as far as weft was told | each switch
 * (finish_switch()), the rows above, and runtime_on_sig32(), which finds in its frame what the kernel has | |
 * sched.idlemask | the signal thread | what an M keeps out that has no G | sigmask_sigthread_runs() | |
 * sched.allblocked | the shim, which knows all threads | what no G lets in: an M between two Gs, M0 and a
 * poller keep it out too | sigmask_set_allblocked() | | of a call (ppoll, sigsuspend), of a handler | the
 * calling thread | the shim's alone: shim/signal/README.md | |
 *
 * Two Ms never share a mask; a G that is switched takes its own along.  m->sigmask is read by other
 * threads (sigmask_all_ms_block()); between two notes it says what both keep out.
 *
 * Must never: run a handler.
 *
 * Functions that are apart, and why: sigmask_add_idle(), for an M without a G has none to note it on;
 * sigmask_set_allblocked() and sigmask_all_ms_block(), for Ms between two Gs take the first over one by one,
 * and the second sees which have.
 */
#ifndef WEFT_SIGMASK_H
#define WEFT_SIGMASK_H

#include "runtime/g.h"

/*
 * sigmask_of(): in line, g.h.  Set on the caller itself the kernel has it when this returns.  kernel_has: it has it
 * on the caller's M already (a handler runs), so it is only remembered.
 */
void sigmask_set(struct g *gp, uint64_t mask, bool kernel_has);
/* Pinned, about to park: the mask with which the calling G's next M runs it. */
static inline void sigmask_park(uint64_t mask)
{
	g_shim(weft_tls.g)->sigmask = mask;
}

/*
 * In a handler: an M that runs no G keeps these signals out until it runs one; the caller puts them
 * into the mask to which it returns.  False: a G runs here, or this is M0.
 */
bool sigmask_add_idle(uint64_t set);

/*
 * When every G keeps set out, so do the kernel threads that run them.  There are two exceptions: an
 * M between two Gs, for as long as it looks for the next, and an M that sleeps as the poller, until
 * sigmask_set_allblocked() told it.  set is all that no G lets in.
 */
void sigmask_set_allblocked(uint64_t set);
bool sigmask_all_ms_block(uint64_t set);

/*
 * Signals that come while all Gs are parked are for the signal thread, which the shim makes.  Until
 * there is one (as in a child of fork(2) that has not parked) a G calls hooks.start_sigthread before
 * it parks.  idlemask: for Ms that sleep without a G.
 */
void sigmask_sigthread_runs(bool yes, uint64_t idlemask);

#endif
