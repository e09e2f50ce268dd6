/*
 * fdlocal: writers at full local streams, which wait otherwise than all others: their time begins anew with each
 * buffer, and no event tells them that their half was shut down.
 *
 * Must never: look again and again at one rate.
 */
#include "shim/fd/fdwait.h"

#include "runtime/sched/policy.h"
#include "shim/fd/fdevents.h"

/*
 * seq_cst with the stream's end: a writer counts itself, then asks; fdwait_shutdown() the other way
 */
static _Atomic uint32_t nlocal; /* writers at local streams that are about to park, or do */

static void retry_local(struct fdslot *s, int fd)
{
	if (fdslot_kindnow(s) == FDK_STREAM)
		netpoll_changed(&s->poll, fd, NETPOLL_RETRY_OUT);
}

void fdwait_shutdown(void)
{
	if (load_seqcst(&nlocal))
		fdtable_each(retry_local);
}

/* Before a try: pairs with fdwait_shutdown(), which comes after a shutdown and reads it. */
void fdlocal_begin(void)
{
	fetch_add_seqcst(&nlocal, 1);
}

void fdlocal_end(void)
{
	fetch_sub_seqcst(&nlocal, 1);
}

void fdwait_fork_child(void)
{
	store_relaxed(&nlocal, 0);
}

/*
 * A local stream waits for each buffer of a write as long as it may wait in all for the first: the
 * time begins anew.
 */
void fdlocal_restart_clock(struct fdop *op, int fd)
{
	int domain = AF_UNSPEC;
	socklen_t n = sizeof(domain);

	if (!op->timeout || op->moved == op->done ||
	    fdask5(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) || domain != AF_UNIX)
		return;
	op->moved = op->done;
	op->deadline = nanotime() + op->timeout;
	op->late = false;
}

/*
 * 0: an edge; 1: try again all the same; else -errno.  A writer at a full local socket is not told
 * when its half is shut down, by either side: the kernel wakes a thread that sleeps in the call,
 * but poll() does not report it, so neither epoll nor SIGIO nor io_uring does.  fdwait_shutdown() tells
 * of what this process shuts down.  For other processes the writer looks again, ever more rarely:
 * an idle process is to be silent.  *again is 0 at first.
 */
long fdlocal_park(struct fdop *op, struct netwait *w, uint64_t *again)
{
	uint64_t until = op->deadline, soon;
	long r;

	if (!*again)
		*again = LOCAL_RETRY_NS;
	soon = nanotime() + *again;
	*again *= LOCAL_RETRY_RARER;
	if (until && until <= soon)
		return netpoll_park(w, until, WaitIO);
	r = netpoll_park(w, soon, WaitIO);
	return r == -ETIMEDOUT ? 1 : r;
}
