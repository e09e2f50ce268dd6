/*
 * deadlock: threads that wait for each other in a circle, and processes in which every thread waits for another.
 *
 * sysmon looks now and then: from each G that waits for something with a holder it walks to the holder, and on, until
 * a G does not wait, or one comes again.  What is found is reported when the next look finds the same: a place in the
 * lot keeps its turn for as long as its lot_park() lasts, so a G that has the same turn in two looks was in one call
 * in between, and gave up nothing.  A wait with a deadline is in no circle, nor is one that a handler of the
 * program's may end (hooks.handler_may_wake).
 *
 * All are asleep when each G waits without a deadline for what only another thread of this process does, no timer is
 * set, no handler may come, and the kernel knows of no other thread in this process.
 *
 * Looks cost what they cost: so many times that passes before the next one.
 *
 * A program that has closed standard error may have a file of its own under that number, a database's: then nothing is
 * written.
 *
 * Must never: stop or lock more than a bucket of the lot; read an object other than by the peek, for it may be gone.
 */
#include "runtime/debug/backtrace.h"
#include "runtime/park.h"

#include <string.h>

enum {
	/* ns between two looks: what a user takes for at once. */
	EVERY = 100000000,
	/* times its cost between two looks: a thousandth of a CPU, a tenth of what sysmon may use in all. */
	COST = 1000,
	CIRCLES = 8,    /* found or told, that are remembered */
	TOLD_GS = 32,   /* printed of one circle, or of those that sleep */
};

/* A circle, or all Gs that sleep: the sum is of each one's life and turn. */
struct found {
	struct g *first;
	uint32_t n;
	uint64_t sum;
};

struct look {
	uint64_t base;             /* walks of this look have higher numbers */
	uint32_t *ids;             /* places of Gs in the table of all, and 1, by libc's ids */
	size_t bytes, mask;
	struct found found[CIRCLES];
	int nfound;
	struct found asleep;       /* n 0: they are not */
	bool outside;              /* something else may wake one */
	bool strangers;            /* kernel threads that are not weft's */
};

/* Of sysmon. */
static struct so_far {
	uint64_t walks, next;      /* of all looks; when the next one may be, ns */
	bool unmoved;              /* no G has run since the last look, as far as looks saw */
	struct found last[CIRCLES], told[CIRCLES], asleep;
	int nlast, ntold;
	bool toldasleep;
	int strange;               /* idle looks in a row that found strangers */
} so_far;

static uint64_t mixed(uint64_t goid, uint64_t turn)
{
	uint64_t h = (goid * 0x9e3779b97f4a7c15 ^ turn) * 0xbf58476d1ce4e5b9;

	return h ^ h >> 31;
}

/* ---- libc's ids ------------------------------------------------------------------------------ */

static size_t slot_of(const struct look *l, uint32_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15 >> 32) & l->mask;
}

/* Twice as many places as Gs.  False: no memory, and nothing is found. */
static bool ids_make(struct look *l)
{
	uint32_t n = load_acquire(&sched.nallgs);
	size_t places = 64;

	while (places < 2 * (size_t)n)
		places *= 2;
	l->bytes = places * sizeof(*l->ids);
	l->mask = places - 1;
	l->ids = os_alloc(l->bytes);
	for (uint32_t i = 0; l->ids && i < n; i++) {
		struct g *gp = g_at(i);
		size_t at;

		if (!gp || !galive(gp))
			continue;
		for (at = slot_of(l, gp->shim.tid); l->ids[at]; at = (at + 1) & l->mask)
			;
		l->ids[at] = i + 1;
	}
	return l->ids != NULL;
}

static struct g *g_with_id(const struct look *l, uint32_t id)
{
	for (size_t at = slot_of(l, id); l->ids[at]; at = (at + 1) & l->mask) {
		struct g *gp = g_at(l->ids[at] - 1);

		if (gp && galive(gp) && gp->shim.tid == id)
			return gp;
	}
	return NULL;
}

/* ---- circles --------------------------------------------------------------------------------- */

static bool has_holder(unsigned reason)
{
	return reason == WaitMutexLock || reason == WaitRwlockRead || reason == WaitRwlockWrite || reason == WaitJoin;
}

/* The G that gp waits for, for good; NULL: none.  turn: of its wait. */
static struct g *holder_of(const struct look *l, struct g *gp, uint64_t *turn)
{
	struct lot_seen seen;
	uint32_t id;

	if (gstatus(gp) != Gwaiting || !has_holder(gp->waitreason) || !lot_seen(gp, &seen) || seen.timed ||
	    hooks.handler_may_wake(gp))
		return NULL;
	*turn = seen.turn;
	id = hooks.holder(gp->waitreason, seen.addr, os_peek_plainly);
	return id ? g_with_id(l, id) : NULL;
}

/* first is where a walk came back to. */
static void note_circle(struct look *l, struct g *first)
{
	struct found f = { .first = first };
	struct g *gp = first;
	uint64_t turn = 0;

	do {
		struct g *held = holder_of(l, gp, &turn);

		/* One goes on by now; or they are so many that they changed under our eyes. */
		if (!held || f.n++ > load_relaxed(&sched.nallgs))
			return;
		f.sum += mixed(gp->shim.goid, turn);
		gp = held;
	} while (gp != first);
	if (l->nfound < CIRCLES)
		l->found[l->nfound++] = f;
}

static void walk(struct look *l, struct g *gp)
{
	uint64_t mine = ++so_far.walks, turn;

	for (; gp && gp->lookmark <= l->base; gp = holder_of(l, gp, &turn))
		gp->lookmark = mine;
	if (gp && gp->lookmark == mine)
		note_circle(l, gp);
}

/* ---- all asleep ------------------------------------------------------------------------------ */

/* For what another thread of this process does, and nothing else can. */
static bool waits_inside(unsigned reason)
{
	return has_holder(reason) || reason == WaitCondWait || reason == WaitBarrier || reason == WaitSemaphore ||
	       reason == WaitOnce || reason == WaitFutex;
}

static void count_asleep(struct look *l, struct g *gp)
{
	struct lot_seen seen;

	if (gstatus(gp) != Gwaiting || !waits_inside(gp->waitreason) || !lot_seen(gp, &seen) || seen.timed) {
		l->outside = true;
		return;
	}
	if (!l->asleep.n++)
		l->asleep.first = gp;
	l->asleep.sum += mixed(gp->shim.goid, seen.turn);
}

/* Each kernel thread of the process is an M or one of weft's helpers. */
static bool no_strangers(void)
{
	int tasks = os_tasks(), ours;

	lock(&sched.lock);
	ours = sched.nm + load_relaxed(&helpers);
	unlock(&sched.lock);
	return tasks > 0 && tasks <= ours;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool among(const struct found *list, int n, const struct found *f)
{
	for (int i = 0; i < n; i++)
		if (list[i].sum == f->sum && list[i].n == f->n)
			return true;
	return false;
}

static void tell_begin(struct outbuf *o, const char *what, uint32_t n)
{
	weft_print(o, "weft[%d]: deadlock: %s: %u thread%s (names: weftctl dump %d; silence: deadlock=off)\n",
		   os_getpid(), what, n, n == 1 ? "" : "s", os_getpid());
}

static void tell_end(struct outbuf *o, uint32_t n)
{
	if (n > TOLD_GS)
		weft_print(o, "weft[%d]: and %u more\n", os_getpid(), n - TOLD_GS);
	weft_print(o, "weft[%d]: end of deadlock\n", os_getpid());
	weft_flush(o);
	if (weft_opt.deadlock == DEADLOCK_ABORT)
		os_abort();
}

static void tell_circle(const struct look *l, const struct found *f)
{
	struct outbuf o = OUTBUF_INIT;
	struct g *gp = f->first;
	struct backtrace b;
	bool have = backtrace_open(&b);
	uint64_t now = nanotime(), turn;

	tell_begin(&o, f->n == 1 ? "a thread waits for itself" : "threads wait for each other in a circle", f->n);
	for (uint32_t i = 0; gp && i < f->n && i < TOLD_GS; i++, gp = holder_of(l, gp, &turn))
		dump_g(&o, have ? &b : NULL, gp, now);
	if (have)
		backtrace_close(&b);
	tell_end(&o, f->n);
}

static void tell_asleep(const struct found *f)
{
	struct outbuf o = OUTBUF_INIT;
	uint32_t i = 0, left = TOLD_GS;
	struct backtrace b;
	bool have = backtrace_open(&b);
	uint64_t now = nanotime();
	struct g *gp;

	tell_begin(&o, "all threads are asleep, and nothing is left that could wake one", f->n);
	while (left && (gp = g_next(&i))) {
		dump_g(&o, have ? &b : NULL, gp, now);
		left--;
	}
	if (have)
		backtrace_close(&b);
	tell_end(&o, f->n);
}

static void tell(const struct look *l)
{
	bool any = false;

	for (int i = 0; i < l->nfound; i++) {
		const struct found *f = &l->found[i];

		if (among(so_far.told, so_far.ntold < CIRCLES ? so_far.ntold : CIRCLES, f)) {
			any = true;
		} else if (among(so_far.last, so_far.nlast, f)) {
			any = true;
			so_far.told[so_far.ntold++ % CIRCLES] = *f;
			if (weft_may_say())
				tell_circle(l, f);
		}
	}
	/* What a circle explains is told once. */
	if (l->asleep.n && !l->strangers && !any && !so_far.toldasleep && among(&so_far.asleep, 1, &l->asleep)) {
		so_far.toldasleep = true;
		if (weft_may_say())
			tell_asleep(&l->asleep);
	}
}

/* ---- looking --------------------------------------------------------------------------------- */

static void look_at_all(struct look *l)
{
	uint32_t i = 0;
	struct g *gp;

	l->base = so_far.walks;
	while ((gp = g_next(&i))) {
		if (!l->outside)
			count_asleep(l, gp);
		if (gstatus(gp) != Gwaiting || !has_holder(gp->waitreason) || gp->lookmark > l->base)
			continue;
		if (!l->ids && !ids_make(l))
			return;
		walk(l, gp);
	}
	if (l->outside || timers_next() || hooks.handler_may_wake(NULL))
		l->asleep.n = 0;
	else if (!no_strangers())
		l->strangers = true;
}

static bool all_idle(void)
{
	return load_seqcst(&sched.npidle) == load_acquire(&gomaxprocs);
}

void deadlock_look(uint64_t now)
{
	struct look l = { 0 };
	bool idle = all_idle(), owed = !idle;

	so_far.unmoved &= idle;
	if (now < so_far.next || so_far.unmoved || weft_opt.deadlock == DEADLOCK_OFF || !hooks.holder)
		return;
	look_at_all(&l);
	tell(&l);
	if (l.ids)
		os_free(l.ids, l.bytes);
	/* What is new is looked at once more, and a kernel thread that ends is counted for a while. */
	for (int i = 0; i < l.nfound; i++)
		owed |= !among(so_far.last, so_far.nlast, &l.found[i]);
	so_far.strange = idle && l.strangers ? so_far.strange + 1 : 0;
	if (l.asleep.n && !so_far.toldasleep)
		owed |= l.strangers ? so_far.strange < CIRCLES : !among(&so_far.asleep, 1, &l.asleep);
	so_far.unmoved = !owed;
	memcpy(so_far.last, l.found, sizeof(so_far.last));
	so_far.nlast = l.nfound;
	so_far.asleep = l.asleep;
	so_far.next = now + (nanotime() - now) * COST;
	if (so_far.next < now + EVERY)
		so_far.next = now + EVERY;
}

uint64_t deadlock_when(uint64_t now)
{
	if (so_far.unmoved || weft_opt.deadlock == DEADLOCK_OFF || !hooks.holder)
		return 0;
	return so_far.next > now ? so_far.next : now + 1;
}

void deadlock_fork_child(void)
{
	/* Gs have numbers of walks up to this. */
	so_far = (struct so_far){ .walks = so_far.walks };
}
