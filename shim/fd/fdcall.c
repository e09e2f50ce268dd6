/*
 * fdcall: the program's call made as it came, on a kernel thread; and the wait before calls that cannot be tried.
 *
 * Must never: be called while anything is held: handlers run, and the call may wait for long.
 */
#include "shim/fd/fdwait.h"

#include <poll.h>

#include "shim/sync/sync.h"

long fdwait_call(const struct fdop *op)
{
	return block6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

long fdwait_await(const struct fdop *op)
{
	return await6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

static void close_own(const int *fd)
{
	direct3(SYS_close, *fd, 0, 0);
}

/* (A handler that jumps out leaves the number behind.) */
long fdcall_by_own(const struct fdop *op, int own)
{
	int fd __attribute__((cleanup(close_own))) = own;

	return block6(op->nr, fd, op->b, op->c, op->d, op->e, op->f);
}

/* Where the poller cannot help and half is done: waits on a kernel thread for room or bytes. */
bool fdcall_wait(const struct fdop *op)
{
	struct pollfd p = { .fd = op->fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };

	call_timed(SYS_poll);
	return await_nocp(SYS_poll, (long)&p, 1, -1, 0, 0, 0) >= 0;
}

/* ---- asked, not tried ------------------------------------------------------------------------ */

static long ask(struct fdop *op, int fd)
{
	struct pollfd p = { .fd = fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };
	long r;

	/*
	 * Even without time it may say EINTR; taken for "not ready", the edge that was would be
	 * missed.
	 */
	do
		r = direct3(SYS_poll, &p, 1, 0);
	while (r == -EINTR);
	if (r == 0)
		return -EAGAIN;
	if (fd == op->fd) {
		op->ready = true;
		return 0;
	}
	/*
	 * Its number was closed while we waited, and ours lasts until we release it.  Somebody else may be
	 * faster, and while the call then waits handlers must run: it has a number of its own.
	 */
	op->own = (int)direct3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
	return op->own < 0 ? op->own : 0;
}

long fdwait_ask_and_call(struct fdop *op)
{
	long r;

	op->attempt = ask;
	op->own = -1;
	r = fdwait_run(op);
	if (unlikely(op->own >= 0))
		return fdcall_by_own(op, op->own);
	/* Another thread may be faster now: then this call waits on its kernel thread. */
	return op->ready || r == FDWAIT_FALLBACK ? fdwait_call(op) : r;
}
