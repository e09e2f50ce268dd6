/*
 * fdevents: the one place that is told what happens to descriptors.
 *
 * Around a system call of fdevents.def, or a libc function that makes one inside:
 *
 *	return FD_NOTED(socket, real.socket(domain, type, protocol), domain, type, protocol);
 *
 * The second half runs also when a cancellation unwinds the call.  A jump out of it from a handler
 * leaves the number marked as being closed: its waiters then go on by numbers of their own, which
 * is slower and as right.
 */
#ifndef WEFT_SHIM_FDEVENTS_H
#define WEFT_SHIM_FDEVENTS_H

#include "shim/fd/fdtable.h"

struct fdevent;

struct fdcall {
	long nr, a[6];
	long result; /* negative: it failed, or did not end */
	/* from before to after */
	const struct fdevent *event;
	struct fdslot *slot;
	uint32_t alone;
	bool pending;
};

/* False: the call was made or refused, result is its own or -errno.  True also where nothing is noted. */
bool fdcall_begin(struct fdcall *c) hidden;
void fdcall_end(struct fdcall *c) hidden;
/* Does it concern descriptors at all? */
bool fdcall_concerns(long nr) hidden;

#define FD_NOTED(name, call, ...) FD_NOTED_NR(SYS_##name, call, __VA_ARGS__)
#define FD_NOTED_NR(nr_, call, ...)                                                                \
	({                                                                                         \
		struct fdcall c_ __attribute__((cleanup(fdcall_end))) = {                          \
			.nr = (nr_), .a = { __VA_ARGS__ }, .result = -1                            \
		};                                                                                 \
		c_.result = fdcall_begin(&c_) ? (long)(call) : syscall_ret(c_.result);             \
		c_.result;                                                                         \
	})

/* For the rest of the scope, a libc function closes fd inside; -1: it has none.  Needs a P. */
#define FD_ENDS(fd_)                                                                               \
	struct fdcall ends_ __attribute__((cleanup(fdcall_end))) = {                               \
		.nr = SYS_close, .a = { fd_ }, .result = -1                                        \
	};                                                                                         \
	fdcall_begin(&ends_)

/* close_range() itself, for a call by number: leaves out weft's own descriptors. */
extern __typeof__(close_range) shim_close_range hidden;

/* Some socket was shut down: the kernel does not tell the waiters concerned. */
void fdwait_shutdown(void) hidden;

#endif
