/*
 * io: the one seam under every call that waits on a file descriptor.
 *
 * io.c and socket.c describe a call (direction, number, arguments); how the G waits for the
 * descriptor is decided here alone.  Today the P is given away and the kernel thread blocks; a
 * poller that parks the G until the descriptor is ready goes under these two functions and nowhere
 * else.
 */
#ifndef WEFT_SHIM_IO_H
#define WEFT_SHIM_IO_H

#include "shim/direct.h"

enum io_dir {
	IO_IN,	/* waits for readability: read, recv, accept */
	IO_OUT, /* waits for writability: write, send, connect */
};

/* The system call nr(fd, b ... f) on a descriptor, a cancellation point; result or -errno. Only on
 * a G. */
long io_call(enum io_dir dir, long nr, int fd, long b, long c, long d, long e, long f) hidden;

#define io6(dir, nr, fd, b, c, d, e, f)                                                            \
	io_call(dir, nr, fd, (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define io5(dir, nr, fd, b, c, d, e) io6(dir, nr, fd, b, c, d, e, 0)
#define io4(dir, nr, fd, b, c, d) io6(dir, nr, fd, b, c, d, 0, 0)
#define io3(dir, nr, fd, b, c) io6(dir, nr, fd, b, c, 0, 0, 0)

#endif
