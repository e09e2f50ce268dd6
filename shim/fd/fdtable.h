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

#include "shim/process/clone.h"
#include "shim/syscall/rawsyscall.h"

enum netkind {
	NET_NEW,      /* not looked at */
	NET_FILE,     /* left to the kernel in all: a disk, and what asking may change */
	NET_WATCHED,  /* can be waited for, but the calls are the kernel's: a pidfd, or SO_RCVLOWAT */
	NET_TCP,
	NET_STREAM,   /* other stream sockets */
	NET_DGRAM,    /* message sockets: sending is not parked for */
	NET_SEQ,      /* SOCK_SEQPACKET: write(2) adds MSG_EOR */
	NET_PIPE,     /* RWF_NOWAIT works */
	NET_COUNTER,  /* eventfd, timerfd: RWF_NOWAIT works for reading; writing is not parked for */
	NET_EPOLL,
	NET_TERMINAL, /* reading is not parked for either, but whether it waits can be asked */
	NET_ASKED,    /* readiness can be asked, calls may block: named pipes */
	NET_EVENTS,   /* the same for reading; writing never waits, or is not parked for */
	NET_SIGNALS,  /* a signalfd: the same, and a read of too little fails at once */
};

/* What was asked of an open file, for one direction. */
struct netmemo {
	_Atomic uint64_t key;     /* epoch << 32 | life << 8 | flags; written by one thread at a time */
	_Atomic uint64_t timeout; /* SO_RCVTIMEO or SO_SNDTIMEO in ns; 0: none */
};

struct netfd {
	pollslot poll;
	_Atomic uint32_t state; /* life << 8 | kind; the life changes when the number is closed or made */
	_Atomic uint32_t alone; /* netfd_alone() before the file was made here; 0: others may have it */
	struct netmemo memo[2];
};

/* NULL: a number beyond all tables, or of another table than the process's. */
struct netfd *netfd_of(int fd) hidden;
enum netkind netfd_kind(struct netfd *s, int fd) hidden;
/*
 * A filter allows only the calls as they came: netfd_of() is NULL, and a caller in the middle of a
 * wait makes the call.
 */
bool netfd_tries_ended(void) hidden;
void netfd_tries_end(void) hidden;
/* The kind turned out to be another. */
void netfd_setkind(struct netfd *s, enum netkind kind) hidden;

static inline enum netkind netfd_kindnow(const struct netfd *s)
{
	return (enum netkind)(atomic_load_explicit(&s->state, memory_order_relaxed) & 0xff);
}

static inline uint32_t netfd_life(const struct netfd *s)
{
	return atomic_load(&s->state) >> 8;
}

/* ---- may a call wait? ------------------------------------------------------------------------ */

enum verdict { MAY_PARK, NONBLOCKING, OTHER_FILE, NOT_OPEN_FOR_IT };

/*
 * A call on fd would have blocked: is that what the program wants, and for how long (*timeout, ns;
 * 0: without end)?  held: the file is, so it is the right one.  s NULL: fd is a number of ours for
 * it, and nothing is noted.
 */
enum verdict netfd_may_park(struct netfd *s, int fd, enum polldir dir, bool held,
			    uint64_t *timeout) hidden;
/* A short read of this file says that there is no more, and the next read would wait *timeout. */
bool netfd_short_read_tells(struct netfd *s, int fd, uint64_t *timeout) hidden;

/* A pipe ends a wait that has begun when O_NONBLOCK is set meanwhile; others ask once. */
bool netfd_stops_waiting(struct netfd *s, int fd, enum polldir dir) hidden;
/* A pipe whose lock a sleeping splice() may hold. */
bool netfd_is_spliced(const struct netfd *s) hidden;

/* ---- what happened to descriptors: for fdevents.c -------------------------------------- */

/* Around a call that ends fd; the weft_on of both must be the same. */
struct netfd *netfd_closing(int fd) hidden;
void netfd_closed(struct netfd *s) hidden; /* what netfd_closing() returned */
void netfd_closing_range(unsigned int from, unsigned int to) hidden;
void netfd_closed_range(unsigned int from, unsigned int to) hidden;
/* fd was just made; alone: netfd_alone() before that, 0 when others may have the file. */
void netfd_made(int fd, uint32_t alone) hidden;
uint32_t netfd_alone(void) hidden;
uint32_t netfd_alone_of(int fd) hidden; /* for another number of the same file */
/* Another process gets open files of ours; before the call. */
void netfd_shared(void) hidden;
/* A flag or a time-out has changed, on some descriptor of the same open file. */
void netfd_changed(void) hidden;
void netfd_lowat_used(void) hidden;   /* SO_RCVLOWAT was set */
void netfd_records_used(void) hidden; /* a TCP socket became a stream of records */
void netfd_splice_used(void) hidden;  /* a pipe's lock may be held by a thread that sleeps */
void netfd_packets_used(void) hidden; /* a pipe was put in packet mode */
void netfd_fork_child(void) hidden;
/* For epollset.c: no G parks for it any more, until it is closed or as many times unbarred. */
void netfd_bar(struct netfd *s, int fd) hidden;
void netfd_unbar(struct netfd *s) hidden;
uint32_t netfd_bars(void) hidden; /* how often that was done */
bool netfd_is_barred(const struct netfd *s) hidden;
void netfd_epolls_barred(void) hidden; /* each epoll is looked at as a NET_FILE from here on */

/* Calls fn for each slot that was ever used. */
void netfd_each(void (*fn)(struct netfd *s, int fd)) hidden;

#endif
