/*
 * netpoll: descriptors that are watched, and waiting for them.
 *
 * Must never: know what kind of file a descriptor is.
 */
#ifndef WEFT_NETPOLL_H
#define WEFT_NETPOLL_H

#include "runtime/runtime.h"

/*
 * What is watched of an open descriptor: polldesc.c.  The caller keeps one slot per descriptor
 * number; NULL until the first hold.  Each direction has a count of the edges seen.  To wait: read
 * the count, try (or ask) without blocking, and when that would block, park as long as the count is
 * still the same.
 *
 * Between hold and release the caller is pinned: no handler runs, so nothing of it is lost by a
 * jump.  It may make system calls that do not block, and park; a park that says -EINTR must be
 * followed by release before handlers or cancellation are looked at.
 */
struct polldesc;

typedef struct {
	struct polldesc *_Atomic pd;
	_Atomic uint32_t closing; /* calls on their way that end the number: nothing new is put in pd */
	_Atomic uint32_t barred;  /* not 0: never watched */
} pollslot;

enum polldir { NETPOLL_IN, NETPOLL_OUT };

/* Registers on demand.  NULL (and no pin): this one cannot be watched. */
struct polldesc *netpoll_hold(pollslot *slot, int fd);
void netpoll_release(struct polldesc *pd);
uint32_t netpoll_seq(const struct polldesc *pd, enum polldir dir); /* 0 when just registered; without hold too */

/*
 * Around a system call on a held one: its number, which changes when the program closes it
 * meanwhile.
 */
int netpoll_fdget(struct polldesc *pd);
void netpoll_fdput(struct polldesc *pd);

/* a duplicate of fd with a number of weft's own; -1: there is none */
int netpoll_dup(int fd);

/*
 * Sleeps until an edge after seq: 0 (perhaps at once), -ETIMEDOUT, -EINTR.  One edge wakes one of
 * those that wait here; after 0 the caller tries, and if that did not end in "would block", passes
 * it on.
 */
int netpoll_park(struct polldesc *pd, enum polldir dir, uint32_t seq, uint64_t deadline,
		 enum waitreason reason);
void netpoll_pass(struct polldesc *pd, enum polldir dir);

/*
 * Notes, and asks later, that at count seq everything was read.  Never true once it ended or broke.
 */
void netpoll_note_empty(struct polldesc *pd, uint32_t seq);
bool netpoll_known_empty(const struct polldesc *pd, uint32_t seq);

/* an end or an error has been seen, perhaps of one direction only */
bool netpoll_has_ended(const struct polldesc *pd);

/* Makes the waiters try again: something has changed of which the kernel does not tell. */
void netpoll_retry(pollslot *slot, enum polldir dir);

/*
 * Waiting for several at once.  Links live on the waiter, all of them unlinked before it goes on.
 * An edge of a linked one that has to do with its events sets fired; the waiter clears it, asks,
 * and parks while it is clear.
 */
struct pollset {
	_Atomic uint32_t fired; /* the waiter's address in the lot */
};

struct polllink {
	struct polldesc *pd; /* held */
	struct pollset *set;
	struct polllink *next, *prev;
	uint32_t events;
};

void netpoll_link(struct polllink *l);
void netpoll_unlink(struct polllink *l);
int netpoll_parkset(struct pollset *set, uint64_t deadline, enum waitreason reason);

/*
 * Around a system call of the program's that ends the number fd, as close or dup2.  Waiters go on
 * waiting for the open file.  A waiter that comes in between watches the file by a number of our
 * own: the file that the program's number names is about to change, and the kernel drops what is
 * watched by that number.
 */
void netpoll_closing(pollslot *slot, int fd);
void netpoll_closed(pollslot *slot);

/*
 * The same for a call that ends numbers which have no slot, or many: while one is on its way, each
 * new waiter watches by a number of our own.  After netpoll_synchronize() all that registered without
 * seeing the count stand in their slots, for the caller to forget.
 */
void netpoll_closing_any(void);
void netpoll_closed_any(void);
void netpoll_synchronize(void);

/*
 * Drops what the slot names.  gone: its file was closed where weft did not see it, and another file
 * has the number: waiters are told EBADF.
 */
void netpoll_forget(pollslot *slot, int fd, bool gone);

/*
 * Until it is unbarred as often, or forgotten, fd cannot be watched; its waiters are told EBADF.
 */
void netpoll_bar(pollslot *slot, int fd);
void netpoll_unbar(pollslot *slot);

/* False: another file than the registered one has the number, so what was registered is gone. */
bool netpoll_same(pollslot *slot, int fd);

/* Before the first thread: numbers that the poller will use are within the kernel's table. */
void netpoll_makeroom(void);

/* Before a wait for a clock that may be set: it follows when that is. */
void netpoll_clock(void);

/* Descriptors of our own: the program must not close them, and may have their numbers. */
bool netpoll_owns(int fd);
bool netpoll_owns_above(int fd, int *which); /* the lowest at or above fd */
void netpoll_move(int fd);

#endif
