/*
 * waits: how long threads of a process waited, and where, or for whom.
 */
#ifndef WEFT_CTL_WAITS_H
#define WEFT_CTL_WAITS_H

#include "ctl/pprof.h"
#include "ctl/process.h"

/*
 * Traces the process for ns and adds each wait that ends in that time, to the stack that waited, or (mutexes: of locks
 * alone) to the one that ended it, as Go's block and mutex profiles.  *lost: events of the trace.  False: that was said.
 */
bool waits_gather(struct proc *p, uint64_t ns, bool mutexes, struct pprof *pp, uint64_t *lost);

#endif
