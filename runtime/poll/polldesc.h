/*
 * polldesc: the registration of one open descriptor, and what the files of this folder do with it.
 *
 * Must never: be included outside runtime/poll.
 */
#ifndef WEFT_POLLDESC_H
#define WEFT_POLLDESC_H

#include "runtime/sched/gmp.h"

enum { ENDED = OS_POLLERR | OS_POLLHUP | OS_POLLRDHUP };
_Static_assert((int)ENDED == (int)NETPOLL_ENDED, "netpoll.h names the same bits");
enum { REGLOCKS = 64 };
#define PD_EVENTS (OS_POLLIN | OS_POLLOUT | OS_POLLPRI | OS_POLLRDHUP | OS_POLLEDGE)

struct polldesc {
	struct pollseen seen;       /* first: netpoll.h */
	/* seq_cst with seen.seq in pd_wake() */
	_Atomic uint32_t nwait[2];  /* about to park, or parked */
	_Atomic uint32_t vain;      /* its last event woke the poller for nobody: pollonce.c */
	_Atomic bool once;          /* (L) written: watched for one event */
	_Atomic uint32_t told;      /* readers that were woken by being told since it was quiet; a hint */
	_Atomic uint32_t quietafter; /* of those; a hint */
	_Atomic bool heard;         /* just watched for all again, with a reader parked, and not told since; a hint */
	/*
	 * (L pd_reglock()) written; watched for its end alone.  seq_cst with nwait: pd_was_told() writes this one, then
	 * reads that; a park the other way
	 */
	_Atomic bool quiet;
	bool listed;                /* (L pollquiet.c's) */
	uint64_t quietsince;        /* the same */
	struct polldesc *nextquiet; /* the same */
	uint32_t oncerow;           /* (L pd_reglock()) so many parks more are to watch for one */
	_Atomic uint32_t gen;       /* of this life; an event of a former one is stale */
	struct lock lock;           /* rank Polldesc */
	uint32_t users;             /* (L) */
	bool detached;              /* (L) its number was closed; the last user frees it */
	listhead links;             /* (L) written; polldesc_fire() looks first whether there is one */
	struct polldesc *free;      /* (L pool) */
	uint32_t first[2];          /* (c per life) seen.seq when it was registered */
	uint32_t index;             /* (c) */
	uint64_t file[2];           /* (c per life) device and inode */
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct polldesc, seen) == 0, "netpoll_seen()");

/* ---- polldesc.c ---- */
/* Of this number, rank Pollreg: registering against closing. */
struct lock *pd_reglock(int fd) hidden;
struct polldesc *pd_hold(pollslot *slot, int fd) hidden; /* pinned; NULL: fd cannot be watched */
void pd_drop(struct polldesc *pd) hidden;                 /* held no more */
void pd_put(struct polldesc *pd) hidden;                  /* of no use any more */
int pd_watch(struct polldesc *pd, int fd) hidden;
uint64_t pd_data(struct polldesc *pd) hidden;             /* what an event of it carries */

struct polldesc *pd_at(uint32_t index) hidden;
void netpoll_told(pollslot *slot, bool own) hidden;       /* NETPOLL_TOLD, NETPOLL_TOLD_OWN */

/* ---- pollonce.c ---- */
/* Before a park at what tells of one direction; no number is held. */
void pd_arm_slow(struct polldesc *pd) hidden;
static inline void pd_arm(struct polldesc *pd)
{
	if (unlikely(load_relaxed(&pd->vain) || load_relaxed(&pd->once)))
		pd_arm_slow(pd);
}
void pd_arm_for_links(struct polldesc *pd) hidden; /* a link was put in, and once seen */

/* The lock of pd's number, and that; false: it has none.  A caller that does not hold pd looks whose it is. */
bool pd_lock_number(struct polldesc *pd, int *fd) hidden;
/* The same if that lock is free: for a caller that may be inside a call on a number, for which a closer waits. */
bool pd_lock_number_if_free(struct polldesc *pd, int *fd) hidden;

/* ---- pollquiet.c ---- */
/* A reader was woken by being told, on a P, and pd is not quiet.  The slot had it. */
void pd_was_told(pollslot *slot, struct polldesc *pd) hidden;
void pd_hear(struct polldesc *pd) hidden; /* watched for all again, if it was quiet */
void pd_was_heard(struct polldesc *pd) hidden; /* the kernel's word woke a reader then */

/* ---- pollclose.c ---- */
/* Its pd_reglock() held.  Not NULL: with a use of it, for users are in calls on the number: await_calls(). */
struct polldesc *pd_forget(pollslot *slot, struct polldesc *pd, int fd, bool gone) hidden;

#endif
