/*
 * netfd: what the shim knows of each descriptor number, and how a G waits for one.
 *
 * The program's O_NONBLOCK is never touched: it belongs to the open file, which other processes may
 * share.  Each call is made without blocking by other means (MSG_DONTWAIT, RWF_NOWAIT); when it
 * would block and the program wanted it to, the G parks until the poller sees an edge.  What cannot
 * be tried that way is asked with a poll of no time, and then made on a kernel thread of its own.
 */
#ifndef WEFT_SHIM_NETFD_H
#define WEFT_SHIM_NETFD_H

#include "shim/clone.h"
#include "shim/direct.h"

enum netkind {
	NET_NEW,      /* not looked at */
	NET_FILE,     /* never parked for: a disk, a terminal, or what is read differently by each thread */
	NET_TCP,
	NET_STREAM,   /* other stream sockets */
	NET_DGRAM,    /* message sockets: sending is not parked for */
	NET_SEQ,      /* SOCK_SEQPACKET: write(2) adds MSG_EOR */
	NET_PIPE,     /* RWF_NOWAIT works */
	NET_COUNTER,  /* eventfd, timerfd: RWF_NOWAIT works for reading; writing is not parked for */
	NET_EPOLL,
	NET_TERMINAL, /* never parked for either, but whether a read waits can be asked */
	NET_ASKED,    /* readiness can be asked, calls may block: named pipes */
	NET_EVENTS,   /* the same for reading; writing never waits, or is not parked for */
};

struct netfd {
	pollslot pd;
	_Atomic uint8_t kind;
	_Atomic bool blocking;     /* O_NONBLOCK and O_DIRECT were off at that epoch */
	_Atomic uint32_t epoch;    /* of the next three; another one: ask the kernel */
	uint64_t timeout[2];       /* SO_RCVTIMEO, SO_SNDTIMEO in ns; 0: none */
	_Atomic uint32_t gen;      /* how often the number was closed */
};

/* Beyond the kernel's error numbers. */
enum {
	NETFD_FALLBACK = -5000, /* parking is impossible: make the call on a kernel thread */
	NETFD_AGAIN,            /* inside: from the beginning */
};

/* A call on a descriptor, tried as often as needed. */
struct netop {
	int fd;
	enum polldir dir;
	/* Without blocking, on this number: result, -EAGAIN (nothing, or not all, and done counts), or
	 * -errno. */
	long (*attempt)(struct netop *op, int fd);
	long done;         /* bytes so far, of a call that goes on until all are moved */
	bool ends_short;   /* set by attempt: it moved less than there was room for */
	bool hints;        /* a plain read of bytes: the last one may have told that there is nothing */
	struct netfd *s;
	uint64_t deadline; /* from the first park on; 0: none */
	bool timed, started;
	bool plain;        /* no flag or time-out of the descriptor bears on it */
	bool ready;        /* netfd_ask_and_call: the call may be made */
	/* The call as it came. */
	long nr, b, c, d, e, f;
	size_t n;          /* bytes in all */
	bool all;          /* goes on until all are moved */
	bool vector;       /* n is not known before the kernel has looked at the pieces */
};

/* NULL: a number beyond all tables. */
struct netfd *netfd_of(int fd) hidden;
enum netkind netfd_kind(struct netfd *s, int fd) hidden;
/* A cancellation point.  The result, -errno or NETFD_FALLBACK. */
long netfd_run(struct netop *op) hidden;
/* What every try that ends the call returns through: a cancellation and SIGPIPE are seen to. */
long netfd_tried(struct netop *op, long r) hidden;
/* Parks until fd is ready for the direction, then makes the call on a kernel thread. */
long netfd_ask_and_call(struct netop *op) hidden;
/* The call on a kernel thread, with the P given away. */
long netfd_call(const struct netop *op) hidden;

/* The same for a call that certainly waits: others have the P at once. */
long netfd_await(const struct netop *op) hidden;

void netfd_closing_slow(int fd) hidden;
void netfd_made_slow(int fd) hidden;
void netfd_replacing(int from, int to) hidden; /* dup2's and its like's */
/* Before the system call nr, of close and dup2: false: EBADF, the descriptor is ours. */
bool netfd_by_hand(long nr, long a, long b) hidden;
void netfd_closing_range(unsigned int from, unsigned int to) hidden;
/* An attribute that parking depends on has changed, on some descriptor of the same open file. */
void netfd_changed(void) hidden;
void netfd_lowat_used(void) hidden;
void netfd_shut(void) hidden; /* some socket was shut down: whom it concerns is not told by the kernel */
void netfd_records(int fd) hidden; /* a stream of records: a short read tells nothing */
void netfd_fork_child(void) hidden;

enum { NETFD_CHUNK = 256, NETFD_CHUNKS = 4096 };
extern struct netfd *_Atomic netfd_chunks[NETFD_CHUNKS] hidden;

static inline struct netfd *netfd_known(int fd)
{
	unsigned int i = (unsigned int)fd;
	struct netfd *chunk = i < NETFD_CHUNK * NETFD_CHUNKS
				      ? atomic_load_explicit(&netfd_chunks[i / NETFD_CHUNK],
							     memory_order_acquire)
				      : NULL;

	return chunk ? &chunk[i % NETFD_CHUNK] : NULL;
}

static inline bool netfd_noted(int fd)
{
	struct netfd *s = netfd_known(fd);

	return s && !is_apart(APART_FILES) &&
	       (atomic_load_explicit(&s->kind, memory_order_relaxed) != NET_NEW ||
		atomic_load_explicit(&s->pd, memory_order_relaxed));
}

/* fd is about to be closed or replaced. */
static inline void netfd_closing(int fd)
{
	if (netfd_noted(fd))
		netfd_closing_slow(fd);
}

/* fd was just made: what we knew of the number was closed out of our sight.  Returns fd. */
static inline int netfd_made(int fd)
{
	if (unlikely(netfd_noted(fd)))
		netfd_made_slow(fd);
	return fd;
}

#endif
