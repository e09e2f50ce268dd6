/*
 * timer: per-P heaps of deadlines.
 *
 * A timer lives on the stack of the thread that waits.  Its function runs under the heap's lock and
 * may dequeue a parked G.  The G is readied only after the timer is detached (pp = NULL) and the
 * lock is free: from then on the timer's memory is its owner's again.  timer_del() on a timer that
 * is just firing waits for that lock, so after it returns no other thread touches the timer.  Rank:
 * Timers, before Lot and Sched.
 *
 * A timer may be due on a clock that can be set (wall).  The heap has what that is in CLOCK_MONOTONIC; a
 * clock that was set back is noticed when the timer is due, one that was set forward by the poller
 * (netpoll_clock()), and then all such timers are aimed anew.
 *
 * A heap (timerheap.h) that cannot grow loses no wake-up: the timers that found no room are in a list, which is
 * searched linearly.  Slow, and only while memory is short.
 */
#include "runtime/sched/gmp.h"

static struct timer *first(const struct p *pp)
{
	struct timer *best = timerheap_first(&pp->timers);

	for (struct timer *t = pp->timerlist; unlikely(t != NULL); t = t->next)
		if (!best || t->when < best->when)
			best = t;
	return best;
}

#ifdef WEFT_DEBUG
/* The lock is held: each timer's slot knows its place, and none is due before its parent. */
static void heap_check(const struct p *pp)
{
	const struct timerheap *h = &pp->timers;
	/* Where there are many, the others in turn. */
	uint32_t from = h->n > CHECK_MOST ? load_relaxed(&pp->schedtick) % h->n : 0, n = 0;

	for (uint32_t i = from; i < h->n && n < CHECK_MOST; i++, n++) {
		const struct timerslot *slot = &h->slots[h->keys[i].slot];
		const struct timer *t = slot->t;

		if (!t || slot->at != i || &h->slots[t->slot] != slot || load_relaxed(&t->pp) != pp ||
		    t->when != h->keys[i].when)
			throw("heap_check: p%d: the timer at %u has its place at %u, or on another P", pp->id, i,
			      slot->at);
		if (i && h->keys[(i - 1) / 4].when > h->keys[i].when)
			throw("heap_check: p%d: the timer at %u is due before its parent", pp->id, i);
	}
	if (h->n > h->used)
		throw("heap_check: p%d: %u timers in %u slots", pp->id, h->n, h->used);
	for (const struct timer *t = pp->timerlist; t; t = t->next)
		if (t->slot != TIMER_LISTED || load_relaxed(&t->pp) != pp)
			throw("heap_check: p%d: a timer in the list has its place elsewhere", pp->id);
}
#else
#define heap_check(pp) ((void)0)
#endif

static void settimer0(struct p *pp)
{
	const struct timerheap *h = &pp->timers;
	uint64_t when = h->n ? h->keys[0].when : 0;

	if (unlikely(pp->timerlist != NULL))
		when = first(pp)->when;
	store_seqcst(&pp->timer0, when);
	heap_check(pp);
}

static void unlist(struct p *pp, struct timer *t)
{
	struct timer **link = &pp->timerlist;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	t->slot = TIMER_NOWHERE;
}

static void unheap(struct p *pp, struct timer *t)
{
	if (unlikely(t->slot == TIMER_LISTED))
		unlist(pp, t);
	else
		timerheap_take(&pp->timers, t);
	settimer0(pp);
}

/*
 * For a timer on a clock that may be set.  That clock is asked: 1, long ago, when it has come to
 * the time; else what CLOCK_MONOTONIC will show then, which is another moment once the clock has
 * been set.  Under the lock of the heap where t is put or is, so that timers_reaim() finds it or it
 * is aimed by a clock that has been set already.
 */
static uint64_t aim(const struct timer *t)
{
	uint64_t shows;

	/* That clock first: time that passes in between makes the timer late, never early. */
	if (os_clock_gettime(t->clock, &shows) || shows >= t->wall)
		return 1;
	return nanotime() + (t->wall - shows);
}

static void push(struct p *pp, struct timer *t)
{
	if (unlikely(!timerheap_push(&pp->timers, t))) {
		t->slot = TIMER_LISTED;
		t->next = pp->timerlist;
		pp->timerlist = t;
	}
	store_release(&t->pp, pp);
	settimer0(pp);
}

/* Under the lock, t is in no heap: true when its clock was set back, and it stands there again. */
static bool too_early(struct p *pp, struct timer *t, uint64_t now)
{
	if (likely(!t->wall))
		return false;
	t->when = aim(t);
	if (t->when <= now)
		return false;
	push(pp, t);
	return true;
}

/* Some clock was set: whatever waits for one is due at another time. */
void timers_reaim(struct p *pp)
{
	const struct timerheap *h = &pp->timers;

	lock(&pp->timerslock);
	for (uint32_t i = 0; i < h->n; i++) {
		struct timer *t = h->slots[h->keys[i].slot].t;

		if (t->wall)
			h->keys[i].when = t->when = aim(t);
	}
	for (struct timer *t = pp->timerlist; t; t = t->next)
		if (t->wall)
			t->when = aim(t);
	timerheap_reorder(&pp->timers);
	settimer0(pp);
	unlock(&pp->timerslock);
}

uint64_t timers_realtime(struct p *pp)
{
	struct timer *t;
	uint64_t wall;

	lock(&pp->timerslock);
	t = first(pp);
	wall = t && t->clock == OS_CLOCK_REALTIME ? t->wall : 0;
	unlock(&pp->timerslock);
	return wall;
}

void timer_add(struct timer *t, uint64_t when)
{
	struct p *pp = getp();

	if (!pp)
		pp = allp[0];
	if (!when)
		when = 1;
	t->when = when;
	lock(&pp->timerslock);
	if (unlikely(t->wall))
		t->when = when = aim(t);
	push(pp, t);
	unlock(&pp->timerslock);
	if (unlikely(pp->own))
		return; /* its M sees to it */
	if (unlikely(load_seqcst(&pp->mon.cpubound))) {
		/* As the poller sysmon need not know of it, either: the M that sets the alarm is there first. */
		if (!alarm_for_timer(pp, when))
			sysmon_wake_by(when);
		else if (load_seqcst(&sched.sysmonpolls))
			return;
	}
	wakenetpoller(when);
}

bool timer_del(struct timer *t)
{
	for (;;) {
		struct p *pp = load_acquire(&t->pp);

		if (!pp)
			return false;
		lock(&pp->timerslock);
		if (load_acquire(&t->pp) == pp && t->slot != TIMER_NOWHERE) {
			unheap(pp, t);
			store_release(&t->pp, NULL);
			unlock(&pp->timerslock);
			return true;
		}
		unlock(&pp->timerslock); /* fired, or moved with a dying P */
	}
}

/* The caller's P, if it has one, gets them all. */
static void batch_begins(void)
{
	struct p *own;

	pin();
	own = getp();
	if (own)
		p_batch_begins(own, false);
	unpin();
}

/* It has them: is that too much for it? */
static void batch_queued(void)
{
	struct p *own;

	pin();
	own = getp();
	if (own)
		p_batch_queued(own);
	unpin();
}

uint64_t timers_check(struct p *pp, uint64_t now, bool *ran)
{
	uint64_t next = load_seqcst(&pp->timer0);
	struct g *woken = NULL, **tail = &woken;
	bool batch;
	enum readyhow how = load_relaxed(&pp->mon.cpubound) ? READY_WOKEN : READY_TAIL;

	if (next == 0 || now < next)
		return next;
	lock(&pp->timerslock);
	for (struct timer *t; (t = first(pp)) && t->when <= now;) {
		struct g *gp;

		unheap(pp, t);
		__builtin_prefetch(timerheap_first(&pp->timers)); /* on a cold stack */
		if (too_early(pp, t, now))
			continue;
		gp = t->fn(t->arg);
		store_release(&t->pp, NULL); /* after this *t may be gone, unless gp is still ours */
		if (gp) {
			gp->schedlink = NULL;
			*tail = gp;
			tail = &gp->schedlink;
		}
		*ran = true;
	}
	next = load_seqcst(&pp->timer0);
	unlock(&pp->timerslock);
	batch = woken && how == READY_TAIL;
	if (batch)
		batch_begins();
	/* Without the lock: sysmon has no P, and readying a G may make it start a kernel thread. */
	while (woken) {
		struct g *gp = woken;

		woken = gp->schedlink;
		goready(gp, how);
	}
	if (batch)
		batch_queued();
	return next;
}

uint64_t timers_next(void)
{
	uint64_t first = 0;

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		uint64_t t = load_seqcst(&allp[i]->timer0);

		if (t && (!first || t < first))
			first = t;
	}
	return first;
}

void timers_move(struct p *from, struct p *to)
{
	/* One heap at a time: two locks of one rank need no order then. */
	for (;;) {
		struct timer *t;

		lock(&from->timerslock);
		t = first(from);
		if (t) {
			unheap(from, t);
			/*
			 * Not NULL: timer_del must keep looking until the timer lands in the new
			 * heap.
			 */
			store_release(&t->pp, to);
		}
		unlock(&from->timerslock);
		if (!t)
			return;
		lock(&to->timerslock);
		if (unlikely(t->wall))
			t->when = aim(t);
		push(to, t);
		unlock(&to->timerslock);
	}
}
