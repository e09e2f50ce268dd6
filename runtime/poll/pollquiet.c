/*
 * pollquiet: files whose readers are woken by writers of this process, who tell of what they wrote.
 *
 * The kernel tells weft's epoll of each write as well, and where a P is idle that wakes the poller for nobody: a switch
 * between kernel threads for each.  So a file where readers were woken QUIET_AFTER times by being told is watched for
 * its end alone, for QUIET_NS.  Then sysmon has it watched for all again: the kernel says at that moment whether
 * there is something, so a write of which nobody told (an instruction's, an io_uring's, another process's) is seen,
 * that much later once.  Where that was so the file is quiet half as often from then on; and what another process has
as well is never quiet.  A thread that is to wait for anything else there than to read has it watched for all before
 * it parks.
 *
 * Rejected: to know each way in which an end leaves the process, and watch for all from then on: what io_uring, another
 * process's /proc/PID/fd or an instruction writes would never be seen.
 *
 * Locks: a registration changes under Pollreg of its number, and quiet, too, as in pollonce.c; the list is under its
 * own.
 *
 * Must never: leave a file so that nobody will come back to: sysmon does not sleep deep while the list has one.
 */
#include "runtime/poll/polldesc.h"

#define END_ALONE (ENDED | OS_POLLEDGE)

static struct lock listlock = LOCK_INIT(Pollquiet);
static struct polldesc *first, *last;   /* (L) in the order in which they became quiet */
/* A hint for sysmon; seq_cst with npidle: pollquiet_any() is asked once all Ps are idle, and only a busy one adds. */
static _Atomic uint32_t nlisted;

/* One that is listed still from an earlier time keeps its place: it is watched for all sooner. */
static void enlist(struct polldesc *pd)
{
	lock(&listlock);
	if (!pd->listed) {
		pd->listed = true;
		pd->quietsince = nanotime();
		pd->nextquiet = NULL;
		if (last)
			last->nextquiet = pd;
		else
			first = pd;
		last = pd;
		fetch_add_seqcst(&nlisted, 1);
	}
	unlock(&listlock);
}

/* The first, if it is old enough. */
static struct polldesc *next_old(uint64_t now)
{
	struct polldesc *pd;

	lock(&listlock);
	pd = first;
	if (pd && since(pd->quietsince, now) >= QUIET_NS) {
		first = pd->nextquiet;
		if (!first)
			last = NULL;
		pd->listed = false;
	} else {
		pd = NULL;
	}
	unlock(&listlock);
	return pd;
}

/* Its pd_reglock() held. */
static void watch(struct polldesc *pd, int fd, uint32_t events)
{
	int ep = netpoll_fd();

	/* Refused: the file is gone where weft did not see it. */
	if (ep >= 0)
		os_poll_change(ep, fd, events, pd_data(pd));
}

void pd_was_told(pollslot *slot, struct polldesc *pd)
{
	uint32_t n = load_relaxed(&pd->told) + 1;
	int fd;

	if (n >= load_relaxed(&pd->quietafter))
		n = 0;
	store_relaxed(&pd->told, n); /* one that is lost is no matter */
	/* The writer is still inside its call, and a closer of its number that holds the lock waits for that. */
	if (n || !pd_lock_number_if_free(pd, &fd))
		return;
	/*
	 * While the slot names it, the number is its own.  A thread that waits for something else counts itself, then
	 * reads quiet; a link is put in under pd->lock, and then quiet is read.
	 */
	lock(&pd->lock);
	if (load_seqcst(&slot->pd) == pd && !load_relaxed(&pd->once) && !load_relaxed(&pd->links))
		store_seqcst(&pd->quiet, true);
	unlock(&pd->lock);
	if (load_relaxed(&pd->quiet)) {
		if (load_seqcst(&pd->nwait[NETPOLL_OUT])) {
			store_seqcst(&pd->quiet, false);
		} else {
			watch(pd, fd, END_ALONE);
			enlist(pd);
		}
	}
	unlock(pd_reglock(fd));
}

static void hear(struct polldesc *pd, int fd)
{
	if (load_seqcst(&pd->quiet)) {
		store_seqcst(&pd->quiet, false);
		watch(pd, fd, PD_EVENTS);
	}
	unlock(pd_reglock(fd));
}

void pd_hear(struct polldesc *pd)
{
	int fd;

	if (load_seqcst(&pd->quiet) && pd_lock_number(pd, &fd))
		hear(pd, fd);
}

/* Its event was not one of which a writer told since: a reader that was parked waited for sysmon. */
void pd_was_heard(struct polldesc *pd)
{
	uint32_t after = load_relaxed(&pd->quietafter);

	store_relaxed(&pd->heard, false);
	store_relaxed(&pd->quietafter, after < UINT32_MAX / 2 ? after * 2 : after);
}

bool pollquiet_any(void)
{
	return load_seqcst(&nlisted) != 0;
}

void pollquiet_look(uint64_t now)
{
	struct polldesc *pd;

	while (pollquiet_any() && (pd = next_old(now))) {
		int fd;

		store_relaxed(&pd->heard, load_seqcst(&pd->nwait[NETPOLL_IN]) != 0);
		/* A closer that holds the lock may wait for a G whose P sysmon is to take: later, then. */
		if (load_seqcst(&pd->quiet)) {
			if (pd_lock_number_if_free(pd, &fd))
				hear(pd, fd);
			else
				enlist(pd);
		}
		fetch_sub_seqcst(&nlisted, 1); /* after it is heard: sysmon may sleep from then on */
	}
}

/* That none is quiet or listed is polldesc_fork_child()'s. */
void pollquiet_fork_child(void)
{
	lock_init(&listlock, Pollquiet);
	first = last = NULL;
	store_relaxed(&nlisted, 0);
}
