/*
 * polldesc: what is watched of one open descriptor of the program.
 *
 * Registered with our epoll once, edge-triggered, at the first would-block, until its number is
 * closed.  An edge raises the direction's count and wakes one waiter: waiters park in the lot at
 * the count's address and refuse to sleep when it has moved since they last tried.  (Rejected: a
 * READY mark that a waiter consumes; two threads may read one socket, and both must see an edge
 * that came between their try and their park.)
 *
 * One edge may stand for much data, so a waiter that was woken passes the wake-up on as it leaves
 * (netpoll_release).  One that found nothing, too: its edge may have ended a watch for one event, which only a
 * park renews (pollonce.c).  An end or an error wakes every waiter.
 *
 * Waiting for several is in pollmany.c, what becomes of a number that ends in pollclose.c.
 *
 * Life.  The caller's slot names the polldesc; users count themselves under its lock while the slot
 * still does.  Closing the number takes it out of the slot.  With users left, the open file must
 * outlive its number, as it does under a thread blocked in the kernel: a private number takes its
 * place, until the last user is gone.  From before the number is closed until after, a new user
 * gets a polldesc of its own, by a private number: which file the program's number names may change
 * at any moment.  (Rejected: to make the user wait; close() may linger, and fclose() flushes first.)
 * The memory is never freed, and an event carries the generation: a stale one is ignored.
 *
 * Locks: Pollreg (by number: registering against closing) < Polldesc < Lot.  System calls are made
 * under Pollreg, which only threads that open and close the same number ask for.
 */
#include "runtime/poll/polldesc.h"

#include <errno.h>

enum { PD_CHUNK = 256, PD_NCHUNKS = 4096 };

static struct polldesc *_Atomic pdchunks[PD_NCHUNKS]; /* never moved or freed */
static uint32_t nmade;                           /* (L pool) */
static struct polldesc *freelist;                /* (L pool) */
static struct lock pool = LOCK_INIT(Pollpool);
static struct lock reglocks[REGLOCKS] = { [0 ... REGLOCKS - 1] = LOCK_INIT(Pollreg) };
/*
 * An M on its way to sleep asks whether anything is watched.  Relaxed: what is watched matters to the M on
 * which its waiter parks, and that one comes after the count; others sleep without the poller's word.
 */
_Atomic int32_t nwatched;

struct lock *pd_reglock(int fd)
{
	return &reglocks[(unsigned)fd % REGLOCKS];
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct polldesc *pd_at(uint32_t index)
{
	struct polldesc *chunk =
		index < PD_CHUNK * PD_NCHUNKS ? load_acquire(&pdchunks[index / PD_CHUNK]) : NULL;

	return chunk ? &chunk[index % PD_CHUNK] : NULL;
}

/* pool held */
static struct polldesc *pd_make(void)
{
	struct polldesc *pd;

	if (nmade == PD_CHUNK * PD_NCHUNKS)
		return NULL;
	if (!load_acquire(&pdchunks[nmade / PD_CHUNK]))
		store_release(&pdchunks[nmade / PD_CHUNK], persistentalloc(PD_CHUNK * sizeof(*pd)));
	pd = pd_at(nmade);
	if (pd) {
		pd->index = nmade++;
		lock_init(&pd->lock, Polldesc);
	}
	return pd;
}

static struct polldesc *pd_get(int fd)
{
	struct polldesc *pd;

	lock(&pool);
	pd = freelist;
	if (pd)
		freelist = pd->free;
	else
		pd = pd_make();
	unlock(&pool);
	if (!pd)
		return NULL;
	/*
	 * Stale events still name it, and compare the generation first; and threads that looked while it was
	 * another file's, and find it again when they hold the number.  For them no count of a former life comes
	 * again: they try once more.
	 */
	for (int dir = 0; dir < 2; dir++) {
		pd->first[dir] = load_relaxed(&pd->seen.seq[dir]) + 1;
		store_seqcst(&pd->seen.seq[dir], pd->first[dir]);
	}
	store_relaxed(&pd->seen.events, 0);
	store_relaxed(&pd->seen.emptyseq, 0);
	store_seqcst(&pd->seen.known, netpoll_unknown(&pd->seen)); /* as where an edge comes */
	store_seqcst(&pd->seen.fd, fd);
	store_relaxed(&pd->vain, 0);
	store_relaxed(&pd->once, false);
	store_relaxed(&pd->told, 0);
	store_relaxed(&pd->quietafter, QUIET_AFTER);
	store_relaxed(&pd->heard, false);
	pd->oncerow = 0;
	pd->users = 1;
	pd->detached = false;
	return pd;
}

void pd_put(struct polldesc *pd)
{
	fetch_add_acq_rel(&pd->gen, 1);
	lock(&pool);
	pd->free = freelist;
	freelist = pd;
	unlock(&pool);
}

uint64_t pd_data(struct polldesc *pd)
{
	return (uint64_t)load_acquire(&pd->gen) << 32 | pd->index;
}

int pd_watch(struct polldesc *pd, int fd)
{
	return os_poll_add(netpoll_fd(), fd, PD_EVENTS, pd_data(pd));
}

/* ---- holding --------------------------------------------------------------------------------- */

/* Watches fd; NULL: impossible. */
static struct polldesc *pd_new(int fd)
{
	struct polldesc *pd = pd_get(fd);

	if (pd && (os_fileid(fd, pd->file) || pd_watch(pd, fd))) {
		pd_put(pd);
		pd = NULL;
	}
	if (pd)
		fetch_add_relaxed(&nwatched, 1);
	return pd;
}

/* reglock held.  fd is being closed: the caller becomes the only user of what it gets. */
static struct polldesc *pd_new_private(int fd)
{
	int own = netpoll_dup(fd);
	struct polldesc *pd = own >= 0 ? pd_new(own) : NULL;

	if (pd)
		pd->detached = true;
	else if (own >= 0)
		os_close(own);
	return pd;
}

/* reglock held.  *mine: the caller is its only user, and is counted already. */
static struct polldesc *find_or_make(pollslot *slot, int fd, bool *mine)
{
	struct polldesc *pd = load_seqcst(&slot->pd);

	if (pd) /* put there meanwhile */
		return pd;
	if (load_seqcst(&slot->barred))
		return NULL;
	if (load_seqcst(&slot->closing) || load_seqcst(&netpoll_closing_any)) {
		*mine = true;
		return pd_new_private(fd);
	}
	pd = pd_new(fd);
	if (pd) {
		pd->users = 0;
		store_seqcst(&slot->pd, pd);
	}
	return pd;
}

static struct polldesc *pd_register(pollslot *slot, int fd, bool *mine)
{
	struct polldesc *pd;

	if (!netpoll_open())
		return NULL;
	lock(pd_reglock(fd));
	pd = find_or_make(slot, fd, mine);
	unlock(pd_reglock(fd));
	return pd;
}

/* Pinned.  NULL: fd cannot be watched. */
struct polldesc *pd_hold(pollslot *slot, int fd)
{
	for (;;) {
		struct polldesc *pd = load_seqcst(&slot->pd);
		bool mine = false;

		if (!pd)
			pd = pd_register(slot, fd, &mine);
		if (!pd || mine)
			return pd;
		lock(&pd->lock);
		/* The slot changes under this lock: while it names pd, pd is not given back. */
		if (load_seqcst(&slot->pd) == pd) {
			pd->users++;
			unlock(&pd->lock);
			return pd;
		}
		unlock(&pd->lock);
	}
}

void pd_drop(struct polldesc *pd)
{
	bool last;

	lock(&pd->lock);
	last = --pd->users == 0 && pd->detached;
	unlock(&pd->lock);
	if (last) {
		int fd = load_seqcst(&pd->seen.fd);

		if (fd >= 0) {
			os_poll_del(netpoll_fd(), fd);
			os_close(fd);
		}
		pd_put(pd);
		fetch_sub_relaxed(&nwatched, 1);
	}
}

/*
 * The open file is the registered one.  If not, what was registered is forgotten: its file was
 * closed where weft did not see it.
 */
static bool pd_same(pollslot *slot, int fd)
{
	struct polldesc *pd;
	uint64_t file[2];
	bool same;

	lock(pd_reglock(fd));
	pd = load_seqcst(&slot->pd);
	same = !pd || (!os_fileid(fd, file) && file[0] == pd->file[0] && file[1] == pd->file[1]);
	if (!same)
		pd_forget(slot, pd, fd, true);
	unlock(pd_reglock(fd));
	return same;
}

/* ---- waiting --------------------------------------------------------------------------------- */

enum nethold netpoll_hold(struct netwait *w, int fd, bool tried)
{
	struct polldesc *pd, *seen = w->pd;

	pin();
	if (tried && !pd_same(w->slot, fd)) {
		unpin();
		return NETPOLL_OTHER;
	}
	pd = pd_hold(w->slot, fd);
	if (!pd) {
		unpin();
		return NETPOLL_NONE;
	}
	w->pd = pd;
	if (!seen)
		w->seq = pd->first[w->dir]; /* whatever came since it was registered is new to the caller */
	w->moved = seen && pd != seen;
	if (w->moved)
		w->known = NETPOLL_UNSEEN;
	w->woken = false;
	w->trying = false;
	return NETPOLL_HELD;
}

/* The number may be closed from here on. */
static void put_number(struct netwait *w)
{
	if (w->trying)
		fetch_sub_seqcst(&w->pd->seen.incalls, 1);
	w->trying = false;
}

struct moved {
	const _Atomic uint32_t *word;
	uint32_t was;
};

static int has_moved(void *arg)
{
	struct moved *m = arg;

	return load_seqcst(m->word) != m->was; /* seq_cst: see seq */
}

int netpoll_park(struct netwait *w, uint64_t deadline, enum waitreason reason)
{
	struct moved m = { &w->pd->seen.seq[w->dir], w->seq };
	struct park pk = park_wait(netpoll_key(m.word), has_moved, &m, reason);
	_Atomic uint32_t *nwait = &w->pd->nwait[w->dir];
	int r;

	put_number(w);
	if (w->oneway)
		pd_arm(w->pd);
	park_until_ns(&pk, deadline);
	/*
	 * Pairs with polldesc_fire: it raises seq, then reads nwait; we raise nwait, then read seq.
	 */
	fetch_add_seqcst(nwait, 1);
	if (w->dir == NETPOLL_OUT)
		pd_hear(w->pd);
	r = park_woken(lot_park(&pk));
	fetch_sub_seqcst(nwait, 1);
	w->woken = r == 0;
	netpoll_next(w);
	return r;
}

int netpoll_release(struct netwait *w, bool empty, bool keep)
{
	struct polldesc *pd = w->pd;
	int kept = unlikely(keep) ? netpoll_dup(w->fd) : -1;

	put_number(w);
	if (empty)
		netpoll_note_empty(w);
	if (w->woken && load_seqcst(&pd->nwait[w->dir]))
		lot_wake(netpoll_key(&pd->seen.seq[w->dir]), 1, 0, READY_TAIL, NULL, NULL);
	pd_drop(pd);
	unpin();
	return kept;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static unsigned pd_wake(struct polldesc *pd, enum polldir dir, bool all, enum readyhow how)
{
	fetch_add_seqcst(&pd->seen.seq[dir], 1);
	if (!load_seqcst(&pd->nwait[dir]))
		return 0;
	return lot_wake(netpoll_key(&pd->seen.seq[dir]), all ? ~0u : 1, 0, how, NULL, NULL);
}

static unsigned wake_links(struct polldesc *pd, uint32_t events)
{
	unsigned woken = 0;

	lock(&pd->lock);
	LIST_EACH(struct polllink, l, &pd->links, link) {
		if (!(events & (l->events | OS_POLLERR | OS_POLLHUP)))
			continue;
		/* Its frame stays while it is linked: unlinking takes this lock. */
		store_seqcst(&l->set->fired, 1);
		woken += lot_wake(netpoll_key(&l->set->fired), 1, 0, READY_TAIL, NULL, NULL);
	}
	unlock(&pd->lock);
	return woken;
}

/* The memory is never freed: at worst a user of another file tries once for nothing. */
void netpoll_retry(pollslot *slot, enum polldir dir)
{
	struct polldesc *pd = load_seqcst(&slot->pd);

	if (!pd)
		return;
	pin();
	pd_wake(pd, dir, true, READY_TAIL);
	if (load_relaxed(&pd->links)) /* after the count, as below */
		wake_links(pd, dir == NETPOLL_IN ? OS_POLLIN | OS_POLLPRI | OS_POLLRDHUP : OS_POLLOUT);
	unpin();
}

/*
 * The caller has put something in.  The kernel's edge comes as well, later, and costs a waiter one more try at most.
 * So a wrong slot, or one that names another file by now, does no harm, and nothing is lost where nobody tells.
 */
void netpoll_told(pollslot *slot, bool own)
{
	struct polldesc *pd = load_seqcst(&slot->pd);

	if (!pd)
		return;
	pin();
	if (unlikely(load_relaxed(&pd->heard)))
		store_relaxed(&pd->heard, false);
	if (pd_wake(pd, NETPOLL_IN, false, READY_NEXT) && own && !load_relaxed(&pd->quiet) && getp())
		pd_was_told(slot, pd);
	if (unlikely(load_relaxed(&pd->links))) /* after the count, as in polldesc_fire() */
		wake_links(pd, OS_POLLIN);
	unpin();
}

/*
 * On the thread that got the event: an idle M as the poller (idle.c), an M that looks for work
 * (findrunnable.c), sysmon (poll_for_busy(), sleep_polling()).
 */
unsigned polldesc_fire(uint64_t data, uint32_t events)
{
	struct polldesc *pd = pd_at((uint32_t)data);
	bool ended = events & (OS_POLLERR | OS_POLLHUP);
	unsigned woken = 0;

	if (!pd || load_acquire(&pd->gen) != (uint32_t)(data >> 32))
		return 0;
	if (events & (ENDED | OS_POLLPRI))
		fetch_or_acq_rel(&pd->seen.events, events & (ENDED | OS_POLLPRI));
	if (events & OS_POLLIN)
		store_seqcst(&pd->seen.known, netpoll_unknown(&pd->seen)); /* before the count moves: see known */
	if (events & (OS_POLLIN | OS_POLLPRI | ENDED))
		woken += pd_wake(pd, NETPOLL_IN, events & ENDED, READY_TAIL);
	if (unlikely(load_relaxed(&pd->heard)))
		pd_was_heard(pd);
	if (events & OS_POLLOUT || ended)
		woken += pd_wake(pd, NETPOLL_OUT, ended, READY_TAIL);
	/*
	 * A link that is not visible yet was made after the event: its owner asks the kernel next, which
	 * is a fence there; here the counts above are.
	 */
	if (load_relaxed(&pd->links))
		woken += wake_links(pd, events);
	return woken;
}

/* In the child the epoll is gone, and so are all waiters. */
void polldesc_fork_child(void)
{
	lock_init(&pool, Pollpool);
	pollquiet_fork_child();
	for (int i = 0; i < REGLOCKS; i++)
		lock_init(&reglocks[i], Pollreg);
	freelist = NULL;
	for (uint32_t i = 0; i < nmade; i++) {
		struct polldesc *pd = pd_at(i);

		lock_init(&pd->lock, Polldesc);
		store_relaxed(&pd->links, NULL);
		store_relaxed(&pd->seen.incalls, 0);
		store_relaxed(&pd->quiet, false);
		pd->listed = false;
		for (int dir = 0; dir < 2; dir++)
			store_relaxed(&pd->nwait[dir], 0);
		if (pd->users && pd->detached && load_relaxed(&pd->seen.fd) >= 0)
			os_close(load_relaxed(&pd->seen.fd));
		pd->users = 0;
		pd->detached = false;
		pd_put(pd);
	}
	store_relaxed(&nwatched, 0);
	store_relaxed(&netpoll_closing_any, 0);
}
