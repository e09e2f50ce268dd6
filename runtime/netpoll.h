/*
 * netpoll: descriptors that are watched, and waiting for them.
 *
 * Must never: know what kind of file a descriptor is.
 *
 * Functions that are apart, and why: hold and release, for one descriptor and for several, differ in what is on
 * the waiter's stack: a count of edges, or links.
 */
#ifndef WEFT_NETPOLL_H
#define WEFT_NETPOLL_H

#include "runtime/base/list.h"
#include "runtime/g.h"
#include "runtime/park.h"

/*
 * What is watched of an open descriptor: polldesc.c.  The caller keeps one slot per descriptor
 * number; NULL until the first wait.  Each direction has a count of the edges seen.
 */
struct polldesc;

typedef struct pollslot {
	/*
	 * seq_cst with closing: find_or_make() reads that one before it writes this one, under the
	 * lock
	 */
	struct polldesc *_Atomic pd;
	/* seq_cst with pd: netpoll_closing() writes this one, then reads that */
	_Atomic uint32_t closing; /* calls on their way that end the number: nothing new is put in pd */
	/* seq_cst with pd: netpoll_changed() writes this one, then reads that */
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
	uint32_t seq;        /* the count before the last try; if it was not registered, netpoll_hold() fills it in */
	int fd;              /* while trying: the held file's number, which stays until the next park, or release */
	uint64_t known;      /* pollseen's, with seq */
	bool trying;
	bool oneway;         /* the caller's word: the file tells of one direction, as an epoll does */
	bool moved;          /* hold found another registration than the look */
	bool woken;          /* the last park ended by an edge, which netpoll_release() passes on */
};

/* What a waiter reads of a registration: the first member of struct polldesc, so that it is read in line. */
struct pollseen {
	/*
	 * seq_cst with nwait: pd_wake() writes this one, then reads that; netpoll_park() the other
	 * way
	 */
	_Atomic uint32_t seq[2];    /* edges of each direction; the lot's addresses */
	_Atomic uint32_t events;    /* ends, errors, urgent data seen: a short read proves nothing any more */
	/* seq_cst with fd in keep_file() */
	_Atomic uint32_t incalls;   /* users inside a system call on fd */
	/*
	 * seq_cst with incalls: keep_file() writes this one, then reads that; netpoll_next() the
	 * other way
	 */
	_Atomic int fd;             /* changes when the program closes its number under a user */
	_Atomic uint64_t emptyseq;  /* NETPOLL_EMPTY | count at which all was read; a hint */
	/*
	 * tid of a reader << 32 | bytes that writers told of since it found nothing, and that it has not read.  Less
	 * than NETPOLL_KNOWN: not known, and each time another number (unknowns), so that a reader whose try found
	 * nothing sees whether something came meanwhile.  An edge makes it unknown, for it may stand for bytes of which
	 * nobody told.  seq_cst with seq: an edge, and a writer that tells, change this one, then move that; a reader
	 * reads both before its try.
	 */
	_Atomic uint64_t known;
	_Atomic uint32_t unknowns;  /* how often it became unknown */
};
#define NETPOLL_EMPTY (UINT64_C(1) << 32)
#define NETPOLL_KNOWN (UINT64_C(1) << 32)
#define NETPOLL_UNSEEN UINT64_MAX /* no value of known */
enum { NETPOLL_ENDED = 0x2018 }; /* of events: POLLERR, POLLHUP and POLLRDHUP */

static inline struct pollseen *netpoll_seen(struct polldesc *pd)
{
	return (struct pollseen *)(void *)pd;
}

/* At the count of w everything was read.  Of a registered one, held or not. */
static inline void netpoll_note_empty(const struct netwait *w)
{
	store_relaxed(&netpoll_seen(w->pd)->emptyseq, NETPOLL_EMPTY | w->seq);
}

/*
 * What of a stream of bytes is known without a try.  Where nobody else writes, a reader that takes the last byte that
 * it was told of sees so that there is nothing.  If others write it is wrong in one way alone: it says so while their
 * bytes are there.  Then their edge has not come, or pollquiet.c will ask: the reader waits that much longer, once.
 */
static inline uint64_t netpoll_reader(void)
{
	return (uint64_t)g_tid(getg()) << 32;
}

/* The next value of known that says nothing. */
static inline uint64_t netpoll_unknown(struct pollseen *s)
{
	return (uint32_t)(fetch_add_relaxed(&s->unknowns, 1) + 1);
}

/* The last try found nothing, or took all. */
static inline void netpoll_found_none(const struct netwait *w)
{
	uint64_t was = w->known;

	/* A writer that told meanwhile, or an edge, changed it. */
	cas_seqcst(&netpoll_seen(w->pd)->known, &was, netpoll_reader()); /* as seq */
}

/* The last try took n bytes and there was room for no more.  True: there are no others. */
static inline bool netpoll_took(const struct netwait *w, uint64_t n)
{
	struct pollseen *seen = netpoll_seen(w->pd);
	uint64_t was = load_seqcst(&seen->known), reader = netpoll_reader(), is; /* as seq */

	do {
		if (was < NETPOLL_KNOWN)
			return false;
		is = was >= reader + n && was < reader + NETPOLL_KNOWN ? was - n : netpoll_unknown(seen);
	} while (!cas_weak_seqcst(&seen->known, &was, is)); /* as seq */
	return is == reader;
}

/* an end or an error has been seen, perhaps of one direction only; or it was not watched */
static inline bool netpoll_may_have_ended(const struct netwait *w)
{
	return !w->pd || load_acquire(&netpoll_seen(w->pd)->events) & NETPOLL_ENDED;
}

/* True: at this count all was read (netpoll_note_empty()), and there was no end or error. */
static inline bool netpoll_look(struct netwait *w, pollslot *slot, enum polldir dir)
{
	struct polldesc *pd = load_seqcst(&slot->pd);
	struct pollseen *s = netpoll_seen(pd);

	w->slot = slot;
	w->oneway = false;
	w->dir = dir;
	w->pd = pd;
	w->known = NETPOLL_UNSEEN;
	if (!pd)
		return false;
	w->seq = load_seqcst(&s->seq[dir]);
	w->known = load_seqcst(&s->known); /* as seq */
	return load_relaxed(&s->emptyseq) == (NETPOLL_EMPTY | w->seq) && !load_relaxed(&s->events);
}

enum nethold {
	NETPOLL_HELD,
	NETPOLL_NONE,  /* cannot be watched; nothing is held */
	NETPOLL_OTHER, /* another file than the registered one has the number; nothing is held, or registered */
};
/* tried: by fd, so it must name the registered file. */
enum nethold netpoll_hold(struct netwait *w, int fd, bool tried);

static inline void netpoll_next(struct netwait *w)
{
	struct pollseen *s = netpoll_seen(w->pd);

	w->seq = load_seqcst(&s->seq[w->dir]); /* before the try */
	w->known = load_seqcst(&s->known); /* the same */
	/* Sequentially consistent: pairs with keep_file(), which changes fd and then reads incalls. */
	fetch_add_seqcst(&s->incalls, 1);
	w->fd = load_seqcst(&s->fd);
	w->trying = true;
}

/* 0 (perhaps at once), -ETIMEDOUT, -EINTR. */
int netpoll_park(struct netwait *w, uint64_t deadline, enum waitreason reason);
/*
 * empty: as netpoll_note_empty().  One edge wakes one of those that wait here; a waiter that it woke,
 * and that found something, passes it on here.
 * keep: a duplicate of the file that was tried last, with a number of weft's own; -1: not asked for, or there is none.
 */
int netpoll_release(struct netwait *w, bool empty, bool keep);

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
	struct listlink link; /* among those of pd */
};
/* False: one of them cannot be watched, and nothing is held. */
bool netpoll_holdset(struct pollset *set, struct polllink *l, unsigned n);
void netpoll_releaseset(struct polllink *l, unsigned n);

/*
 * A word of the poller as an address in the lot.  The low bits say, as everywhere there, that no object of
 * pthreads is meant.
 */
static inline const void *netpoll_key(const _Atomic uint32_t *word)
{
	return (const char *)word + 3;
}

static inline int netpoll_fired(void *set)
{
	return load_seqcst(&((struct pollset *)set)->fired) != 0; /* seq_cst: see the field */
}

/* 0: fired; -ETIMEDOUT, -EINTR. */
static inline int netpoll_parkset(struct pollset *set, uint64_t deadline, enum waitreason reason)
{
	struct park pk = park_wait(netpoll_key(&set->fired), netpoll_fired, set, reason);

	park_until_ns(&pk, deadline);
	return park_woken(lot_park(&pk));
}

/*
 * Around a system call of the program's that ends the number fd, as close or dup2.  Waiters go on
 * waiting for the open file.  A waiter that comes in between watches the file by a number of our
 * own: the file that the program's number names is about to change, and the kernel drops what is
 * watched by that number.
 *
 * slot NULL: a call that ends numbers which have no slot, or many (fd < 0).  While one is on its way, each
 * new waiter watches by a number of our own.  With many, all that registered without seeing that stand
 * in their slots when netpoll_closing() returns, for the caller to forget.  A number of the poller's own is left to
 * the program: the poller has another by then.
 */
void netpoll_closing(pollslot *slot, int fd);

/* seq_cst with pollslot.pd, as pollslot.closing */
extern _Atomic uint32_t netpoll_closing_any hidden; /* calls on their way that end numbers without naming each */

static inline void netpoll_closed(pollslot *slot)
{
	fetch_sub_seqcst(slot ? &slot->closing : &netpoll_closing_any, 1); /* seq_cst: see both */
}

/* What became of a number beside a call that ends it: drops what the slot names, or tells its waiters: */
enum pollchange {
	NETPOLL_KEEPS, /* its waiters go on waiting for the open file */
	NETPOLL_GONE,  /* its file was closed where weft did not see it, another has the number: they are told EBADF */
	NETPOLL_BARS,  /* they are told EBADF, and until it is unbarred as often, or closed, fd cannot be watched */
	NETPOLL_RETRY, /* nothing is dropped: they try again, for something changed of which the kernel does not tell */
	NETPOLL_RETRY_OUT, /* the same for writers alone */
	NETPOLL_TOLD, /* a thread of this process has put something in: one reader need not wait for the poller */
	NETPOLL_TOLD_OWN, /* the same of a file that no other process has */
};
void netpoll_changed(pollslot *slot, int fd, enum pollchange how);
/* n bytes of them, of a stream that is counted; 0: it is not.  own: no other process has the file. */
static inline void netpoll_tell(pollslot *slot, int fd, uint64_t n, bool own)
{
	const uint64_t most = UINT64_C(1) << 30;
	struct polldesc *pd = load_seqcst(&slot->pd);
	struct pollseen *s = netpoll_seen(pd);
	uint64_t was, is;

	if (!pd)
		return;
	was = load_seqcst(&s->known); /* as seq, which moves next */
	while (n) {
		is = was >= NETPOLL_KNOWN && n < most && (uint32_t)was < most ? was + n : netpoll_unknown(s);
		if (cas_weak_seqcst(&s->known, &was, is))
			break;
	}
	netpoll_changed(slot, fd, own ? NETPOLL_TOLD_OWN : NETPOLL_TOLD);
}
static inline void netpoll_unbar(pollslot *slot)
{
	uint32_t n = load_acquire(&slot->barred);

	while (n && !cas_weak_seqcst(&slot->barred, &n, n - 1)) /* seq_cst: see the field */
		;
}

/* Descriptors of our own: the program must not close them, and may have their numbers.  -1: not open. */
enum { NETPOLL_EPOLL, NETPOLL_EVENTFD, NETPOLL_CLOCK, NETPOLL_NOWN };
extern _Atomic int netpoll_own[NETPOLL_NOWN] hidden;

static inline bool netpoll_owns(int fd)
{
	for (int i = 0; fd >= 0 && i < NETPOLL_NOWN; i++)
		if (fd == load_acquire(&netpoll_own[i]))
			return true;
	return false;
}

/* *which: the lowest at or above fd. */
static inline bool netpoll_owns_above(int fd, int *which)
{
	*which = INT32_MAX;
	for (int i = 0; fd >= 0 && i < NETPOLL_NOWN; i++) {
		int have = load_acquire(&netpoll_own[i]);

		if (have >= fd && have < *which)
			*which = have;
	}
	return *which != INT32_MAX;
}

#endif
