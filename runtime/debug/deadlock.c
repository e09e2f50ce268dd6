/*
 * deadlock: threads that wait for each other in a circle, and processes in which every thread waits for another.
 *
 * sysmon looks now and then: from each G that waits for something with a holder it walks to the holder, and on, until
 * a G does not wait, or one comes again.  What is found is reported when the next look finds the same: a place in the
 * lot keeps its turn for as long as its lot_park() lasts, so a G that has the same turn in two looks was in one call
 * in between, and gave up nothing.  Each member keeps which wait of its was found and told, so there is no end to the
 * circles that are told, and each is told once.  A wait with a deadline is in no circle, nor is one that a handler of
 * the program's may end (hooks.handler_may_wake).  A circle with a wait that pthread_cancel() may end is one when
 * no thread is left that could call it: all are asleep.
 *
 * All are asleep when each G waits without a deadline for what only another thread of this process does, no timer is
 * set, no handler may come, and the kernel knows of no other thread in this process.
 *
 * Looks cost what they cost: so many times that passes before the next one.  It is CPU time that counts: a busy machine
 * makes a look long, and would put the next one off by seconds.
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
	CIRCLES = 8,    /* told after one look; the next look has the others */
	STRANGE = 8,    /* idle looks in a row that wait for kernel threads to end */
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
	struct found found[CIRCLES]; /* by the look before, too, and not told yet */
	int nfound;
	bool more;                 /* circles that are new, or for which there was no room */
	bool told;                 /* one that stands was told by an earlier look */
	struct found asleep;       /* n 0: they are not */
	bool strangers;            /* kernel threads that are not weft's */
};

/* Of sysmon. */
static struct so_far {
	uint64_t walks, next;      /* of all looks; when the next one may be, ns */
	bool unmoved;              /* nothing is left to be found before a G has run */
	uint32_t runs;             /* of all Gs, at the last look */
	struct found asleep;
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

		if (!galive(gp))
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

		if (galive(gp) && gp->shim.tid == id)
			return gp;
	}
	return NULL;
}

/* ---- circles --------------------------------------------------------------------------------- */

static bool has_holder(unsigned reason)
{
	return reason == WaitMutexLock || reason == WaitRwlockRead || reason == WaitRwlockWrite || reason == WaitJoin;
}

/* The G that gp waits for, for good; NULL: none.  *wait tells this wait from all others. */
static struct g *holder_of(const struct look *l, struct g *gp, uint64_t *wait)
{
	struct lot_seen seen;
	uint32_t id;

	if (gstatus(gp) != Gwaiting || !has_holder(gp->waitreason) || !lot_seen(gp, &seen) || seen.timed ||
	    hooks.handler_may_wake(gp))
		return NULL;
	*wait = mixed(gp->shim.goid, seen.turn ^ (uintptr_t)seen.addr << 16);
	id = hooks.holder(gp->waitreason, seen.addr, os_peek_gently);
	return id ? g_with_id(l, id) : NULL;
}

/* Something may end gp's wait for its holder: a pthread_cancel() by a thread that is not asleep. */
static bool is_open(const struct look *l, const struct g *gp)
{
	return (!l->asleep.n || l->strangers) && hooks.cancel_may_wake(gp->waitreason, gp);
}

/* Was each of its waits found by the look before, and was it told?  False: it is none, or one goes on by now. */
static bool circle_of(const struct look *l, struct found *f, bool *found, bool *told)
{
	struct g *gp = f->first;
	uint64_t wait;

	*found = *told = true;
	do {
		struct g *held = holder_of(l, gp, &wait);

		/* Or they are so many that they changed under our eyes. */
		if (!held || is_open(l, gp) || f->n++ > load_relaxed(&sched.nallgs))
			return false;
		*found &= gp->circlefound == wait;
		*told &= gp->circletold == wait;
		gp = held;
	} while (gp != f->first);
	return true;
}

static void mark_circle(const struct look *l, const struct found *f, bool told)
{
	struct g *gp = f->first;
	uint64_t wait;

	for (uint32_t i = 0; gp && i < f->n; i++) {
		struct g *held = holder_of(l, gp, &wait);

		if (!held)
			return;
		gp->circlefound = wait;
		if (told)
			gp->circletold = wait;
		gp = held;
	}
}

/* first is where a walk came back to. */
static void note_circle(struct look *l, struct g *first)
{
	struct found f = { .first = first };
	bool found, told;

	if (!circle_of(l, &f, &found, &told))
		return;
	if (told) {
		l->told = true;
	} else if (found && l->nfound < CIRCLES) {
		l->found[l->nfound++] = f;
	} else {
		mark_circle(l, &f, false);
		l->more = true;
	}
}

static void walk(struct look *l, struct g *gp)
{
	uint64_t mine = ++so_far.walks, wait;

	for (; gp && gp->lookmark <= l->base; gp = holder_of(l, gp, &wait))
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

/* False: something else may wake gp. */
static bool count_asleep(struct look *l, struct g *gp)
{
	struct lot_seen seen;

	if (gstatus(gp) != Gwaiting || !waits_inside(gp->waitreason) || !lot_seen(gp, &seen) || seen.timed)
		return false;
	if (!l->asleep.n++)
		l->asleep.first = gp;
	l->asleep.sum += mixed(gp->shim.goid, seen.turn);
	return true;
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
	uint64_t now = nanotime(), wait;

	tell_begin(&o, f->n == 1 ? "a thread waits for itself" : "threads wait for each other in a circle", f->n);
	for (uint32_t i = 0; gp && i < f->n && i < TOLD_GS; i++, gp = holder_of(l, gp, &wait))
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

static bool slept_before(const struct found *f)
{
	return f->n && f->sum == so_far.asleep.sum && f->n == so_far.asleep.n;
}

static void tell(struct look *l)
{
	for (int i = 0; i < l->nfound; i++) {
		const struct found *f = &l->found[i];

		l->told = true;
		mark_circle(l, f, true);
		if (weft_may_say())
			tell_circle(l, f);
	}
	/* What a circle explains is told once. */
	if (!l->strangers && !l->told && !so_far.toldasleep && slept_before(&l->asleep)) {
		so_far.toldasleep = true;
		if (weft_may_say())
			tell_asleep(&l->asleep);
	}
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Most processes are left at the first G that waits for more than another one. */
static void look_for_sleep(struct look *l)
{
	bool all = true;
	uint32_t i = 0;
	struct g *gp;

	while (all && (gp = g_next(&i)))
		all = count_asleep(l, gp);
	if (!all || timers_next() || hooks.handler_may_wake(NULL))
		l->asleep.n = 0;
	else if (!no_strangers())
		l->strangers = true;
}

/* Behind look_for_sleep(): which circles there are depends on it. */
static void look_for_circles(struct look *l)
{
	uint32_t i = 0;
	struct g *gp;

	l->base = so_far.walks;
	while ((gp = g_next(&i))) {
		if (gstatus(gp) != Gwaiting || !has_holder(gp->waitreason) || gp->lookmark > l->base)
			continue;
		if (!l->ids && !ids_make(l))
			return;
		walk(l, gp);
	}
}

static bool all_idle(void)
{
	return load_seqcst(&sched.npidle) == load_acquire(&gomaxprocs);
}

/* Differs from an earlier one where a G has run meanwhile, be it for a moment that no look saw. */
static uint32_t runs_so_far(void)
{
	uint32_t n = 0;

	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		n += load_relaxed(&allp[i]->runs);
	return n;
}

/* Is there something that the next look may find though no G runs before?  Strange kernel threads end by and by. */
static bool is_owed(const struct look *l, bool idle)
{
	so_far.strange = idle && l->strangers ? so_far.strange + 1 : 0;
	if (l->asleep.n && !so_far.toldasleep && !l->told)
		return l->strangers ? so_far.strange < STRANGE : !slept_before(&l->asleep);
	return l->more || l->nfound == CIRCLES;
}

/* The CPU time of this thread; where the kernel does not say, the time of day does. */
static uint64_t spent(void)
{
	uint64_t ns;

	return os_thread_cpu(0, &ns) ? nanotime() : ns;
}

void deadlock_look(uint64_t now)
{
	struct look l = { 0 };
	bool idle = all_idle();
	uint64_t began;

	if (weft_opt.deadlock == DEADLOCK_OFF || !hooks.holder || now < so_far.next)
		return;
	so_far.unmoved = so_far.unmoved && idle && runs_so_far() == so_far.runs;
	if (so_far.unmoved)
		return;
	so_far.runs = runs_so_far();
	began = spent();
	look_for_sleep(&l);
	look_for_circles(&l);
	tell(&l);
	if (l.ids)
		os_free(l.ids, l.bytes);
	so_far.unmoved = idle && !is_owed(&l, idle);
	so_far.asleep = l.asleep;
	so_far.next = now + since(began, spent()) * COST;
	if (so_far.next < now + EVERY)
		so_far.next = now + EVERY;
}

uint64_t deadlock_when(uint64_t now)
{
	if (weft_opt.deadlock == DEADLOCK_OFF || !hooks.holder || (so_far.unmoved && runs_so_far() == so_far.runs))
		return 0;
	return so_far.next > now ? so_far.next : now + 1;
}

void deadlock_fork_child(void)
{
	/* Gs have numbers of walks up to this. */
	so_far = (struct so_far){ .walks = so_far.walks };
}
