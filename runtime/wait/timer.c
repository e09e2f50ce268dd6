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
 * Four children a node: shallower, one cache line of pointers per step.
 *
 * A heap that cannot grow loses no wake-up: the timers that found no room are in a list, which is
 * searched linearly.  Slow, and only while memory is short.
 */
#include "runtime/sched/gmp.h"

#include <string.h>

#define NOWHERE UINT32_MAX	  /* idx of a timer between two heaps */
#define LISTED (UINT32_MAX - 1) /* of one in the list */

static void place(struct p *pp, uint32_t i, struct timer *t)
{
	pp->timers[i] = t;
	t->idx = i;
}

static void siftup(struct p *pp, uint32_t i, struct timer *t)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / 4;

		if (pp->timers[parent]->when <= t->when)
			break;
		place(pp, i, pp->timers[parent]);
		i = parent;
	}
	place(pp, i, t);
}

static void siftdown(struct p *pp, uint32_t i, struct timer *t)
{
	for (;;) {
		uint32_t first = 4 * i + 1, best = first;

		if (first >= pp->ntimers)
			break;
		for (uint32_t c = first + 1; c < first + 4 && c < pp->ntimers; c++)
			if (pp->timers[c]->when < pp->timers[best]->when)
				best = c;
		if (t->when <= pp->timers[best]->when)
			break;
		place(pp, i, pp->timers[best]);
		i = best;
	}
	place(pp, i, t);
}

static struct timer *first(const struct p *pp)
{
	struct timer *best = pp->ntimers ? pp->timers[0] : NULL;

	for (struct timer *t = pp->timerlist; unlikely(t != NULL); t = t->next)
		if (!best || t->when < best->when)
			best = t;
	return best;
}

#ifdef WEFT_DEBUG
/* The lock is held: each timer knows its place, and none is due before its parent. */
static void heap_check(const struct p *pp)
{
	/* Where there are many, the others in turn. */
	uint32_t from = pp->ntimers > CHECK_MOST ? load_relaxed(&pp->schedtick) % pp->ntimers : 0, n = 0;

	for (uint32_t i = from; i < pp->ntimers && n < CHECK_MOST; i++, n++) {
		const struct timer *t = pp->timers[i];

		if (t->idx != i || load_relaxed(&t->pp) != pp)
			throw("heap_check: p%d: a timer at %u has its place at %u, or on another P", pp->id, i,
			      t->idx);
		if (i && pp->timers[(i - 1) / 4]->when > t->when)
			throw("heap_check: p%d: the timer at %u is due before its parent", pp->id, i);
	}
	for (const struct timer *t = pp->timerlist; t; t = t->next)
		if (t->idx != LISTED || load_relaxed(&t->pp) != pp)
			throw("heap_check: p%d: a timer in the list has its place elsewhere", pp->id);
}
#else
#define heap_check(pp) ((void)0)
#endif

static void settimer0(struct p *pp)
{
	struct timer *t = first(pp);

	store_seqcst(&pp->timer0, t ? t->when : 0);
	heap_check(pp);
}

static void unlist(struct p *pp, struct timer *t)
{
	struct timer **link = &pp->timerlist;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	t->idx = NOWHERE;
	settimer0(pp);
}

static void unheap(struct p *pp, struct timer *t)
{
	uint32_t i = t->idx;
	struct timer *last;

	if (unlikely(i == LISTED)) {
		unlist(pp, t);
		return;
	}
	if (unlikely(i >= pp->ntimers || pp->timers[i] != t))
		throw("timer: p%d has another one at %u of %u", pp->id, i, pp->ntimers);
	last = pp->timers[--pp->ntimers];
	t->idx = NOWHERE;
	if (last != t) {
		if (i > 0 && last->when < pp->timers[(i - 1) / 4]->when)
			siftup(pp, i, last);
		else
			siftdown(pp, i, last);
	}
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

/* Doubles the heap's array. */
static bool grow(struct p *pp)
{
	uint32_t cap = pp->captimers ? pp->captimers * 2 : 512;
	struct timer **heap = os_alloc(cap * sizeof(*heap));

	if (!heap)
		return false;
	if (pp->timers) {
		memcpy(heap, pp->timers, pp->ntimers * sizeof(*heap));
		os_free(pp->timers, pp->captimers * sizeof(*heap));
	}
	pp->timers = heap;
	pp->captimers = cap;
	return true;
}

static void push(struct p *pp, struct timer *t)
{
	if (likely(pp->ntimers < pp->captimers || grow(pp))) {
		siftup(pp, pp->ntimers++, t);
	} else {
		t->idx = LISTED;
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
	lock(&pp->timerslock);
	for (uint32_t i = 0; i < pp->ntimers; i++)
		if (pp->timers[i]->wall)
			pp->timers[i]->when = aim(pp->timers[i]);
	for (struct timer *t = pp->timerlist; t; t = t->next)
		if (t->wall)
			t->when = aim(t);
	for (uint32_t i = pp->ntimers / 4 + 1; i-- > 0;)
		if (i < pp->ntimers)
			siftdown(pp, i, pp->timers[i]);
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
		if (load_acquire(&t->pp) == pp && t->idx != NOWHERE) {
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

uint64_t timers_check(struct p *pp, uint64_t now, bool *ran)
{
	uint64_t next = load_seqcst(&pp->timer0);
	struct g *woken = NULL, **tail = &woken;
	enum readyhow how = load_relaxed(&pp->mon.cpubound) ? READY_WOKEN : READY_TAIL;

	if (next == 0 || now < next)
		return next;
	lock(&pp->timerslock);
	for (struct timer *t; (t = first(pp)) && t->when <= now;) {
		struct g *gp;

		unheap(pp, t);
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
	if (woken && how == READY_TAIL)
		batch_begins();
	/* Without the lock: sysmon has no P, and readying a G may make it start a kernel thread. */
	while (woken) {
		struct g *gp = woken;

		woken = gp->schedlink;
		goready(gp, how);
	}
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
