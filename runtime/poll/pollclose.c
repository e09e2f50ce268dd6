/*
 * pollclose: what becomes of a registration when its number ends, or may not be watched.
 *
 * The caller says so before the call that ends the number and after it.  Between the two a new waiter
 * watches the file by a number of our own (pd_hold()); those that wait already keep the file by another
 * such number, until the last of them is gone.
 *
 * Must never: touch the program's number, which may name another file already.
 */
#include "runtime/poll/polldesc.h"

_Atomic uint32_t netpoll_closing_any;

/* The file gets a number of ours, which users take from now on. */
static void keep_file(struct polldesc *pd, int fd, bool gone)
{
	int own = gone ? -1 : netpoll_dup(fd);

	/* Before the other goes: an edge in between is seen twice, not lost. */
	if (own >= 0 && pd_watch(pd, own)) {
		os_close(own); /* no watch to be had: as no number */
		own = -1;
	}
	store_relaxed(&pd->once, false);
	store_seqcst(&pd->quiet, false);
	store_seqcst(&pd->seen.fd, own);
	os_poll_del(netpoll_fd(), fd);
	/* the file is gone, or there is no number or no watch to be had: the users are told EBADF */
	if (own < 0)
		polldesc_fire(pd_data(pd), ENDED);
}

/*
 * Users that have read the old number make their call with it: until then it must name the old file.  As a rule these
 * calls do not wait.  But a pipe's may: another process's splice() sleeps with the pipe's lock; and the P of such a
 * user may be the caller's, which therefore gives way, holds no lock and is not pinned.  After KEEP_NS the user is in
 * the kernel, which has the file.  (Spinning here, under the registration's lock, a closer at procs=1 hung for as long
 * as that splice() lasted, or for good.)
 */
static void await_calls(struct polldesc *pd)
{
	uint64_t until = 0, now;

	if (!pd)
		return;
	for (struct moment w = { 0 }; load_seqcst(&pd->seen.incalls);) {
		moment_wait(&w);
		if (!w.slept)
			continue;
		now = nanotime();
		if (!until)
			until = now + KEEP_NS;
		else if (now >= until)
			break;
		if (!runtime_busy())
			gosched();
	}
	pin();
	pd_drop(pd);
	unpin();
}

struct polldesc *pd_forget(pollslot *slot, struct polldesc *pd, int fd, bool gone)
{
	bool used;

	lock(&pd->lock);
	store_seqcst(&slot->pd, NULL);
	used = pd->users != 0;
	if (used) {
		pd->detached = true;
		pd->users++;
	}
	unlock(&pd->lock);
	if (used) {
		keep_file(pd, fd, gone);
		/* Where the number names another file already, there is nothing to wait for. */
		if (!gone && load_seqcst(&pd->seen.incalls))
			return pd;
		pd_drop(pd);
	} else {
		os_poll_del(netpoll_fd(), fd);
		store_seqcst(&pd->quiet, false);
		pd_put(pd);
		fetch_sub_relaxed(&nwatched, 1);
	}
	return NULL;
}

/* Its pd_reglock() held; returns as pd_forget(). */
static struct polldesc *empty(pollslot *slot, int fd, bool gone)
{
	struct polldesc *pd = load_seqcst(&slot->pd);

	return pd ? pd_forget(slot, pd, fd, gone) : NULL;
}

bool pd_unwatch(pollslot *slot, int fd)
{
	struct polldesc *pd;
	bool used = false;

	lock(pd_reglock(fd));
	pd = load_seqcst(&slot->pd);
	if (pd) {
		lock(&pd->lock);
		used = pd->users != 0;
		unlock(&pd->lock);
		if (!used) /* a new user registers, or is between the slot and pd->lock, and finds it empty */
			pd_forget(slot, pd, fd, false);
	}
	unlock(pd_reglock(fd));
	return !used;
}

void netpoll_changed(pollslot *slot, int fd, enum pollchange how)
{
	bool bars = how == NETPOLL_BARS;
	struct polldesc *incalls;

	if (how >= NETPOLL_RETRY) {
		if (likely(how >= NETPOLL_TOLD)) {
			netpoll_told(slot, how == NETPOLL_TOLD_OWN);
			return;
		}
		if (how == NETPOLL_RETRY)
			netpoll_retry(slot, NETPOLL_IN);
		netpoll_retry(slot, NETPOLL_OUT);
		return;
	}
	if (!bars && !load_seqcst(&slot->pd) && !load_seqcst(&slot->barred))
		return;
	pin();
	lock(pd_reglock(fd));
	if (bars)
		fetch_add_seqcst(&slot->barred, 1);
	incalls = empty(slot, fd, how != NETPOLL_KEEPS);
	if (!bars)
		store_seqcst(&slot->barred, 0);
	unlock(pd_reglock(fd));
	unpin();
	await_calls(incalls);
}

/*
 * Both steps are under the lock under which waiters register: what is in the slot by then is taken
 * out here, and a waiter that registers later sees that the number is being closed.
 */
static void closing_one(pollslot *slot, int fd)
{
	struct polldesc *incalls;

	pin();
	lock(pd_reglock(fd));
	fetch_add_seqcst(&slot->closing, 1);
	incalls = empty(slot, fd, false);
	if (load_relaxed(&slot->barred))
		store_seqcst(&slot->barred, 0);
	unlock(pd_reglock(fd));
	unpin();
	await_calls(incalls);
}

/* Each lock once: registering reads the count and fills the slot under one of them. */
static void synchronize(void)
{
	pin();
	for (int i = 0; i < REGLOCKS; i++) {
		lock(pd_reglock(i));
		unlock(pd_reglock(i));
	}
	unpin();
}

void netpoll_closing(pollslot *slot, int fd)
{
	if (unlikely(netpoll_owns(fd)))
		netpoll_move(fd);
	if (likely(slot)) {
		closing_one(slot, fd);
		return;
	}
	fetch_add_seqcst(&netpoll_closing_any, 1);
	if (fd < 0)
		synchronize();
}
