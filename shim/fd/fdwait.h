/*
 * fdwait: how a G waits for a descriptor.
 *
 * The program's O_NONBLOCK is never touched: it belongs to the open file, which other processes may
 * share.  Each call is made without blocking by other means (MSG_DONTWAIT, RWF_NOWAIT); when it
 * would block and the program wanted it to, the G parks until the poller sees an edge.  What cannot
 * be tried that way is asked with a poll of no time, and then made on a kernel thread of its own.
 */
#ifndef WEFT_SHIM_FDWAIT_H
#define WEFT_SHIM_FDWAIT_H

#include "runtime/netpoll.h"
#include "shim/fd/fdask.h"

/* Beyond the kernel's error numbers. */
enum {
	FDWAIT_FALLBACK = -5000, /* parking is impossible: make the call on a kernel thread */
	FDWAIT_AGAIN,           /* inside: from the beginning */
	FDWAIT_KEPT,            /* inside: the call itself, on the file that is held */
	FDWAIT_PARK,            /* inside: it would block, and is to wait */
};

/* A call on a descriptor, tried as often as needed. */
struct fdop {
	int fd;
	enum polldir dir;
	/* Without blocking, on this number: result, -EAGAIN (nothing, or not all, and done counts), or
	 * -errno. */
	long (*attempt)(struct fdop *op, int fd);
	long done;         /* bytes so far, of a call that goes on until all are moved */
	bool ends_short;   /* set by attempt: it moved less than there was room for */
	bool hints;        /* a plain read of bytes: the last one may have told that there is nothing */
	struct fdslot *s;
	enum fdkind kind;  /* of the file that is used, whatever its number becomes; FDK_NEW: no matter */
	uint32_t gen;      /* fdslot_gen() before the first try */
	uint64_t deadline; /* from the first park on; 0: none */
	uint64_t timeout;  /* its length in ns */
	long moved;        /* done when the time began */
	bool timed, started;
	bool late;         /* the time was over at the last park; this try is the last */
	bool sure;         /* the file is known, and that it waits: nothing is asked before the park */
	bool plain;        /* no flag or time-out of the descriptor bears on it */
	uint64_t mark;     /* eintr_mark()'s; 0: not yet */
	bool cut;          /* a signal ended the park, and the last try had a result all the same */
	bool ready;        /* fdwait_ask_and_call: the call may be made, */
	int own;           /* or by this number */
	/* The call as it came. */
	long nr, b, c, d, e, f;
	uint64_t peer;     /* fdslot's, of a call that writes */
	size_t n;          /* bytes in all */
	bool all;          /* goes on until all are moved */
	bool once;         /* by one step a try: then -EAGAIN */
	const struct netwait *looked; /* netpoll_look()'s, and gen's, before a try that found nothing; NULL: none was */
	bool vector;       /* n is not known before the kernel has looked at the pieces */
};

/* A cancellation point.  The result, -errno or FDWAIT_FALLBACK. */
long fdwait_run(struct fdop *op) hidden;
/* The caller tries first: should it find nothing, fdwait_run() parks at once.  before stays until then. */
void fdwait_look(struct fdop *op, struct netwait *before) hidden;
/* A try.  FDWAIT_FALLBACK where a filter may forbid it by now; or what is done. */
static inline long fdwait_try(struct fdop *op, int fd, long (*try)(struct fdop *op, int fd))
{
	long r = op->done ? op->done : FDWAIT_FALLBACK;
	bool was;

	if (fdask_begin(&was)) {
		r = try(op, fd);
		fdask_end(false); /* a handler may have left one before by a jump */
	}
	return r;
}
/* What every try that ends the call returns through: a cancellation and SIGPIPE are seen to. */
long fdwait_failed(const struct fdop *op, long r) hidden; /* of a failure */
static inline long fdwait_tried(const struct fdop *op, long r)
{
	return likely(r >= 0) ? r : fdwait_failed(op, r);
}
/* Parks until fd is ready for the direction, then makes the call on a kernel thread. */
long fdwait_ask_and_call(struct fdop *op) hidden;
/* The call on a kernel thread, with the P given away. */
long fdwait_call(const struct fdop *op) hidden;

/* The same for a call that certainly waits: others have the P at once. */
long fdwait_await(const struct fdop *op) hidden;

/* In a forked child: no thread waits. */
void fdwait_fork_child(void) hidden;

/* ---- inside: what the loop (fdwait.c) asks of the files beside it ---------------------------- */

/* fdended.c: how a wait on a held file ended, when nothing is held any more; kept: netpoll_release()'s. */
long fdwait_ended(struct fdop *op, long r, int kept) hidden;

/* fdcall.c: the call by a number of weft's own for its file, which is closed however the call is left. */
long fdcall_by_own(const struct fdop *op, int own) hidden;
bool fdcall_wait(const struct fdop *op) hidden;

/* fdlocal.c: between begin and end a shutdown() of this process wakes the writer. */
void fdlocal_begin(void) hidden;
void fdlocal_end(void) hidden;
void fdlocal_restart_clock(struct fdop *op, int fd) hidden;
long fdlocal_park(struct fdop *op, struct netwait *w, uint64_t *again) hidden;

static inline bool fdlocal_writes(const struct fdop *op)
{
	return op->dir == NETPOLL_OUT && op->kind == FDK_STREAM;
}

#endif
