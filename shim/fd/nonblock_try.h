/*
 * nonblock_try: what the tries of a call have in common, whether it has one piece of memory, a vector, or
 * several messages.  See nonblock.c.
 */
#ifndef WEFT_SHIM_NONBLOCK_TRY_H
#define WEFT_SHIM_NONBLOCK_TRY_H

#include <limits.h>

#include "shim/fd/fdwait.h"

typedef long nonblock_try(struct fdop *op, int fd);

/* The kernel's MAX_RW_COUNT: what one call moves at most. */
#define MOST ((size_t)INT_MAX & ~(size_t)4095)

static inline size_t at_most(size_t n)
{
	return n < MOST ? n : MOST;
}

#define SET_CALL(op, nr_, b_, c_, d_, e_, f_)                                                      \
	((op)->nr = (nr_), (op)->b = (long)(b_), (op)->c = (long)(c_), (op)->d = (long)(d_),       \
	 (op)->e = (long)(e_), (op)->f = (long)(f_))

static inline bool nonblock_is_stream(enum fdkind kind)
{
	return kind == FDK_TCP || kind == FDK_STREAM;
}

/* What a try's result means for the call: true: *r ends it. */
bool nonblock_counted(struct fdop *op, long *r) hidden;
/* Bytes of the op's vector, which the kernel has found good. */
size_t nonblock_size_of(const struct fdop *op) hidden;
/* The flags with which a piece is sent. */
long nonblock_no_signal(const struct fdop *op) hidden;
/* The result of a send, as the call would have said it that sleeps for room. */
long nonblock_went(const struct fdop *op, int fd, long r) hidden;
/* preadv2 or pwritev2 without a position and without waiting. */
long nonblock_positionless(const struct fdop *op, long nr, int fd, const struct iovec *v, long n) hidden;
/* The whole call, with the tries of its kind; NULL: cannot be tried. */
long nonblock_run(struct fdop *op, nonblock_try *on_socket, nonblock_try *on_pipe) hidden;
/* The same for a send with flags. */
long nonblock_sent(struct fdop *op, int flags, nonblock_try *try) hidden;
/* A write to it waits for room by parking. */
bool nonblock_parks_for_writing(struct fdslot *s, int fd) hidden;

#endif
