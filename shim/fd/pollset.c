/*
 * pollset: waiting for any of several descriptors, for poll and select.
 *
 * The kernel is asked with its own call and no time.  When nothing is ready the G links itself to
 * each descriptor, asks once more (what came before a link is seen by this, what comes after it by
 * the link), parks, and asks again.  So all that the calls say of events, errors and bad numbers is
 * the kernel's.
 *
 * A number that another thread closes meanwhile is as in the kernel: the open file that was there
 * at first wakes the wait, and the next question goes by the number, which is bad or another file
 * by then.
 *
 * Must never: act on a signal or a cancellation while linked.
 */
#include "runtime/netpoll.h"
#include "shim/signal/waitmask.h"
#include "shim/fd/pollset.h"

#include "shim/sync/sync.h"

enum { POLLWAIT_FEW = 12 }; /* links that fit a small stack */

/*
 * The number that could be linked.  What is left to the kernel is not: asking it may take away what
 * it has to say, and the poller asks before we do.
 */
static unsigned int link_all(struct pollwait *w, struct polllink *links, struct pollset *set)
{
	for (unsigned int i = 0; i < w->n; i++) {
		struct fdslot *s = fdslot_of(w->fds[i].fd);

		links[i].pd = NULL;
		if (w->fds[i].fd < 0)
			continue;
		if (!s || fdslot_kind(s, w->fds[i].fd) == FDK_FILE)
			return i;
		links[i].pd = netpoll_hold(&s->poll, w->fds[i].fd);
		if (!links[i].pd)
			return i;
		links[i].set = set;
		/* Poll's bits and the poller's are the same numbers. */
		links[i].events = (uint32_t)(unsigned short)w->fds[i].events;
		netpoll_link(&links[i]);
	}
	return w->n;
}

static void unlink_all(struct polllink *links, unsigned int n)
{
	while (n-- > 0)
		if (links[n].pd) {
			netpoll_unlink(&links[n]);
			netpoll_release(links[n].pd);
		}
}

static long park(struct pollwait *w, struct polllink *links)
{
	uint32_t bars = fdtable_bars(); /* before the links are made */
	struct pollset set = { 0 };
	unsigned int n = link_all(w, links, &set);
	long r = FDWAIT_FALLBACK;

	while (n == w->n) {
		store_seqcst(&set.fired, 0); /* before the question */
		r = w->ask(w->arg);
		if (!r && waitmask_hit()) /* no handler runs from here on: we are pinned */
			r = -EINTR;
		if (!r && fdtable_bars() != bars) /* perhaps one of ours: it is watched no more */
			r = FDWAIT_AGAIN;
		if (r)
			break;
		r = netpoll_parkset(&set, w->deadline, WaitPoll);
		if (r < 0)
			break;
	}
	unlink_all(links, n);
	return r;
}

static long park_with_links(struct pollwait *w)
{
	struct polllink few[POLLWAIT_FEW], *links = few;
	size_t bytes = w->n * sizeof(*links);
	long r;

	if (w->n > POLLWAIT_FEW) {
		if (runtime_fault("places of a poll"))
			return FDWAIT_FALLBACK;
		links = (struct polllink *)direct6(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if ((unsigned long)links > -4096UL)
			return FDWAIT_FALLBACK;
	}
	r = park(w, links);
	if (links != few)
		direct3(SYS_munmap, links, bytes, 0);
	return r;
}

long pollwait_wait(struct pollwait *w)
{
	long r;

	if (runtime_waits_itself())
		return FDWAIT_FALLBACK;
	do
		r = park_with_links(w);
	while (r == FDWAIT_AGAIN);
	return r == -ETIMEDOUT ? w->ask(w->arg) : r;
}

bool pollwait_goes_on(long r)
{
	enum eintr what;

	if (r != -EINTR)
		return false;
	what = eintr_deliver();
	cancel_point();
	return what == INTR_NONE && !waitmask_hit();
}
