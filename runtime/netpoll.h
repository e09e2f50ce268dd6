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
 * number; NULL until the first wait.  Each direction has a count of the edges seen.
 */
struct polldesc;

typedef struct {
	/*
	 * seq_cst with closing: find_or_make() reads that one before it writes this one, under the
	 * lock
	 */
	struct polldesc *_Atomic pd;
	/* seq_cst with pd: netpoll_closing() writes this one, then reads that */
	_Atomic uint32_t closing; /* calls on their way that end the number: nothing new is put in pd */
	/* seq_cst with pd: netpoll_bar() writes this one, then reads that */
	_Atomic uint32_t barred;  /* not 0: never watched */
} pollslot;

enum polldir { NETPOLL_IN, NETPOLL_OUT };

/*
 * One wait for one descriptor, on the waiter's stack.
 *
 *	netpoll_look()      before a try by the program's number: notes the count
 *	netpoll_hold()      the try would have blocked: registers on demand, holds the open file
 *	netpoll_park()      sleeps until an edge after the count, then as netpoll_next()
 *	netpoll_next()      before a try by w->fd: notes the count, takes the number
 *	netpoll_release()   the end
 *
 * Between hold and release the caller is pinned: no handler runs, so nothing of it is lost by a
 * jump.  It may make system calls that do not block, and park; a park that says -EINTR must be
 * followed by release before handlers or cancellation are looked at.
 */
struct netwait {
	pollslot *slot;
	struct polldesc *pd; /* NULL: was not registered at the look */
	enum polldir dir;
	uint32_t seq;        /* the count before the last try */
	int fd;              /* while trying: the held file's number, which stays until the next park, or release */
	bool trying;
	bool moved;          /* hold found another registration than the look */
	bool woken;          /* the last park ended by an edge.  The caller found nothing: it makes this false */
};
enum nethold {
	NETPOLL_HELD,
	NETPOLL_NONE,  /* cannot be watched; nothing is held */
	NETPOLL_OTHER, /* another file than the registered one has the number; nothing is held, or registered */
};
/* True: at this count all was read (netpoll_note_empty()), and there was no end or error. */
bool netpoll_look(struct netwait *w, pollslot *slot, enum polldir dir);
/* tried: by fd, so it must name the registered file. */
enum nethold netpoll_hold(struct netwait *w, int fd, bool tried);
void netpoll_next(struct netwait *w);
/* 0 (perhaps at once), -ETIMEDOUT, -EINTR. */
int netpoll_park(struct netwait *w, uint64_t deadline, enum waitreason reason);
/*
 * empty: as netpoll_note_empty().  One edge wakes one of those that wait here; a waiter that it woke,
 * and that found something, passes it on here.
 */
void netpoll_release(struct netwait *w, bool empty);
/* At the count of w everything was read.  Of a registered one, held or not. */
void netpoll_note_empty(const struct netwait *w);
/* an end or an error has been seen, perhaps of one direction only; or it was not watched */
bool netpoll_may_have_ended(const struct netwait *w);
/* a duplicate of fd with a number of weft's own; -1: there is none */
int netpoll_dup(int fd);
/* Makes the waiters try again: something has changed of which the kernel does not tell. */
void netpoll_retry(pollslot *slot, enum polldir dir);

/*
 * Waiting for several at once.  Links live on the waiter; from holdset to releaseset all are held, and
 * the caller is pinned as above.  An edge of a linked one that has to do with its events sets fired;
 * the waiter clears it, asks, and parks while it is clear.
 */
struct pollset {
	/*
	 * seq_cst with what is asked of the descriptors: cleared before the question, written after
	 * an edge
	 */
	_Atomic uint32_t fired; /* the waiter's address in the lot */
};
struct polllink {
	pollslot *slot; /* NULL: not waited for */
	int fd;
	uint32_t events;
	struct polldesc *pd;
	struct pollset *set;
	struct polllink *next, *prev;
};
/* False: one of them cannot be watched, and nothing is held. */
bool netpoll_holdset(struct pollset *set, struct polllink *l, unsigned n);
void netpoll_releaseset(struct polllink *l, unsigned n);
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

/* Before the first thread: numbers that the poller will use are within the kernel's table. */
void netpoll_makeroom(void);

/* Before a wait for a clock that may be set: it follows when that is. */
void netpoll_clock(void);

/* Descriptors of our own: the program must not close them, and may have their numbers. */
bool netpoll_owns(int fd);
bool netpoll_owns_above(int fd, int *which); /* the lowest at or above fd */
void netpoll_move(int fd);

#endif
