/*
 * proc: who runs.  The scheduler's heart; read this file first.
 *
 * G    a user-level thread: a stack, a glibc thread block, a saved stack pointer.
 * M    a kernel thread.  Runs scheduler code on its g0 stack and Gs on theirs.
 * P    the right to run Gs, gomaxprocs of them, each with a local queue and timers.  An M must own a P to
 *      run a G; an M in a system call leaves its P behind, where sysmon may take it.
 *
 * schedule() runs on g0, never returns, and starts at the top of g0's stack each time (mcall), so
 * nothing on g0 survives a switch.  FS belongs to the stack: on g0 it is the M's block, on a G the
 * G's.
 *
 * Spinning.  An M that has a P and looks for work in other queues counts in nmspinning.  Rule
 * against lost wake-ups, as in Go: who submits work from outside a P first publishes it, then reads
 * nmspinning (wakep); who stops spinning first decrements nmspinning, then looks at every queue
 * again.  Both are sequentially consistent, so one of them sees the other.
 *
 * Where we depart from Go (options, see options.def; the figures that decided are in HACKING.md):
 *   readywake=0    ready() from a running G wakes nobody: the G just readied most likely runs next here.
 *   wakesurplus=N  creation wakes an idle P only when more than N Gs are queued locally.
 *   nap=NS         an idle M looks again after a nap, doubling, while another P is busy.
 *   stealage=NS    only work that has waited is stolen.
 * sysmon backs all of them up: queued work with an idle P is found within its period.
 *
 * Must never: block while holding a P; call libc; run on a G's stack after the G was published
 * elsewhere.
 */
#include "runtime/next.h"

struct sched sched = { .lock = LOCK_INIT(Sched),
		       .gfreelock = LOCK_INIT(Gfree),
		       .allglock = LOCK_INIT(Allgs) };
struct p *allp[MAXPROCS];
_Atomic int32_t gomaxprocs;
struct m m0;
struct g *g_main_;
struct runtime_hooks hooks;
int weft_on;
__thread struct weft_tls weft_tls __attribute__((tls_model("initial-exec")));

enum {
	NAP_MAX = 2000000, /* ns; an idle M looks at least this often while another P is busy */
};

/*
 * Before fn lets others run the G that left: its alternate stack goes with it.  A signal that came
 * for this M while it looks for work would else be written over the frames of a handler that runs
 * there, on another M, or to memory that is the program's again.
 */
static void take_altstack(void *arg)
{
	struct m *mp = weft_tls.m;

	mp->altsp = NULL;
	os_sigaltstack(NULL, 0, 0);
	mp->mcallfn(arg);
}

void mcall(void (*fn)(void *))
{
	struct g *gp = weft_tls.g;
	struct m *mp;

	/* Pinned until it runs again: neither g0's top nor the switch back may meet a handler. */
	pin();
	mp = atomic_load_explicit(&gp->m, memory_order_relaxed);
	if (unlikely(atomic_load_explicit(&cputime_on, memory_order_relaxed)))
		cputime_leave(gp, mp);
	if (unlikely(mp->altsp)) {
		mp->mcallfn = fn;
		fn = take_altstack;
	}
	arch_mcall(&gp->sp, mp->fs, mp->g0top, fn, gp);
	unpin();
}

/*
 * gp was woken, or has ended, before it left its stack (park.c); its M is about to, unless the
 * kernel stopped it there.  A yield lets only threads of our own priority run, and the caller's may
 * be a real-time one, on that M's CPU: soon it sleeps instead.
 */
void g_await_off(struct g *gp)
{
	enum { SPIN = 64, YIELD = 64 * SPIN, SLEEP_US = 20 };

	for (unsigned i = 1; atomic_load_explicit(&gp->m, memory_order_acquire); i++) {
		if (i % SPIN)
			arch_pause();
		else if (i < YIELD)
			os_osyield();
		else
			os_usleep(SLEEP_US);
	}
}

static void __attribute__((noreturn)) execute(struct m *mp, struct g *gp, bool inherit)
{
	settle(mp, gp, inherit);
	settle_kernel(mp, gp);
	arch_gogo(gp->sp, gp->fs);
}

static void setspinning(struct m *mp)
{
	mp->spinning = true;
	atomic_fetch_add(&sched.nmspinning, 1);
	atomic_store(&sched.needspinning, 0);
}

/* An M that found work stops spinning; there may be more, so somebody else may have to look. */
void resetspinning(struct m *mp)
{
	int32_t n;

	mp->spinning = false;
	n = atomic_fetch_sub(&sched.nmspinning, 1) - 1;
	if (n < 0)
		throw("resetspinning: nmspinning is %d", n);
	if (weft_opt.readywake || atomic_load(&sched.runqsize) > 0 ||
	    runqlen(mp->p) > weft_opt.wakesurplus)
		wakep();
}

/* True when some queue or heap has what an idle P could do. */
bool anywork(void)
{
	uint64_t first;

	if (atomic_load(&sched.runqsize) > 0)
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (!runqempty(allp[i]))
			return true;
	first = timers_next();
	return first && first <= nanotime();
}

/* Descriptors are watched, and no M sleeps in epoll to hear of them. */
static bool nobody_polls(void)
{
	return netpoll_watching() && atomic_load(&sched.lastpoll) != 0;
}

static struct g *stealwork(struct m *mp, bool *inherit, bool *again)
{
	struct p *pp = mp->p;
	uint32_t n = 0;
	uint64_t now = nanotime();

	while (n < MAXPROCS && allp[n])
		n++;
	for (int pass = 0; pass < STEAL_PASSES; pass++) {
		uint32_t i = (uint32_t)(nextrand(&mp->rng) % n), stride;
		bool last = pass == STEAL_PASSES - 1;

		/* Any stride coprime to n visits each victim once. */
		do {
			stride = (uint32_t)(nextrand(&mp->rng) % n) + 1;
			for (uint32_t a = stride, b = n;; ) {
				uint32_t r = a % b;

				if (r == 0) {
					stride = b == 1 ? stride : 0;
					break;
				}
				a = b;
				b = r;
			}
		} while (stride == 0);
		for (uint32_t k = 0; k < n; k++, i = (i + stride) % n) {
			struct p *v = allp[i];
			struct g *gp;

			if (v == pp)
				continue;
			if (last) {
				bool ran = false;

				timers_check(v, now, &ran);
				if (ran) {
					gp = runqget(pp, inherit);
					if (gp)
						return gp;
					*again = true;
				}
			}
			/* Only one whose M is being made has work. */
			if (atomic_load_explicit(&v->status, memory_order_relaxed) == Pidle &&
			    runqempty(v))
				continue;
			gp = runqsteal(pp, v, last, now);
			if (gp) {
				*inherit = false;
				return gp;
			}
		}
		/* The marks do not age within one look: further passes find the same. */
		if (weft_opt.stealage && pass == 0)
			pass = STEAL_PASSES - 2;
	}
	return NULL;
}

/*
 * At a tick that looks around; once, however many Gs share it.  Not while much is queued: what
 * comes would go before the global queue, and a local queue that is fed again and again never
 * leaves it its turn (a quarter of 1,000 busy connections were starved so).  sysmon looks if that
 * lasts.
 */
bool poll_is_due(struct p *pp)
{
	return netpoll_watching() &&
	       pp->polltick != atomic_load_explicit(&pp->schedtick, memory_order_relaxed) &&
	       atomic_load_explicit(&sched.runqsize, memory_order_relaxed) == 0 &&
	       runqlen(pp) < RUNQ_SIZE - NETPOLL_BATCH;
}

/*
 * Woken without a P first; but one after the other they must not starve what is queued here: after
 * a few wakeslices that has its turn, of one at least.  (When a row was three of them, however
 * short, eight sleepers of 100 us were late by 370 us.)
 */
static bool urgent_first(struct p *pp, uint32_t tick)
{
	enum { ROW = 3 };
	uint64_t now;

	if (atomic_load(&sched.urgentsize) == 0)
		return false;
	now = nanotime();
	if (tick != pp->urgenttick + 1)
		pp->urgentwhen = now;
	else if (now - pp->urgentwhen >= ROW * (uint64_t)weft_opt.wakeslice)
		return false;
	pp->urgenttick = tick;
	return true;
}

/*
 * At a tick that looks around, the common queue goes first: a local one that is fed again and again
 * would never leave it its turn.  Where Gs compute for whole slices that is one too many here and
 * one too few on the P that will take it when its own are through (3 and 1 of four share two Ps
 * with 67 and 200 %): there only if nobody took from it for as long as the local ones may need.
 */
static bool common_first(struct p *pp, uint32_t tick)
{
	uint32_t gets = atomic_load_explicit(&sched.commongets, memory_order_relaxed);
	uint32_t ring = runqring(pp);
	uint64_t now;

	if (tick % GLOBAL_TICK || atomic_load(&sched.runqsize) == 0)
		return false;
	if (!atomic_load_explicit(&pp->mon_computes, memory_order_relaxed) || ring == 0)
		return true;
	now = nanotime();
	if (pp->commonseen != gets) {
		pp->commonseen = gets;
		pp->commonwhen = now;
	}
	return now - pp->commonwhen >= ((ring < 2 ? ring : 2) + 2) * (uint64_t)weft_opt.slice;
}

/* The poller queues work, */
void p_begins(struct p *pp)
{
	if (pp->workwhen)
		return;
	pp->workwhen = nanotime();
	pp->workruns = atomic_load_explicit(&pp->runs, memory_order_relaxed);
}

/*
 * and it is done: how long did each take?  By the clock on the wall, which costs a tenth of the M's
 * own; hence the mean of many, and what waiting for a CPU may add to one of them bounded.
 */
static void p_worked_off(struct p *pp)
{
	uint32_t runs = atomic_load_explicit(&pp->runs, memory_order_relaxed) - pp->workruns;
	uint64_t burst = atomic_load_explicit(&pp->burst, memory_order_relaxed);
	uint64_t now = nanotime(), each = runs ? (now - pp->workwhen) / runs : burst;

	each = each < BURST_MAX ? each : BURST_MAX;
	atomic_store_explicit(&pp->burst, burst - burst / 8 + each / 8, memory_order_relaxed);
	atomic_store_explicit(&pp->workedwhen, now, memory_order_relaxed);
	pp->workwhen = 0;
}

/* With a P in hand: something to run, or NULL. */
struct g *lookaround(struct m *mp, bool *inherit)
{
	struct p *pp = mp->p;
	struct g *gp;
	bool again;

	do {
		bool ran = false, common;
		uint32_t tick;

		again = false;
		*inherit = false;
		if (atomic_load(&pp->timer0))
			timers_check(pp, nanotime(), &ran);
		tick = atomic_load_explicit(&pp->schedtick, memory_order_relaxed);
		if (tick % GLOBAL_TICK == 0 && poll_is_due(pp)) {
			/* A busy queue must not starve those who wait for data. */
			pp->polltick = tick;
			netpoll_look();
		}
		common = common_first(pp, tick);
		if (common || urgent_first(pp, tick)) {
			lock(&sched.lock);
			gp = globrunqget(pp, 1, !common);
			unlock(&sched.lock);
			if (gp)
				return gp;
		}
		gp = runqget(pp, inherit);
		if (gp)
			return gp;
		if (atomic_load(&sched.runqsize) > 0) {
			lock(&sched.lock);
			/* Urgent ones that are here still have had their row. */
			gp = globrunqget(pp, 0, false);
			unlock(&sched.lock);
			if (gp)
				return gp;
		}
		if (pp->workwhen)
			p_worked_off(pp);
		/*
		 * Asking first saves giving the P away and taking it back where much comes; where
		 * one at a time comes it is a call for nothing before the one that sleeps.
		 */
		if (atomic_load_explicit(&sched.pollmany, memory_order_relaxed) &&
		    (nobody_polls() || atomic_load(&sched.monpolls)) && netpoll_look()) {
			gp = runqget(pp, inherit);
			if (gp)
				return gp;
		}
		if (mp->spinning || 2 * atomic_load(&sched.nmspinning) <
					    atomic_load(&gomaxprocs) - atomic_load(&sched.npidle)) {
			if (!mp->spinning)
				setspinning(mp);
			gp = stealwork(mp, inherit, &again);
			if (gp)
				return gp;
		}
	} while (again);
	return NULL;
}

/* Gets an idle P for an M that has none. */
static bool takeidlep(struct m *mp)
{
	struct p *pp;

	lock(&sched.lock);
	pp = pidleget();
	unlock(&sched.lock);
	if (!pp)
		return false;
	acquirep(mp, pp);
	return true;
}

/* Sleep of an idle M: 0 until woken, else the next look (something here is busy, work may age). */
static uint64_t naptime(struct m *mp)
{
	if (!weft_opt.nap || atomic_load(&sched.npidle) >= atomic_load(&gomaxprocs))
		return 0;
	if (mp->napns < (uint64_t)weft_opt.nap)
		mp->napns = weft_opt.nap;
	else if (mp->napns < NAP_MAX)
		mp->napns *= 2;
	return nanotime() + mp->napns;
}

/*
 * As the poller (lastpoll was exchanged for 0), without a P.  True: somebody had to be heard, so
 * either there is a P now or the caller looks again.
 */
static bool poll_idle(struct m *mp, uint64_t nap)
{
	struct os_event ev[NETPOLL_BATCH];
	/* Order: lastpoll = 0 before the heaps are read (netpoll_wake_for). */
	uint64_t until = timers_next();
	bool polled = until || netpoll_watching();
	int n = 0;

	if (polled) {
		atomic_store(&sched.polluntil, until);
		n = netpoll_wait(ev, nap && (!until || nap < until) ? nap : until);
	}
	/*
	 * Before anybody is readied: who adds a timer or wakes an idle P must not take us for
	 * asleep.
	 */
	atomic_store(&sched.polluntil, 0);
	atomic_store(&sched.lastpoll, nanotime());
	if (n && takeidlep(mp)) {
		/*
		 * Those who waited run here next: waking another M for them costs more than they
		 * do.
		 */
		netpoll_ready(ev, n);
		return true;
	}
	if (n)
		netpoll_ready(ev, n);
	if (polled && anywork() && takeidlep(mp))
		setspinning(mp);
	return polled;
}

/*
 * Without a P: sleeps, as the poller if there is something to poll and nobody does, until there is
 * one.
 */
static void idle(struct m *mp)
{
	for (;;) {
		uint64_t nap = naptime(mp);

		if (atomic_exchange(&sched.lastpoll, 0) != 0 && poll_idle(mp, nap)) {
			if (mp->p)
				return;
			if (atomic_load(&sched.npidle) > 0)
				continue;
		}
		stopm(mp, nap);
		if (mp->p)
			return;
		if (anywork() && takeidlep(mp)) {
			setspinning(mp);
			return;
		}
	}
}

/* A spinning M waits a little for work before it gives its P up: sleeping and waking cost more. */
static bool spin_for_work(void)
{
	uint64_t until = nanotime() + weft_opt.spin;

	while (nanotime() < until) {
		if (anywork())
			return true;
		for (int i = 0; i < 30; i++)
			arch_pause();
	}
	return false;
}

static struct g *findrunnable(struct m *mp, bool *inherit)
{
	bool waited = weft_opt.spin == 0;

	for (;;) {
		struct g *gp = lookaround(mp, inherit);
		bool spun = mp->spinning;

		if (gp)
			return gp;
		if (spun && !waited && !nobody_polls()) {
			/*
			 * Once: work that is queued elsewhere but not aged must not keep us here.
			 */
			waited = true;
			if (spin_for_work())
				continue;
		}
		lock(&sched.lock);
		if (atomic_load(&sched.runqsize) > 0) {
			gp = globrunqget(mp->p, 0, true);
			unlock(&sched.lock);
			return gp;
		}
		if (!spun && atomic_load(&sched.needspinning)) {
			setspinning(mp);
			unlock(&sched.lock);
			continue;
		}
		pidleput(releasep(mp));
		unlock(&sched.lock);
		if (spun) {
			mp->spinning = false;
			/* Before the last look: work submitted after it must find no spinner. */
			if (atomic_fetch_sub(&sched.nmspinning, 1) <= 0)
				throw("findrunnable: negative nmspinning");
			if ((atomic_load(&sched.runqsize) > 0 ||
			     (weft_opt.readywake && anywork())) &&
			    takeidlep(mp)) {
				setspinning(mp);
				continue;
			}
		}
		idle(mp);
	}
}

/*
 * The M of a wired G, with a P, when all that waits stands in the global queue.  True: its own G is
 * first and goes on.  When the first is wired to another M, that one gets the P: a third M that
 * took it, looked and passed it on would double the switches of two that yield to each other.
 */
static bool own_turn(struct m *mp)
{
	struct p *pp = mp->p;
	uint64_t first = atomic_load(&pp->timer0);
	struct m *owner = NULL;
	struct g *gp;

	if (!runqempty(pp) || (first && nanotime() >= first) || weft_opt.chaos ||
	    pp->id >= atomic_load(&gomaxprocs))
		return false;
	lock(&sched.lock);
	gp = sched.urgent.head ? sched.urgent.head : sched.runq.head;
	if (gp && gp->lockedm) {
		owner = gp->lockedm;
		globrunqget(pp, 1, true);
		if (owner != mp)
			owner->nextp = releasep(mp);
	}
	unlock(&sched.lock);
	if (owner && owner != mp)
		mwake(owner);
	return owner == mp;
}

void schedule(void *unused)
{
	struct m *mp = weft_tls.m;

	(void)unused;
	for (;;) {
		struct g *gp;
		bool inherit;

		if (mp->p && !mp->spinning && (gp = nextlocal(mp, &inherit)))
			execute(mp, gp, inherit);
		if (mp->lockedg) {
			if (!mp->p || !own_turn(mp))
				stoplockedm(mp);
			execute(mp, mp->lockedg, false);
		}
		if (p_retire_if_dying(mp))
			idle(mp);
		gp = findrunnable(mp, &inherit);
		if (mp->spinning)
			resetspinning(mp);
		mp->napns = 0;
		if (gp->lockedm && gp->lockedm != mp) {
			startlockedm(mp, gp);
			continue;
		}
		execute(mp, gp, inherit);
	}
}

void g_start(struct g *gp)
{
	struct p *pp;

	atomic_fetch_add(&sched.nglive, 1);
	gp->tls->locks = 1; /* pinned as everything that was switched away; entry() unpins */
	atomic_store_explicit(&gp->status, Grunnable, memory_order_release);
	pin();
	pp = getp();
	if (pp) {
		/*
		 * In the order of creation, as natively: nobody who was first is pushed out of
		 * runnext.
		 */
		bool first = !atomic_load_explicit(&pp->runnext, memory_order_relaxed);

		if (first)
			first = putnext(pp, gp);
		else
			runqput(pp, gp, false);
		/* Alone in runnext, at most one more than in the ring: no surplus. */
		if (weft_opt.wakesurplus == 0 ||
		    (!first && runqlen(pp) > weft_opt.wakesurplus))
			wakep();
	} else {
		ready(gp, READY_TAIL);
	}
	unpin();
}

static void gosched0(void *arg)
{
	struct g *gp = arg;

	offm(gp);
	lock(&sched.lock);
	globrunqput(gp, false);
	unlock(&sched.lock);
	schedule(NULL);
}

static void goyield0(void *arg)
{
	struct g *gp = arg;

	runqput(offm(gp)->p, gp, false);
	schedule(NULL);
}

void gosched(void)
{
	struct p *pp;
	bool alone;

	/*
	 * The kernel's turn as well, where it decides between Ms that both have work: with more Ps
	 * than CPUs, and for a wired G, whose M may share its only CPU, at a real-time priority,
	 * with the one it yields to.
	 */
	if (unlikely(atomic_load_explicit(&sched.oversubscribed, memory_order_relaxed) ||
		     (weft_tls.g && weft_tls.g->lockdepth)))
		os_osyield();
	pin();
	pp = getp();
	/* Nobody else to run: as the kernel's sched_yield, go on. */
	alone = !pp || (runqempty(pp) && atomic_load(&sched.runqsize) == 0 &&
			atomic_load(&pp->timer0) == 0 && !weft_opt.chaos);
	unpin();
	if (!alone)
		mcall(gosched0);
}

void goyield(void)
{
	bool have;

	pin();
	have = getp() != NULL;
	unpin();
	if (have)
		mcall(goyield0);
}

/* Chaos makes decisions that nobody may rely on: where an order is promised it has none to make. */
void runtime_promised(void)
{
	if (unlikely(weft_opt.chaos))
		weft_opt.chaos = 0;
}

void runtime_yieldhere(void)
{
	struct g *gp = weft_tls.g;
	struct m *mp;

	if (unlikely(weft_tls.preempt))
		runtime_wish();
	if (likely(!weft_opt.chaos) || !gp || gp->sysdepth)
		return;
	mp = getm();
	switch (nextrand(&mp->rng) % 16) {
	case 0:
		mcall(gosched0);
		break;
	case 1:
		mcall(goyield0);
		break;
	}
}
