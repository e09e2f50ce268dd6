/* workloads: what workloads.c, races.c and streams.c share. */
#ifndef WEFT_TESTS_SIM_WORKLOADS_H
#define WEFT_TESTS_SIM_WORKLOADS_H

#include "runtime/netpoll.h"
#include "tests/sim/sim.h"

#define some sim_some

struct thread *start(void (*fn)(void *), void *arg);
struct thread *start_locked(void (*fn)(void *), void *arg); /* go_locked() */
void join_all(void);      /* all that were started */
void forget_threads(void); /* in the child of a fork: none was */
void need_slices(void);   /* it may never end without preemption */

/* ---- streams.c ---------------------------------------------------------------------------------- */

struct stream {
	int fd;
	pollslot slot;
	unsigned sent;
	_Atomic unsigned got;
	_Atomic bool closed;
	bool oneway;          /* struct netwait */
	bool hints;           /* a read that had less than there was room for has told that there is no more */
	unsigned dawdle;      /* times that the CPU is lost between a try and the wait, at most */
};
void stream_open(struct stream *s);
/* also -EBADF, -EAGAIN: again, -ETIMEDOUT, -EINTR */
int stream_read(struct stream *s, unsigned most, uint64_t deadline);
int stream_poll(struct stream *const *s, unsigned n, uint64_t deadline);
void stream_write(struct stream *s, unsigned n);
void stream_end(struct stream *s);
void stream_close(struct stream *s);

/* ---- races.c ------------------------------------------------------------------------------------ */

void workload_edges(void);
void workload_replies(void);
void workload_sharers(void);
void workload_timers(void);
void workload_alarms(void);
void workload_broadcasts(void);
void workload_cancels(void);
void workload_resizes(void);
void workload_yields(void);
void workload_meetings(void);
void workload_storms(void);
void workload_aside(void);
void workload_outside(void);
void workload_lulls(void);
void workload_loops(void);

/* ---- posts.c ------------------------------------------------------------------------------------ */

void workload_posts(void);
void workload_hogs(void);

/* ---- handlers.c -------------------------------------------------------------------------------- */

void workload_handlers(void);

/* ---- turns.c ----------------------------------------------------------------------------------- */

void workload_turns(void);

/* ---- dozes.c ----------------------------------------------------------------------------------- */

void workload_dozes(void);
void workload_intruders(void);

/* ---- scarce.c ---------------------------------------------------------------------------------- */

void workload_scarce(void);

/* ---- counts.c ---------------------------------------------------------------------------------- */

void workload_counted(void);
void workload_single(void);

/* ---- guests.c ---------------------------------------------------------------------------------- */

void workload_guests(void);

/* ---- rests.c ------------------------------------------------------------------------------------ */

void workload_rests(void);
void workload_wakers(void);
void workload_tides(void);
void workload_retakes(void);

/* ---- ways.c, numbers.c ---------------------------------------------------------------------------- */

void workload_owners(void);
void workload_homes(void);
void workload_fromnow(void);
void workload_crowds(void);
void workload_forks(void);
void workload_clocks(void);
void workload_numbers(void);
void workload_relives(void);

#endif
