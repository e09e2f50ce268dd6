/*
 * runq: a P's queue of runnable Gs, and batches from the global one.
 *
 * A ring of 256 plus runnext.  The owner alone writes the tail; head moves by compare-and-swap, by
 * the owner and by thieves.  runnext holds the G just readied by the running one: run next, it
 * inherits the time slice, so a ping-pong pair counts as one.
 *
 *   owner put:   slot store, tail store-release      pairs with  thief's tail load-acquire
 *   taker:       slot load, head CAS release         pairs with  owner's head load-acquire (slot reuse)
 *
 * Stealing takes the older half, as Go does.  Beyond Go: work is stolen only when it has aged
 * (option stealage; a thief must have seen it one look earlier) or the queue is long, because
 * moving a G that its P would run within microseconds costs more than it gains.  stealage=0 is Go's
 * rule.
 */
#include "runtime/sched/sched_inline.h"

enum {
	FRAMES_AHEAD = 4 * LINE, /* from the saved registers to the program's call that waited */
	G_AHEAD = 4 * LINE,      /* of a G, what a switch reads */
};

bool runqempty(struct p *pp)
{
	/* Tail twice: runqput kicks runnext to the ring between our reads otherwise unseen. */
	for (;;) {
		uint32_t h = load_seqcst(&pp->runqhead);
		uint32_t t = load_seqcst(&pp->runqtail);
		struct g *next = load_seqcst(&pp->runnext);

		if (t == load_seqcst(&pp->runqtail))
			return h == t && next == NULL;
	}
}

uint32_t runqring(struct p *pp)
{
	uint32_t h = load_relaxed(&pp->runqhead);
	uint32_t t = load_relaxed(&pp->runqtail);
	uint32_t n = t - h;

	return n > RUNQ_SIZE ? 0 : n; /* head and tail of different moments */
}

uint32_t runqlen(struct p *pp)
{
	return runqring(pp) +
	       (load_relaxed(&pp->runnext) != NULL);
}

/* Moves half of a full ring and gp to the global tail; false when thieves made room meanwhile. */
static bool runqputslow(struct p *pp, struct g *gp, uint32_t h, uint32_t t)
{
	struct g *batch[RUNQ_SIZE / 2 + 1];
	struct gqueue q;
	uint32_t n = (t - h) / 2;

	if (unlikely(t - h > RUNQ_SIZE))
		throw("runqput: p%d has %u Gs, which is more than the ring holds", pp->id, t - h);
	for (uint32_t i = 0; i < n; i++)
		batch[i] = load_relaxed(&pp->runq[(h + i) % RUNQ_SIZE]);
	if (!cas_release(&pp->runqhead, &h, h + n))
		return false;
	batch[n++] = gp;
	for (uint32_t i = n - 1; weft_opt.chaos && i > 0; i--) {
		uint32_t k = (uint32_t)(nextrand(&getm()->rng) % (i + 1));
		struct g *swap = batch[i];

		batch[i] = batch[k];
		batch[k] = swap;
	}
	for (uint32_t i = 0; i + 1 < n; i++)
		batch[i]->schedlink = batch[i + 1];
	batch[n - 1]->schedlink = NULL;
	q = (struct gqueue){ batch[0], batch[n - 1], (int32_t)n };
	lock(&sched.lock);
	globrunqputbatch(&q, false);
	unlock(&sched.lock);
	return true;
}

void runqput(struct p *pp, struct g *gp, bool next)
{
	if (weft_opt.chaos && next && nextrand(&getm()->rng) % 2)
		next = false;
	if (next) {
		gp = exchange_seqcst(&pp->runnext, gp);
		if (!gp)
			return;
	}
	for (;;) {
		uint32_t h = load_acquire(&pp->runqhead);
		uint32_t t = load_relaxed(&pp->runqtail);

		if (t - h < RUNQ_SIZE) {
			store_relaxed(&pp->runq[t % RUNQ_SIZE], gp);
			store_release(&pp->runqtail, t + 1);
			return;
		}
		if (runqputslow(pp, gp, h, t))
			return;
	}
}

/*
 * The Gs behind the one that runs next.  Where thousands wait in turn none is in a cache when it comes to run, and its
 * lines come one after the other: its struct, then what that points to.  So the struct of the one after next is asked
 * for now, and what the next one's names: its thread block, and the frames that it returns through.  (10,000 threads
 * that yield: 390 ns a switch, then 300; with half as much of each, 380.)  Hints: either may have gone to another P.
 */
static inline void look_ahead(const struct g *next, const struct g *then)
{
	uintptr_t sp = load_relaxed(&next->sp);

	for (uintptr_t at = sp; at < sp + FRAMES_AHEAD; at += LINE)
		__builtin_prefetch((void *)at);
	__builtin_prefetch(next->tls);
	__builtin_prefetch(next->shim.fs);
	for (const char *at = (const char *)then; at < (const char *)then + G_AHEAD; at += LINE)
		__builtin_prefetch(at);
}

struct g *runqget_ring(struct p *pp)
{
	for (;;) {
		uint32_t h = load_acquire(&pp->runqhead);
		uint32_t t = load_relaxed(&pp->runqtail);
		struct g *gp;

		if (t == h)
			return NULL;
		gp = load_relaxed(&pp->runq[h % RUNQ_SIZE]);
		if (t - h > 2)
			look_ahead(load_relaxed(&pp->runq[(h + 1) % RUNQ_SIZE]),
				   load_relaxed(&pp->runq[(h + 2) % RUNQ_SIZE]));
		if (cas_release(&pp->runqhead, &h, h + 1))
			return gp;
	}
}

/* How many of the n Gs at head h were here at a look at least stealage ago; renews the mark. */
static uint32_t aged(struct p *v, uint32_t h, uint32_t t, uint64_t now, bool *nextaged)
{
	uint64_t then = load_relaxed(&v->mark.time);
	struct g *next = load_relaxed(&v->runnext);
	uint32_t mark = load_relaxed(&v->mark.tail);
	uint32_t runs = load_relaxed(&v->runs);
	int32_t old = (int32_t)(mark - h);

	*nextaged = false;
	if (since(then, now) < (uint64_t)weft_opt.stealage)
		return t - h >= STEAL_LONG ? t - h : 0;
	/* The same one in runnext may have run a hundred times since. */
	*nextaged = next && next == load_relaxed(&v->mark.next) &&
		    runs == load_relaxed(&v->mark.runs);
	store_relaxed(&v->mark.tail, t);
	store_relaxed(&v->mark.next, next);
	store_relaxed(&v->mark.runs, runs);
	store_relaxed(&v->mark.time, now);
	if (t - h >= STEAL_LONG)
		return t - h;
	return old > 0 && (uint32_t)old <= t - h ? (uint32_t)old : 0;
}

/* The owner asks for help: what stands here now has aged when that comes. */
void runq_mark(struct p *pp)
{
	store_relaxed(&pp->mark.tail, load_relaxed(&pp->runqtail));
	store_relaxed(&pp->mark.next, load_relaxed(&pp->runnext));
	store_relaxed(&pp->mark.runs, load_relaxed(&pp->runs));
	store_relaxed(&pp->mark.time, 0);
}

static struct g *stealnext(struct p *victim)
{
	struct g *next = load_relaxed(&victim->runnext);

	if (!next)
		return NULL;
	/* The owner most likely is about to block and run it: give it a moment. */
	if (weft_opt.stealage == 0 && load_seqcst(&victim->status) == Prunning)
		os_usleep(STEAL_NEXT_US);
	return cas_seqcst(&victim->runnext, &next, NULL) ? next : NULL;
}

/* Half of the victim's ring (rounded up) goes to pp; the last one taken is returned to be run. */
struct g *runqsteal(struct p *pp, struct p *victim, bool next, uint64_t now)
{
	uint32_t to = load_relaxed(&pp->runqtail);

	for (;;) {
		uint32_t h = load_acquire(&victim->runqhead);
		uint32_t t = load_acquire(&victim->runqtail);
		uint32_t n = t - h;
		bool nextaged = next;

		if (n > RUNQ_SIZE)
			continue; /* read at different moments */
		if (weft_opt.stealage && !weft_opt.chaos) {
			uint32_t old = aged(victim, h, t, now, &nextaged);

			n = n - n / 2 < old ? n - n / 2 : old;
		} else {
			n = n - n / 2;
		}
		if (n == 0)
			return nextaged ? stealnext(victim) : NULL;
		if (n > RUNQ_SIZE / 2)
			continue;
		/* pp's ring is empty (that is why it steals), so n slots are free past its tail. */
		for (uint32_t i = 0; i < n; i++) {
			struct g *gp = load_relaxed(&victim->runq[(h + i) % RUNQ_SIZE]);
			store_relaxed(&pp->runq[(to + i) % RUNQ_SIZE], gp);
		}
		if (!cas_release(&victim->runqhead, &h, h + n))
			continue;
		n--;
		if (n)
			store_release(&pp->runqtail, to + n);
		return load_relaxed(&pp->runq[(to + n) % RUNQ_SIZE]);
	}
}

/* Takes all Gs of a P that no M runs (it retires), in order. */
void runqdrain(struct p *pp, struct gqueue *q)
{
	bool inherit;
	struct g *gp;

	*q = (struct gqueue){ 0 };
	while ((gp = runqget(pp, &inherit))) {
		gp->schedlink = NULL;
		if (q->tail)
			q->tail->schedlink = gp;
		else
			q->head = gp;
		q->tail = gp;
		q->size++;
	}
}

/* ---- global queue: sched.lock held ----------------------------------------------------------- */

static void setsize(int32_t n)
{
	if (unlikely(n < 0))
		throw("globrunq: %d Gs", n);
	sched.runq.size = n;
	store_seqcst(&sched.runqsize, n + sched.wakeupq.size);
}

/*
 * gp was woken by a timer, by the kernel or from outside, where no P was at hand.  If all Ps
 * compute for long, one is preempted for it (retake.c).  It has a queue of its own: in the global
 * queue it would look like a G that computes and waits for its next slice, and the time after which
 * a G is preempted would become the slice of all.
 */
void globrunqwoken(struct g *gp)
{
	if (!weft_opt.wakeslice) {
		globrunqput(gp, false);
		return;
	}
	gp->schedlink = NULL;
	if (sched.wakeupq.tail)
		sched.wakeupq.tail->schedlink = gp;
	else
		sched.wakeupq.head = gp;
	sched.wakeupq.tail = gp;
	sched.wakeupq.size++;
	store_seqcst(&sched.wakeupqsize, sched.wakeupq.size);
	setsize(sched.runq.size);
	globrunq_check();
}

static struct g *wakeupqget(void)
{
	struct g *gp = sched.wakeupq.head;

	sched.wakeupq.head = gp->schedlink;
	if (!sched.wakeupq.head)
		sched.wakeupq.tail = NULL;
	sched.wakeupq.size--;
	store_seqcst(&sched.wakeupqsize, sched.wakeupq.size);
	setsize(sched.runq.size);
	globrunq_check();
	return gp;
}

/* The M that runs no other G than gp; NULL: there is none. */
struct m *g_ownm(const struct g *gp)
{
	return gp->lockedm ? gp->lockedm : gp->home;
}

static struct g *unlink_owner(struct gqueue *q)
{
	struct g **link = &q->head, *before = NULL, *gp;

	for (; (gp = *link) && !g_ownm(gp); link = &gp->schedlink)
		before = gp;
	if (!gp)
		return NULL;
	*link = gp->schedlink;
	if (q->tail == gp)
		q->tail = before;
	q->size--;
	return gp;
}

struct g *globrunqget_owner(void)
{
	struct g *gp = unlink_owner(&sched.wakeupq);

	if (!gp)
		gp = unlink_owner(&sched.runq);
	store_seqcst(&sched.wakeupqsize, sched.wakeupq.size);
	setsize(sched.runq.size);
	globrunq_check();
	return gp;
}

void globrunqput(struct g *gp, bool front)
{
	if (front) {
		gp->schedlink = sched.runq.head;
		sched.runq.head = gp;
		if (!sched.runq.tail)
			sched.runq.tail = gp;
	} else {
		gp->schedlink = NULL;
		if (sched.runq.tail)
			sched.runq.tail->schedlink = gp;
		else
			sched.runq.head = gp;
		sched.runq.tail = gp;
	}
	setsize(sched.runq.size + 1);
	globrunq_check();
}

void globrunqputbatch(struct gqueue *q, bool front)
{
	if (!q->head)
		return;
	if (front) {
		q->tail->schedlink = sched.runq.head;
		sched.runq.head = q->head;
		if (!sched.runq.tail)
			sched.runq.tail = q->tail;
	} else {
		if (sched.runq.tail)
			sched.runq.tail->schedlink = q->head;
		else
			sched.runq.head = q->head;
		sched.runq.tail = q->tail;
	}
	setsize(sched.runq.size + q->size);
	globrunq_check();
}

/*
 * A woken one, or up to min(half a ring, a fair share) of the others, of which all but one go to
 * pp's ring.  Without `wakeupq` the others are first: woken ones that keep coming (each request of
 * a busy server, polled by sysmon) would never leave them a turn.  max 0: no bound.
 */
struct g *globrunqget(struct p *pp, int32_t max, bool wakeupq)
{
	int32_t n = sched.runq.size;
	struct g *gp;

	if (sched.wakeupq.head && (wakeupq || n == 0))
		return wakeupqget();
	if (n == 0)
		return NULL;
	if (n > sched.runq.size / load_acquire(&gomaxprocs) + 1)
		n = sched.runq.size / load_acquire(&gomaxprocs) + 1;
	if (max > 0 && n > max)
		n = max;
	if (n > RUNQ_SIZE / 2)
		n = RUNQ_SIZE / 2;
	setsize(sched.runq.size - n);
	count_up(&sched.globrunqgets);
	gp = sched.runq.head;
	sched.runq.head = gp->schedlink;
	while (--n > 0) {
		struct g *more = sched.runq.head;

		sched.runq.head = more->schedlink;
		runqput(pp, more, false);
	}
	if (!sched.runq.head)
		sched.runq.tail = NULL;
	globrunq_check();
	return gp;
}
