/*
 * fdflags: may a call on a descriptor wait, and how long: O_NONBLOCK and time-outs.
 *
 * That a file waits, and for how long, is asked before the first park, and kept for files that no other process has
 * (alone), until a flag changes (epoch); of others it is asked before each park that follows a call that would have
 * blocked.
 *
 * That a file has O_NONBLOCK is kept as a hint alone (NO_WAITER): EAGAIN cannot be taken back, and others may have
 * cleared the flag where weft does not see it (a child that shares the table, pidfd_getfd, a receiver of SCM_RIGHTS,
 * io_uring, an instruction of the program's own).
 *
 * Must never: change a flag of the program's open file.
 */
#include "shim/fd/fdask.h"

/*
 * Both are read before a question to the kernel, whose answer is kept with what was read, and counted up
 * around the call that makes the answer untrue.  Acquire and release: whether the question saw what the
 * call changed, the kernel's own locks decide.
 */
static _Atomic uint32_t epoch = 1; /* of flags and time-outs, after the change; 0 means never asked */
static _Atomic uint32_t alone = 1; /* how often other processes got files of ours; before it; 0 means always */
/* Asked with each wait: one that begins before the program has used it is as if it had ended before. */
static _Atomic bool packets, splices;

/* No other process has the file, so what we know of its attributes is true. */
bool fdslot_is_alone(const struct fdslot *s)
{
	return load_acquire(&s->alone) == load_acquire(&alone);
}

/* NO_WAITER: the file had O_NONBLOCK in this life of the number, whatever the epoch. */
enum { BLOCKING = 1, BEING_WRITTEN = 2, NO_WAITER = 4 };

/* What was asked in this epoch and this life of the number carries this. */
static uint64_t key_at(const struct fdslot *s, uint32_t e)
{
	return (uint64_t)e << 32 | (uint64_t)fdslot_gen(s) << 8 | BLOCKING;
}

/*
 * One writer at a time.  A writer that finds another one at work notes nothing: what it noted would
 * be in doubt.
 */
static void remember(struct fdmemo *m, uint64_t key, uint64_t timeout)
{
	uint64_t was = load_seqcst(&m->key);

	if (was & BEING_WRITTEN || !cas_seqcst(&m->key, &was, BEING_WRITTEN))
		return;
	store_seqcst(&m->timeout, timeout);
	store_seqcst(&m->key, key); /* pairs with remembered(): the time-out is between two equal keys */
}

static bool remembered(const struct fdmemo *m, uint64_t key, uint64_t *timeout)
{
	if (load_seqcst(&m->key) != key)
		return false;
	*timeout = load_seqcst(&m->timeout);
	return load_seqcst(&m->key) == key;
}

/* s NULL: not known to be a socket. */
static uint64_t ask_timeout(struct fdslot *s, int fd, enum polldir dir)
{
	struct timeval tv = { 0, 0 };
	socklen_t size = sizeof(tv);

	if (!s || fdkind_is_socket(fdslot_kind(s, fd)))
		fdask5(SYS_getsockopt, fd, SOL_SOCKET, dir == NETPOLL_IN ? SO_RCVTIMEO : SO_SNDTIMEO, &tv, &size);
	return (uint64_t)tv.tv_sec * 1000000000 + (uint64_t)tv.tv_usec * 1000;
}

/*
 * A descriptor that is not open for the direction never becomes ready: the call itself says EBADF.
 */
static bool open_for(long flags, enum polldir dir)
{
	return (flags & O_ACCMODE) != (dir == NETPOLL_IN ? O_WRONLY : O_RDONLY);
}

enum verdict fdslot_may_park(struct fdslot *s, int fd, enum polldir dir, uint64_t *timeout)
{
	/* Before the questions: a change, a close or another process that comes after them ends it. */
	uint64_t key = s ? key_at(s, load_acquire(&epoch)) : 0;
	bool keep = s && fdslot_is_alone(s);
	long flags;

	if (keep && remembered(&s->memo[dir], key, timeout))
		return PARKS_FOR_SURE;
	flags = fdask3(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0)
		return OTHER_FILE;
	if (!open_for(flags, dir))
		return NOT_OPEN_FOR_IT;
	if (flags & O_NONBLOCK)
		return NONBLOCKING;
	*timeout = ask_timeout(s, fd, dir);
	if (keep)
		remember(&s->memo[dir], key, *timeout);
	return MAY_PARK;
}

bool fdslot_nonblocking(struct fdslot *s, int fd, enum polldir dir)
{
	uint64_t timeout;
	long flags;

	if (fdslot_is_alone(s) && remembered(&s->memo[dir], key_at(s, load_acquire(&epoch)), &timeout))
		return false;
	flags = fdask3(SYS_fcntl, fd, F_GETFL, 0);
	return flags >= 0 && flags & O_NONBLOCK;
}

bool fdslot_was_nonblocking(struct fdslot *s, int fd, enum polldir dir)
{
	uint64_t was = (uint64_t)fdslot_gen(s) << 8 | NO_WAITER;

	if (load_seqcst(&s->memo[dir].key) == was)
		return true;
	if (!fdslot_nonblocking(s, fd, dir))
		return false;
	remember(&s->memo[dir], was, 0);
	return true;
}

/*
 * Where bytes are a stream and nothing but bytes ends a read.  Where other processes may have the
 * file, flags and time-out are asked for, which is still less than a try; but whether the other end
 * of a pipe makes packets, they decide without us.
 */
bool fdslot_short_read_tells(struct fdslot *s, int fd, uint64_t *timeout)
{
	enum fdkind kind = fdslot_kindnow(s);
	bool sole = fdslot_is_alone(s);
	long flags;

	if (kind != FDK_TCP &&
	    (kind != FDK_PIPE || !sole || load_relaxed(&packets)))
		return false;
	if (sole)
		return remembered(&s->memo[NETPOLL_IN], key_at(s, load_acquire(&epoch)), timeout);
	flags = fdask3(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0 || flags & O_NONBLOCK)
		return false;
	*timeout = ask_timeout(s, fd, NETPOLL_IN);
	return true;
}

bool fdslot_stops_waiting(struct fdslot *s, int fd, enum polldir dir)
{
	uint64_t timeout;
	long flags;

	if (fdslot_kindnow(s) != FDK_PIPE)
		return false;
	if (fdslot_is_alone(s) && remembered(&s->memo[dir], key_at(s, load_acquire(&epoch)), &timeout))
		return false;
	flags = fdask3(SYS_fcntl, fd, F_GETFL, 0);
	return flags >= 0 && flags & O_NONBLOCK;
}

bool fdslot_is_spliced(const struct fdslot *s)
{
	return fdslot_kindnow(s) == FDK_PIPE &&
	       (load_relaxed(&splices) || !fdslot_is_alone(s));
}

/* ---- what changes them ----------------------------------------------------------------------- */

uint32_t fdtable_alone(void)
{
	return load_acquire(&alone);
}

uint32_t fdtable_alone_of(int fd)
{
	struct fdslot *s = fdslot_known(fd);

	return s ? load_acquire(&s->alone) : 0;
}

/* 0 has a meaning of its own. */
static void count(_Atomic uint32_t *what)
{
	if (fetch_add_acq_rel(what, 1) == UINT32_MAX)
		fetch_add_acq_rel(what, 1);
}

void fdtable_shared(void)
{
	count(&alone);
}

void fdtable_changed(void)
{
	count(&epoch);
}

void fdtable_splice_used(void)
{
	store_release(&splices, true);
}

void fdtable_packets_used(void)
{
	store_release(&packets, true);
}
