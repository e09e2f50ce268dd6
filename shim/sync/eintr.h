/*
 * eintr: waits that handlers of the program end.
 *
 * A wait notes how many handlers its thread has run (eintr_mark()), parks, and when the lot says -EINTR asks
 * eintr_deliver() what that means for the call.
 */
#ifndef WEFT_SHIM_EINTR_H
#define WEFT_SHIM_EINTR_H

#include "runtime/park.h"

/* Before a wait that handlers end: those that run from here on have interrupted it. */
uint64_t eintr_mark(void) hidden; /* never 0 */
bool eintr_ran(uint64_t mark) hidden;
/* lot_park() and lot_sleep(), -EINTR where one has run since. */
int eintr_park(struct park *pk, uint64_t mark) hidden;
int eintr_sleep(struct park *pk, uint64_t mark) hidden;

/* Runs the handlers of signals that ended a park; the mark then stands after them. */
enum eintr {
	INTR_NONE,     /* no handler ran: something else, or nothing, was the reason */
	INTR_RESTARTS, /* the first of each delivery has SA_RESTART */
	INTR_ENDS,
};
enum eintr eintr_deliver(uint64_t *mark) hidden;
void eintr_look(void) hidden; /* of a wait that goes on whatever has run */
/* Of a call that a signal interrupted and that has a result all the same.  In the region of a mask: nothing. */
void eintr_after(void) hidden;
/*
 * The same for a wait that is no cancellation point: an asynchronous cancellation is acted on, with
 * nothing taken that unwinding would keep.
 */
enum eintr eintr_in_call(uint64_t *mark) hidden;
void eintr_in_lock(void) hidden;

#endif
