/*
 * sigring: the ring, and what all keep out, for the signal thread: see sigring.c and sigkeepout.c.
 */
#ifndef WEFT_SHIM_SIGRING_H
#define WEFT_SHIM_SIGRING_H

#include "runtime/process.h"
#include "shim/signal/sigroute.h"

/* The consumer: the oldest, which stays until it is done with. */
bool sigring_first(int *sig, siginfo_t *si, long *named) hidden; /* named: see sigroute_defer_at(); 0: none */
void sigring_done(void) hidden;
/* Standard signals that found the ring full; one of them could not be directed. */
uint64_t sigring_coalesced(void) hidden;
void sigring_coalesce(int sig) hidden;
bool sigring_empty(void) hidden;   /* the consumer is done with all that was put in */
bool sigring_waiting(void) hidden; /* there is something that it has not begun with */
uint64_t sigring_held_back(void) hidden; /* what the signal thread blocked to have enough; none from now on */

/* The signal thread sleeps until work is announced that came after seen. */
uint32_t sigring_seen(void) hidden;
void sigring_sleep(uint32_t seen, const struct timespec *most) hidden;
void sigring_wake(void) hidden;  /* there is work */
void sigring_round(void) hidden; /* it has looked at all there was: sigroute_flush() */
void sigring_fork_child(void) hidden;

/*
 * The consumer: whether it is to be there, is there and will run, is the caller.  Written by sigroute.c.
 */
/* started: seq_cst with the ring's head: cleared, then the ring is looked at; a producer puts in, then reads this */
extern struct helper sigthread hidden;
extern _Atomic bool sigthread_is_made hidden;
extern __thread bool is_sigthread hidden __attribute__((tls_model("initial-exec")));

/* sigkick.c, for the signal thread: some G has undelivered signals; those are kicked again; main alone is. */
bool sigkick_wanted(void) hidden;
void sigkick_again(void) hidden;
void sigkick_main(void) hidden;
void sigkick_fork_child(void) hidden;

/* sigkeepout.c, all but the first two for the signal thread. */
bool keepout_asked(void) hidden; /* a request is not done yet */
uint64_t keepout_by_all(uint64_t set) hidden; /* of set, what no G lets in; none when all have ended */
void keepout_begin(void) hidden;
void keepout_apply(void) hidden; /* what was asked for */
void keepout_add(uint64_t set) hidden;
/* The same; and the wishes of before, to let set in, no longer count: the caller looks at the masks next. */
void keepout_again(uint64_t set) hidden;
void keepout_let_in(uint64_t set) hidden; /* what no G keeps out of it */
void keepout_nobody(void) hidden; /* it has ended */
void keepout_reset(void) hidden;

#endif
