/*
 * fdtable: what the shim knows of each descriptor number, and what of it may be believed.
 *
 * A slot is a cache.  Its kind is believed until the number is closed or made anew; all that does
 * that in this process is told here, by fdevents.c.  What another process can change without us (O_NONBLOCK,
 * time-outs, packets of a pipe) is believed only of a file that this process made and that no other
 * process can have: one fork, or one descriptor passed, ends that for all files there are by then.
 *
 * Must never: change a flag of the program's open file.
 */
#ifndef WEFT_SHIM_FDTABLE_H
#define WEFT_SHIM_FDTABLE_H

#include "runtime/netpoll.h"
#include "shim/process/clone.h"
#include "shim/syscall/rawsyscall.h"

enum fdkind {
	FDK_NEW,      /* not looked at */
	FDK_FILE,     /* left to the kernel in all: a disk, and what asking may change */
	FDK_WATCHED,  /* can be waited for, but the calls are the kernel's: a pidfd, or SO_RCVLOWAT */
	FDK_TCP,
	FDK_STREAM,   /* other stream sockets */
	FDK_DGRAM,    /* message sockets: sending is not parked for */
	FDK_SEQ,      /* SOCK_SEQPACKET: write(2) adds MSG_EOR */
	FDK_PIPE,     /* RWF_NOWAIT works */
	FDK_COUNTER,  /* eventfd, timerfd: RWF_NOWAIT works for reading; writing is not parked for */
	FDK_EPOLL,
	FDK_TERMINAL, /* reading is not parked for either, but whether it waits can be asked */
	FDK_ASKED,    /* readiness can be asked, calls may block: named pipes */
	FDK_EVENTS,   /* the same for reading; writing never waits, or is not parked for */
	FDK_SIGNALS,  /* a signalfd: the same, and a read of too little fails at once */
};

/* What was asked of an open file, for one direction. */
struct fdmemo {
	/* seq_cst with timeout between two equal keys: remembered() */
	_Atomic uint64_t key;     /* epoch << 32 | life << 8 | flags; written by one thread at a time */
	/* seq_cst with key in remembered() */
	_Atomic uint64_t timeout; /* SO_RCVTIMEO or SO_SNDTIMEO in ns; 0: none */
};

struct fdslot {
	pollslot poll;
	/* seq_cst with fdkind.c's in_use: fdslot_look() writes this one, then reads that */
	_Atomic uint32_t state; /* life << 8 | kind; the life changes when the number is closed or made */
	/* fdtable_alone() before the file was made here; 0: others may have it.  Ordered as fdflags.c's alone */
	_Atomic uint32_t alone;
	struct fdmemo memo[2];
	/* life << 32 | number + 1 of the end that reads what is written here, as it was made: a hint; 0: not known */
	_Atomic uint64_t peer;
};

enum { SLOTS_CHUNK = 256, SLOTS_CHUNKS = 4096, SLOTS_MAX = SLOTS_CHUNK * SLOTS_CHUNKS };

extern void *_Atomic fdtable_chunks[SLOTS_CHUNKS] hidden; /* of fdslots */

/* NULL: nothing has been noted of a number near this one. */
static inline struct fdslot *fdslot_known(int fd)
{
	unsigned int i = (unsigned int)fd;
	/* Acquire: pairs with tablepart(). */
	struct fdslot *chunk =
		i < SLOTS_MAX ? load_acquire(&fdtable_chunks[i / SLOTS_CHUNK]) : NULL;

	return chunk ? &chunk[i % SLOTS_CHUNK] : NULL;
}

struct fdslot *fdslot_make(int fd) hidden; /* of one that is not known */

static inline struct fdslot *fdslot_there(int fd) /* with or without tries */
{
	struct fdslot *s = fdslot_known(fd);

	if (is_unshared(UNSHARED_FILES | UNSHARED_TABLE))
		return NULL;
	return likely(s != NULL) ? s : fdslot_make(fd);
}

/*
 * A filter allows only the calls as they came: fdslot_of() is NULL, and a caller in the middle of a
 * wait makes the call.
 */
/*
 * All threads'.  seq_cst with pollslot.pd: fdtable_tries_end() writes this one, then reads that; a waiter the
 * other way.
 */
extern _Atomic bool fdtable_notries hidden;
static inline bool fdtable_tries_ended(void)
{
	return load_seqcst(&fdtable_notries) || weft_tls.filtered;
}
void fdtable_tries_end(void) hidden;
/*
 * On a G, after that and a fence of all threads: those that looked before make their calls now, before there is a
 * filter (fdask.h).
 */
void fdtable_await_asking(void) hidden;

/* NULL: a number beyond all tables, or of another table than the process's. */
static inline struct fdslot *fdslot_of(int fd)
{
	return unlikely(fdtable_tries_ended()) ? NULL : fdslot_there(fd);
}

/* Calls fn for each slot that was ever used. */
void fdtable_each(void (*fn)(struct fdslot *s, int fd)) hidden;
void fdtable_fork_child(void) hidden;

/* For epollset.c: no G parks for it any more, until it is closed or as many times unbarred. */
void fdslot_bar(struct fdslot *s, int fd) hidden;
void fdslot_unbar(struct fdslot *s) hidden;
uint32_t fdtable_bars(void) hidden; /* how often that was done */
bool fdslot_is_barred(const struct fdslot *s) hidden;

/* ---- what a number is: fdkind.c -------------------------------------------------------------- */

/* The kind turned out to be another. */
void fdslot_setkind(struct fdslot *s, enum fdkind kind) hidden;

static inline enum fdkind fdslot_kindnow(const struct fdslot *s)
{
	return (enum fdkind)(load_relaxed(&s->state) & 0xff);
}

enum fdkind fdslot_look(struct fdslot *s, int fd) hidden; /* of one that is FDK_NEW */
static inline enum fdkind fdslot_kind(struct fdslot *s, int fd)
{
	enum fdkind kind = fdslot_kindnow(s);

	return likely(kind != FDK_NEW) ? kind : fdslot_look(s, fd);
}

static inline bool fdkind_is_socket(enum fdkind kind)
{
	return kind == FDK_TCP || kind == FDK_STREAM || kind == FDK_DGRAM || kind == FDK_SEQ;
}

/* fd was made, accepted from listener: it is a socket of the same kind. */
void fdtable_accepted(int fd, int listener) hidden;
void fdtable_lowat_used(void) hidden; /* SO_RCVLOWAT was set */
void fdtable_records_used(void) hidden; /* a TCP socket became a stream of records */
void fdtable_epolls_barred(void) hidden; /* each epoll is looked at, and made, as a FDK_FILE from here on */
void fdtable_made_epoll(struct fdslot *s) hidden; /* by this process, and no other has it */

static inline uint32_t fdslot_gen(const struct fdslot *s)
{
	return load_seqcst(&s->state) >> 8;
}

/* ---- may a call wait?  fdflags.c ------------------------------------------------------------- */

enum verdict { MAY_PARK, PARKS_FOR_SURE, NONBLOCKING, OTHER_FILE, NOT_OPEN_FOR_IT };

/*
 * A call on fd would have blocked: is that what the program wants, and for how long (*timeout, ns;
 * 0: without end)?  s NULL: fd is a number of ours for it, and nothing is noted.
 */
enum verdict fdslot_may_park(struct fdslot *s, int fd, enum polldir dir, uint64_t *timeout) hidden;
/* Does O_NONBLOCK stand?  Not asked of one that is known to block. */
bool fdslot_nonblocking(struct fdslot *s, int fd, enum polldir dir) hidden;
/* It did when that was first asked. */
bool fdslot_was_nonblocking(struct fdslot *s, int fd, enum polldir dir) hidden;
/* A short read of this file says that there is no more, and the next read would wait *timeout. */
bool fdslot_short_read_tells(struct fdslot *s, int fd, uint64_t *timeout) hidden;

/* A pipe ends a wait that has begun when O_NONBLOCK is set meanwhile; others ask once. */
bool fdslot_stops_waiting(struct fdslot *s, int fd, enum polldir dir) hidden;
/* A pipe whose lock a sleeping splice() may hold. */
bool fdslot_is_spliced(const struct fdslot *s) hidden;
/* No other process has the file, so what is known of its flags is true. */
bool fdslot_is_alone(const struct fdslot *s) hidden;

uint32_t fdtable_alone(void) hidden;
uint32_t fdtable_alone_of(int fd) hidden; /* for another number of the same file */
/* Another process gets open files of ours; before the call. */
void fdtable_shared(void) hidden;
/* A flag or a time-out has changed, on some descriptor of the same open file. */
void fdtable_changed(void) hidden;
void fdtable_splice_used(void) hidden; /* a pipe's lock may be held by a thread that sleeps */
void fdtable_packets_used(void) hidden; /* a pipe was put in packet mode */

/* ---- the other end: fdpeer.c ----------------------------------------------------------------- */

void fdpeer_made(int a, int b) hidden;         /* two ends of one file, or twice one that reads what it was given */
void fdpeer_copied(int from, int to) hidden;   /* to is another number of the same file */
void fdpeer_tell_slow(uint64_t peer, long n) hidden;
/* n bytes were written to a file whose slot has this peer. */
static inline void fdpeer_tell(uint64_t peer, long n)
{
	if (peer)
		fdpeer_tell_slow(peer, n);
}

/* After a write that was not tried: its result. */
static inline long fdpeer_wrote(const struct fdslot *s, long r)
{
	if (r > 0 && s)
		fdpeer_tell(load_relaxed(&s->peer), r);
	return r;
}

/* ---- closed, made anew: fdlife.c, for fdevents.c --------------------------------------------- */

/* Around a call that ends fd; the weft_on of both must be the same. */
struct fdslot *fdtable_closing(int fd) hidden;
void fdtable_closed(struct fdslot *s) hidden; /* what fdtable_closing() returned */
void fdtable_closing_range(unsigned int from, unsigned int to) hidden;
void fdtable_closed_range(unsigned int from, unsigned int to) hidden;
/* fd was just made; alone: fdtable_alone() before that, 0 when others may have the file. */
void fdtable_made(int fd, uint32_t alone) hidden;

#endif
