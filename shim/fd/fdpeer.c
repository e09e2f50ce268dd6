/*
 * fdpeer: the other end of a pipe or a pair of sockets that was made here, and an eventfd as its own.
 *
 * A thread that has written wakes the thread that waits at the other end straight away, as one that posts a semaphore
 * does: without the poller, which would find the event later.  The file stays watched, so this is a hint: where an end
 * has gone elsewhere, has another number or was written to by another process, the poller's event is what wakes, and
 * a waiter that is woken for nothing tries once and waits on.  So no way in which descriptors leave the process need
 * be known here.
 *
 * Rejected: to tell writers of the room that a reader makes, too.  The kernel tells of room when there is enough of
 * it to be worth a switch; a reader that takes a byte of a full pipe does not know.
 *
 * Must never: be believed.
 */
#include "shim/fd/fdtable.h"

static uint64_t named(const struct fdslot *s, int fd)
{
	return (uint64_t)fdslot_gen(s) << 32 | (uint64_t)(fd + 1);
}

void fdpeer_made(int a, int b)
{
	struct fdslot *sa = fdslot_there(a), *sb = fdslot_there(b);

	if (!sa || !sb)
		return;
	store_relaxed(&sa->peer, named(sb, b));
	store_relaxed(&sb->peer, named(sa, a));
}

void fdpeer_copied(int from, int to)
{
	struct fdslot *sf = fdslot_there(from), *st = fdslot_there(to);

	if (sf && st)
		store_relaxed(&st->peer, load_relaxed(&sf->peer));
}

void fdpeer_tell_slow(uint64_t peer, long n)
{
	int fd = (int)(uint32_t)peer - 1;
	struct fdslot *s = fdslot_known(fd);

	if (s && fdslot_gen(s) == peer >> 32)
		netpoll_tell(&s->poll, fd, fdslot_kindnow(s) == FDK_PIPE ? (uint64_t)n : 0, fdslot_is_alone(s));
}
