/*
 * polldesc: what is watched of one open descriptor of the program.
 *
 * Registered with our epoll once, edge-triggered, at the first would-block, until its number is
 * closed.  An edge raises the direction's count and wakes one waiter: waiters park in the lot at
 * the count's address and refuse to sleep when it has moved since they last tried.  (Rejected: a
 * READY mark that a waiter consumes; two threads may read one socket, and both must see an edge
 * that came between their try and their park.)
 *
 * One edge may stand for much data, so a waiter that was woken and succeeded passes the wake-up on
 * (netpoll_release).  A waiter that found nothing need not: what comes later is a new edge.  An end or
 * an error wakes every waiter.
 *
 * A waiter for several descriptors (poll, select) is linked into each; every edge wakes all of
 * these.
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
#include "runtime/sched/gmp.h"

#include <errno.h>

enum { PD_CHUNK = 256, PD_NCHUNKS = 4096, REGLOCKS = 64 };
enum { ENDED = OS_POLLERR | OS_POLLHUP | OS_POLLRDHUP };

struct polldesc {
	/*
	 * seq_cst with nwait: pd_wake() writes this one, then reads that; netpoll_park() the other
	 * way
	 */
	_Atomic uint32_t seq[2];    /* edges of each direction; the lot's addresses */
	/* seq_cst with seq in pd_wake() */
	_Atomic uint32_t nwait[2];  /* about to park, or parked */
	_Atomic uint32_t gen;       /* of this life; an event of a former one is stale */
	_Atomic uint32_t events_seen; /* ENDED and POLLPRI bits seen: a short read proves nothing any more */
	_Atomic uint64_t emptyseq;  /* 1 << 32 | count at which all was read; a hint */
	/*
	 * seq_cst with incalls: keep_file() writes this one, then reads that; netpoll_fdget() the
	 * other way
	 */
	_Atomic int fd;             /* changes when the program closes its number under a user */
	/* seq_cst with fd in keep_file() */
	_Atomic uint32_t incalls;   /* users inside a system call on fd */
	struct lock lock;           /* rank Polldesc */
	uint32_t users;             /* (L) */
	bool detached;              /* (L) its number was closed; the last user frees it */
	struct polllink *_Atomic links; /* (L) written; polldesc_fire() looks first whether there is one */
	struct polldesc *free;      /* (L pool) */
	uint32_t index;             /* (c) */
	uint64_t file[2];           /* (c per life) device and inode */
} __attribute__((aligned(64)));

static struct polldesc *_Atomic pdchunks[PD_NCHUNKS]; /* never moved or freed */
static uint32_t nmade;                           /* (L pool) */
static struct polldesc *freelist;                /* (L pool) */
static struct lock pool = LOCK_INIT(Pollpool);
static struct lock reglocks[REGLOCKS];
/* seq_cst with pollslot.pd, as pollslot.closing */
static _Atomic uint32_t closing_any; /* calls on their way that end numbers without naming each */
_Atomic int32_t nwatched;

/* The low bits say, as with every address in the lot, that no object of pthreads is meant. */
static const void *pd_key(const _Atomic uint32_t *word)
{
	return (const char *)word + 3;
}

static struct lock *reglock(int fd)
{
	struct lock *l = &reglocks[(unsigned)fd % REGLOCKS];

#ifdef WEFT_DEBUG
	l->rank = RankPollreg; /* always the same value */
#endif
	return l;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct polldesc *pd_at(uint32_t index)
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
	/* Only stale events still name it, and these compare the generation first. */
	for (int dir = 0; dir < 2; dir++)
		store_seqcst(&pd->seq[dir], 0);
	store_relaxed(&pd->events_seen, 0);
	store_relaxed(&pd->emptyseq, 0);
	store_seqcst(&pd->fd, fd);
	pd->users = 1;
	pd->detached = false;
	return pd;
}

static void pd_put(struct polldesc *pd)
{
	fetch_add_acq_rel(&pd->gen, 1);
	lock(&pool);
	pd->free = freelist;
	freelist = pd;
	unlock(&pool);
}

static uint64_t data_of(struct polldesc *pd)
{
	return (uint64_t)load_acquire(&pd->gen) << 32 | pd->index;
}

static int pd_watch(struct polldesc *pd, int fd)
{
	return os_poll_add(netpoll_fd(), fd,
			   OS_POLLIN | OS_POLLOUT | OS_POLLPRI | OS_POLLRDHUP | OS_POLLEDGE,
			   data_of(pd));
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
		fetch_add_seqcst(&nwatched, 1);
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
	if (load_seqcst(&slot->closing) || load_seqcst(&closing_any)) {
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
	lock(reglock(fd));
	pd = find_or_make(slot, fd, mine);
	unlock(reglock(fd));
	return pd;
}

/* Pinned.  NULL: fd cannot be watched. */
static struct polldesc *pd_hold(pollslot *slot, int fd)
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

static void pd_drop(struct polldesc *pd)
{
	bool last;

	lock(&pd->lock);
	last = --pd->users == 0 && pd->detached;
	unlock(&pd->lock);
	if (last) {
		int fd = load_seqcst(&pd->fd);

		if (fd >= 0) {
			os_poll_del(netpoll_fd(), fd);
			os_close(fd);
		}
		pd_put(pd);
		fetch_sub_seqcst(&nwatched, 1);
	}
}

/* The file gets a number of ours, which users take from now on. */
static void keep_file(struct polldesc *pd, int fd, bool gone)
{
	int own = gone ? -1 : netpoll_dup(fd);

	/* Before the other goes: an edge in between is seen twice, not lost. */
	if (own >= 0 && pd_watch(pd, own)) {
		os_close(own); /* no watch to be had: as no number */
		own = -1;
	}
	store_seqcst(&pd->fd, own);
	os_poll_del(netpoll_fd(), fd);
	while (load_seqcst(&pd->incalls)) /* in a call that does not block, on the old number */
		os_osyield();
	/* the file is gone, or there is no number or no watch to be had: the users are told EBADF */
	if (own < 0)
		polldesc_fire(data_of(pd), ENDED);
}

/* reglock held */
static void forget(pollslot *slot, struct polldesc *pd, int fd, bool gone)
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
		pd_drop(pd);
	} else {
		os_poll_del(netpoll_fd(), fd);
		pd_put(pd);
		fetch_sub_seqcst(&nwatched, 1);
	}
}

/* reglock held */
static void empty(pollslot *slot, int fd, bool gone)
{
	struct polldesc *pd = load_seqcst(&slot->pd);

	if (pd)
		forget(slot, pd, fd, gone);
}

void netpoll_forget(pollslot *slot, int fd, bool gone)
{
	if (!load_seqcst(&slot->pd) && !load_seqcst(&slot->barred))
		return;
	pin();
	lock(reglock(fd));
	empty(slot, fd, gone);
	store_seqcst(&slot->barred, 0);
	unlock(reglock(fd));
	unpin();
}

void netpoll_bar(pollslot *slot, int fd)
{
	pin();
	lock(reglock(fd));
	fetch_add_seqcst(&slot->barred, 1);
	empty(slot, fd, true);
	unlock(reglock(fd));
	unpin();
}

void netpoll_unbar(pollslot *slot)
{
	uint32_t n = load_seqcst(&slot->barred);

	while (n && !cas_weak_seqcst(&slot->barred, &n, n - 1))
		;
}

/*
 * Both steps are under the lock under which waiters register: what is in the slot by then is taken
 * out here, and a waiter that registers later sees that the number is being closed.
 */
void netpoll_closing(pollslot *slot, int fd)
{
	pin();
	lock(reglock(fd));
	fetch_add_seqcst(&slot->closing, 1);
	empty(slot, fd, false);
	if (load_relaxed(&slot->barred))
		store_seqcst(&slot->barred, 0);
	unlock(reglock(fd));
	unpin();
}

void netpoll_closed(pollslot *slot)
{
	fetch_sub_seqcst(&slot->closing, 1);
}

void netpoll_closing_any(void)
{
	fetch_add_seqcst(&closing_any, 1);
}

void netpoll_closed_any(void)
{
	fetch_sub_seqcst(&closing_any, 1);
}

/* Each lock once: registering reads the count and fills the slot under one of them. */
void netpoll_synchronize(void)
{
	pin();
	for (int i = 0; i < REGLOCKS; i++) {
		lock(reglock(i));
		unlock(reglock(i));
	}
	unpin();
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

	lock(reglock(fd));
	pd = load_seqcst(&slot->pd);
	same = !pd || (!os_fileid(fd, file) && file[0] == pd->file[0] && file[1] == pd->file[1]);
	if (!same)
		forget(slot, pd, fd, true);
	unlock(reglock(fd));
	return same;
}

/* ---- waiting --------------------------------------------------------------------------------- */

#define EMPTY_KNOWN (UINT64_C(1) << 32)

bool netpoll_look(struct netwait *w, pollslot *slot, enum polldir dir)
{
	struct polldesc *pd = load_seqcst(&slot->pd);

	w->slot = slot;
	w->dir = dir;
	w->pd = pd;
	w->seq = 0; /* as when just registered */
	if (!pd)
		return false;
	w->seq = load_seqcst(&pd->seq[dir]);
	return load_relaxed(&pd->emptyseq) == (EMPTY_KNOWN | w->seq) &&
	       !load_relaxed(&pd->events_seen);
}

void netpoll_note_empty(const struct netwait *w)
{
	store_relaxed(&w->pd->emptyseq, EMPTY_KNOWN | w->seq);
}

bool netpoll_may_have_ended(const struct netwait *w)
{
	return !w->pd || load_acquire(&w->pd->events_seen) & ENDED;
}

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
	w->moved = seen && pd != seen;
	w->woken = false;
	w->trying = false;
	return NETPOLL_HELD;
}

void netpoll_next(struct netwait *w)
{
	struct polldesc *pd = w->pd;

	w->seq = load_seqcst(&pd->seq[w->dir]); /* before the try */
	/* Sequentially consistent: pairs with keep_file(), which changes fd and then reads incalls. */
	fetch_add_seqcst(&pd->incalls, 1);
	w->fd = load_seqcst(&pd->fd);
	w->trying = true;
}

/* The number may be closed from here on. */
static void put_number(struct netwait *w)
{
	if (w->trying)
		fetch_sub_seqcst(&w->pd->incalls, 1);
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

static int park(const _Atomic uint32_t *word, uint32_t was, uint64_t deadline,
		enum waitreason reason)
{
	struct moved m = { word, was };
	struct park pk = {
		.addr = pd_key(word),
		.refuse = has_moved,
		.arg = &m,
		.deadline = deadline,
		.reason = (uint8_t)reason,
	};
	int r = lot_park(&pk);

	return r == -EAGAIN ? 0 : r;
}

int netpoll_park(struct netwait *w, uint64_t deadline, enum waitreason reason)
{
	_Atomic uint32_t *nwait = &w->pd->nwait[w->dir];
	int r;

	put_number(w);
	/*
	 * Pairs with polldesc_fire: it raises seq, then reads nwait; we raise nwait, then read seq.
	 */
	fetch_add_seqcst(nwait, 1);
	r = park(&w->pd->seq[w->dir], w->seq, deadline, reason);
	fetch_sub_seqcst(nwait, 1);
	w->woken = r == 0;
	netpoll_next(w);
	return r;
}

void netpoll_release(struct netwait *w, bool empty)
{
	struct polldesc *pd = w->pd;

	put_number(w);
	if (empty)
		netpoll_note_empty(w);
	if (w->woken && load_seqcst(&pd->nwait[w->dir]))
		lot_wake(pd_key(&pd->seq[w->dir]), 1, 0, READY_TAIL, NULL, NULL);
	pd_drop(pd);
	unpin();
}

/* ---- several at once ------------------------------------------------------------------------- */

static void link_in(struct polllink *l)
{
	struct polldesc *pd = l->pd;

	lock(&pd->lock);
	l->prev = NULL;
	l->next = load_relaxed(&pd->links);
	if (l->next)
		l->next->prev = l;
	store_relaxed(&pd->links, l);
	unlock(&pd->lock);
}

static void unlink_from(struct polllink *l)
{
	struct polldesc *pd = l->pd;

	lock(&pd->lock);
	if (l->prev)
		l->prev->next = l->next;
	else
		store_relaxed(&pd->links, l->next);
	if (l->next)
		l->next->prev = l->prev;
	unlock(&pd->lock);
}

static void drop_links(struct polllink *l, unsigned n)
{
	while (n-- > 0)
		if (l[n].pd) {
			unlink_from(&l[n]);
			pd_drop(l[n].pd);
		}
}

bool netpoll_holdset(struct pollset *set, struct polllink *l, unsigned n)
{
	pin();
	for (unsigned i = 0; i < n; i++) {
		l[i].pd = NULL;
		if (!l[i].slot)
			continue;
		l[i].pd = pd_hold(l[i].slot, l[i].fd);
		if (!l[i].pd) {
			drop_links(l, i);
			unpin();
			return false;
		}
		l[i].set = set;
		link_in(&l[i]);
	}
	return true;
}

void netpoll_releaseset(struct polllink *l, unsigned n)
{
	drop_links(l, n);
	unpin();
}

int netpoll_parkset(struct pollset *set, uint64_t deadline, enum waitreason reason)
{
	return park(&set->fired, 0, deadline, reason);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static unsigned pd_wake(struct polldesc *pd, enum polldir dir, bool all)
{
	fetch_add_seqcst(&pd->seq[dir], 1);
	if (!load_seqcst(&pd->nwait[dir]))
		return 0;
	return lot_wake(pd_key(&pd->seq[dir]), all ? ~0u : 1, 0, READY_TAIL, NULL, NULL);
}

static unsigned wake_links(struct polldesc *pd, uint32_t events)
{
	unsigned woken = 0;

	lock(&pd->lock);
	for (struct polllink *l = load_relaxed(&pd->links); l; l = l->next) {
		if (!(events & (l->events | OS_POLLERR | OS_POLLHUP)))
			continue;
		/* Its frame stays while it is linked: unlinking takes this lock. */
		store_seqcst(&l->set->fired, 1);
		woken += lot_wake(pd_key(&l->set->fired), 1, 0, READY_TAIL, NULL, NULL);
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
	pd_wake(pd, dir, true);
	if (load_relaxed(&pd->links)) /* after the count, as below */
		wake_links(pd, dir == NETPOLL_IN ? OS_POLLIN | OS_POLLPRI | OS_POLLRDHUP : OS_POLLOUT);
	unpin();
}

unsigned polldesc_fire(uint64_t data, uint32_t events)
{
	struct polldesc *pd = pd_at((uint32_t)data);
	bool ended = events & (OS_POLLERR | OS_POLLHUP);
	unsigned woken = 0;

	if (!pd || load_acquire(&pd->gen) != (uint32_t)(data >> 32))
		return 0;
	if (events & (ENDED | OS_POLLPRI))
		fetch_or_acq_rel(&pd->events_seen, events & (ENDED | OS_POLLPRI));
	if (events & (OS_POLLIN | OS_POLLPRI | ENDED))
		woken += pd_wake(pd, NETPOLL_IN, events & ENDED);
	if (events & OS_POLLOUT || ended)
		woken += pd_wake(pd, NETPOLL_OUT, ended);
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
	for (int i = 0; i < REGLOCKS; i++)
		lock_init(&reglocks[i], Pollreg);
	freelist = NULL;
	for (uint32_t i = 0; i < nmade; i++) {
		struct polldesc *pd = pd_at(i);

		lock_init(&pd->lock, Polldesc);
		store_relaxed(&pd->links, NULL);
		store_relaxed(&pd->incalls, 0);
		for (int dir = 0; dir < 2; dir++)
			store_relaxed(&pd->nwait[dir], 0);
		if (pd->users && pd->detached && load_relaxed(&pd->fd) >= 0)
			os_close(load_relaxed(&pd->fd));
		pd->users = 0;
		pd->detached = false;
		pd_put(pd);
	}
	store_relaxed(&nwatched, 0);
	store_relaxed(&closing_any, 0);
}
