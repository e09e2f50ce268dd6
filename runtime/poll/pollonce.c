/*
 * pollonce: an epoll of the program's whose events come while its loop is busy.
 *
 * The loop parks, and weft's epoll watches the program's.  While it works off what it got, each further event is an
 * edge there, which wakes the poller for nobody: a switch between kernel threads for each request, on the CPU
 * where the client may run.  Where that was seen, the next ONCE_ROW parks watch for one event each: the kernel forgets
 * the rest until the next park, whose call finds what came meanwhile.  That costs a park a system call, and the loop
 * none of the others.  After them one park watches as before, to see whether it is still so.
 *
 * Only what tells of one direction is watched so: an event of the one would end the watch of the other.  And only
 * while nobody is linked here (poll, select), for a link stays over many events.
 *
 * Locks: the registration changes under Pollreg of its number, as in polldesc.c.
 *
 * Must never: leave a parked G with a watch that is over.  So each park renews it while oncerow or once says so, and
 * a waiter that was woken and does not park again passes its wake-up on (netpoll_release()), whatever it found.
 */
#include "runtime/poll/polldesc.h"

/* Its pd_reglock() held. */
static void watch_now(struct polldesc *pd, int fd, bool once)
{
	uint32_t events = once ? OS_POLLIN | OS_POLLEDGE | OS_POLLONCE : PD_EVENTS;
	int ep = netpoll_fd();

	/* Refused: the file is gone where weft did not see it, and tells nothing either way. */
	if (ep >= 0)
		os_poll_change(ep, fd, events, pd_data(pd));
}

/* The number may be another by the time its lock is held: then the file was registered anew, for all events. */
static bool has_number(struct polldesc *pd, int fd)
{
	if (load_seqcst(&pd->seen.fd) == fd)
		return true;
	unlock(pd_reglock(fd));
	return false;
}

bool pd_lock_number(struct polldesc *pd, int *fd)
{
	*fd = load_seqcst(&pd->seen.fd);
	if (*fd < 0)
		return false;
	lock(pd_reglock(*fd));
	return has_number(pd, *fd);
}

bool pd_lock_number_if_free(struct polldesc *pd, int *fd)
{
	*fd = load_seqcst(&pd->seen.fd);
	return *fd >= 0 && lock_if_free(pd_reglock(*fd)) && has_number(pd, *fd);
}

void pd_arm_slow(struct polldesc *pd)
{
	bool once, was;
	int fd;

	if (!pd_lock_number(pd, &fd))
		return;
	if (exchange_acq_rel(&pd->vain, 0))
		pd->oncerow = ONCE_ROW;
	lock(&pd->lock);
	was = load_relaxed(&pd->once);
	once = pd->oncerow && !load_relaxed(&pd->links);
	store_relaxed(&pd->once, once);
	unlock(&pd->lock);
	if (once)
		pd->oncerow--;
	if (once || was)
		watch_now(pd, fd, once);
	unlock(pd_reglock(fd));
}

/* Its owner has seen once, so it waits here for the park that wrote it. */
void pd_arm_for_links(struct polldesc *pd)
{
	int fd;

	if (!pd_lock_number(pd, &fd))
		return;
	lock(&pd->lock);
	store_relaxed(&pd->once, false);
	unlock(&pd->lock);
	watch_now(pd, fd, false);
	unlock(pd_reglock(fd));
}

static struct polldesc *pd_of(const struct os_event *ev)
{
	struct polldesc *pd = pd_at((uint32_t)ev->data);

	return pd && load_acquire(&pd->gen) == (uint32_t)(ev->data >> 32) ? pd : NULL;
}

/* A hint: a G waits for one of these. */
bool netpoll_awaited(const struct os_event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		struct polldesc *pd = pd_of(&ev[i]);

		if (pd && (load_relaxed(&pd->nwait[NETPOLL_IN]) || load_relaxed(&pd->nwait[NETPOLL_OUT]) ||
			   load_relaxed(&pd->links)))
			return true;
	}
	return false;
}

/* These events woke the poller, and readied no G. */
void netpoll_vain(const struct os_event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		struct polldesc *pd = pd_of(&ev[i]);

		if (pd)
			store_relaxed(&pd->vain, 1);
	}
}
