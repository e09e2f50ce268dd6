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
#include "shim/sync/eintr.h"
#include "shim/signal/waitmask.h"
#include "shim/fd/pollset.h"

#include "shim/sync/sync.h"
#include "shim/syscall/scratch.h"

/*
 * False: one of them is left to the kernel.  Asking that one may take away what it has to say, and the
 * poller would ask before we do.
 */
static bool name_all(const struct pollwait *w, struct polllink *links)
{
	for (unsigned int i = 0; i < w->n; i++) {
		int fd = w->fds[i].fd;
		struct fdslot *s = fd < 0 ? NULL : fdslot_of(fd);

		if (fd >= 0 && (!s || fdslot_kind(s, fd) == FDK_FILE))
			return false;
		links[i].slot = s ? &s->poll : NULL;
		links[i].fd = fd;
		/* Poll's bits and the poller's are the same numbers. */
		links[i].events = (uint32_t)(unsigned short)w->fds[i].events;
	}
	return true;
}

static long park(struct pollwait *w, struct polllink *links)
{
	uint32_t bars = fdtable_bars(); /* before the links are made */
	struct pollset set = { 0 };
	long r;

	if (!name_all(w, links) || !netpoll_holdset(&set, links, w->n))
		return FDWAIT_FALLBACK;
	do {
		store_seqcst(&set.fired, 0); /* before the question */
		r = w->ask(w->arg);
		if (!r && (waitmask_hit() || eintr_ran(*w->mark))) /* no handler runs from here on: we are pinned */
			r = -EINTR;
		if (!r && fdtable_bars() != bars) /* perhaps one of ours: it is watched no more */
			r = FDWAIT_AGAIN;
		if (r)
			break;
		waitmask_parks();
		w->parked = true;
		r = netpoll_parkset(&set, w->deadline, WaitPoll);
	} while (r >= 0);
	netpoll_releaseset(links, w->n);
	return r;
}

static long park_with_links(struct pollwait *w)
{
	struct polllink few[POLLWAIT_FEW];
	size_t bytes = w->n * sizeof(*few);
	void *links = few;
	long r;

	if (w->n > POLLWAIT_FEW && (runtime_fault("places of a poll") || scratch_map(&links, bytes)))
		return FDWAIT_FALLBACK;
	r = park(w, links);
	if (links != few)
		scratch_unmap(links, bytes);
	return r;
}

/*
 * As the kernel, which looks at the numbers once more when a signal wakes it: one that has been closed
 * meanwhile wakes nobody, but is told now.  In the region of a mask what is ready comes first, and then
 * that mask lets nothing in any more.
 */
static long interrupted(struct pollwait *w)
{
	long r = waitmask_hit() ? 0 : w->ask(w->arg);

	if (!r)
		return -EINTR;
	eintr_after();
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
	if (r == FDWAIT_FALLBACK && eintr_ran(*w->mark)) /* the kernel would know nothing of it */
		r = -EINTR;
	return r == -ETIMEDOUT ? w->ask(w->arg) : r == -EINTR ? interrupted(w) : r;
}

bool pollwait_goes_on(uint64_t *mark, long r)
{
	enum eintr what;

	if (r != -EINTR)
		return false;
	what = eintr_deliver(mark);
	cancel_point();
	return what == INTR_NONE && !waitmask_hit();
}
