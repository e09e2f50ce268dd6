/* overrun: see overrun.c.  slot is the row of posix_timer.c. */
#ifndef WEFT_SHIM_OVERRUN_H
#define WEFT_SHIM_OVERRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* A timer that sent a queued signal: its row and the turn in which it was queued; slot -1: no timer. */
struct overrun {
	int slot;
	uint32_t turn;
};

/* There is a word for that slot.  False: no memory. */
bool overrun_room(int slot) hidden;
/* One expiration and more of them: true, it is to be queued, as *out; false: one waits, and tells of these. */
bool overrun_begins(int slot, int more, struct overrun *out) hidden;
bool overrun_stale(struct overrun of) hidden; /* the timer was set anew, or deleted, since */
/* It is off the queue: how many expirations it tells of besides its own; -1: it is stale. */
int overrun_taken(struct overrun of) hidden;
void overrun_dropped(struct overrun of) hidden; /* it was not delivered, the next one may be */
bool overrun_anew(int slot) hidden; /* what waits is stale from now on; true: something did */
int overrun_last(int slot) hidden;  /* of the last one that was taken: timer_getoverrun() */

#endif
