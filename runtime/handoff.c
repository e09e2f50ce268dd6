/*
 * handoff: the P of an M that blocks where we do not see it.
 *
 * A call that the shim knows goes through entersyscall and leaves its P behind.  Everything else that blocks
 * (a lock inside libc, a resolver's poll, an inline futex of an OpenMP runtime, a page fault) would keep it.
 * sysmon finds such an M in two steps:
 *
 *   suspect   the P's schedtick stands still, and so does the CPU clock of the M (0.3 us to read)
 *   proof     the kernel says that the thread is blocked, and where (os_blocked, a few us)
 *
 * The clock alone would do wrong thousands of times: a thread that waits for a CPU uses none either.  With work
 * waiting and no P idle, two looks a tenth of a millisecond apart decide; without, an M loses its P after 10 ms,
 * so that a process that waits as a whole lets sysmon sleep.
 *
 * The G need not cooperate, so taking the P is a handshake on a word of its thread block, weft_tls.nop (lock.h):
 *
 *	sysmon                                  G
 *	nop = NOP_ASKED                         locks++            (pin, lock)
 *	proof, membarrier                       nop != 0?          wait, or get a P
 *	locks == 0, still gp on mp with pp?     ...
 *	P taken, nop = NOP_TAKEN                locks--
 *
 * Either the G sees NOP_ASKED or we see its locks.  The G's side is two plain instructions; the fence it lacks is
 * membarrier(2) on ours (0.3 us; a kernel without it leaves the feature off).  The fence makes the taking exact
 * even if the proof is no longer true; chaos takes Ps from Ms that run.
 *
 * From NOP_ASKED to the answer nothing here takes a lock or waits: the G may be spinning for it.
 * A G whose P was taken goes on without one, in the kernel and then in the program's code, until it next enters
 * the runtime: pin_slow() gets a P as a return from a system call does, or queues the G and the M sleeps.
 *
 * gp->tls stays mapped when the thread ends: a dead G keeps its thread block, and stack_free() is for blocks
 * that never lived.  A G that ended and lives again has a word that reads NOP_NONE.
 *
 * Rejected: a flag in struct m, read through getm(): what pin() protects is exactly the way to the M.
 *
 * Must never: take a P from a G inside the runtime; run on anything but sysmon.
 */
#include "runtime/gmp.h"

enum {
	LOOK_MIN = 80000,      /* ns between two looks */
	LOOK_SUSPECT = 100,    /* us until the next when an M stands still and work waits */
	LOOK_WORK = 500,       /* us when work waits */
	CHAOS_TAKES = 8,       /* chaos: one look in so many takes a P from an M that may run */
};

#define KEEP 10000000ULL       /* ns an M keeps its P when no work waits */

static uint64_t lastlook;
static uint32_t lastwish;
static struct m *taken;        /* Ms whose P was taken and that have not come back */
static bool have_fence;
static uint64_t rng = 1;

/* ---- the G's side ---------------------------------------------------------------------------------- */

void pin_slow(void)
{
	struct g *gp = weft_tls.g;

	/* Inside already: whoever asks will find that and leave us alone. */
	if (weft_tls.locks != 1)
		return;
	for (int i = 0; __atomic_load_n(&weft_tls.nop, __ATOMIC_ACQUIRE) == NOP_ASKED; i++) {
		/* A handful of instructions of sysmon's, if it is on a CPU. */
		if (i < 1000)
			arch_pause();
		else
			os_osyield();
	}
	/* Acquire: pairs with the store of NOP_TAKEN; mp->p reads NULL. */
	if (__atomic_load_n(&weft_tls.nop, __ATOMIC_ACQUIRE) != NOP_TAKEN)
		return;
	__atomic_store_n(&weft_tls.nop, NOP_NONE, __ATOMIC_RELAXED);
	regainp(gp);
}

/* ---- sysmon's -------------------------------------------------------------------------------------- */

/* Something an M with a P could do at once, and nobody about to do it. */
static bool starving(uint64_t now)
{
	uint64_t first;

	if (atomic_load(&sched.npidle) > 0 || atomic_load(&sched.nmspinning) > 0)
		return false;
	if (atomic_load(&sched.runqsize) > 0)
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (!runqempty(allp[i]))
			return true;
	first = timers_next();
	return first && first <= now;
}

/* After the fence: gp is outside the runtime, on mp, with pp; and cannot enter before we answer. */
static bool outside(struct p *pp, struct m *mp, struct g *gp, struct weft_tls *tls)
{
	/* First: the rest is stable once this reads 0. */
	if (__atomic_load_n(&tls->locks, __ATOMIC_ACQUIRE))
		return false;
	/* A new life of gp has another word, or this one at NOP_NONE again. */
	return gp->tls == tls && __atomic_load_n(&tls->nop, __ATOMIC_RELAXED) == NOP_ASKED &&
	       atomic_load(&gp->m) == mp && __atomic_load_n(&mp->curg, __ATOMIC_RELAXED) == gp &&
	       __atomic_load_n(&mp->p, __ATOMIC_RELAXED) == pp && pp->m == mp;
}

static void note_taken(struct m *mp, struct g *gp, uint64_t cpu)
{
	if (!mp->takenfrom) {
		mp->takenlink = taken;
		taken = mp;
	}
	mp->takenfrom = gp;
	mp->takencpu = cpu;
}

/* Takes pp from mp if mp is blocked outside the runtime (any: if it is outside). */
static bool take(struct p *pp, struct m *mp, uint64_t cpu, bool any)
{
	struct g *gp = __atomic_load_n(&mp->curg, __ATOMIC_ACQUIRE);
	struct weft_tls *tls = gp ? gp->tls : NULL;
	uint32_t asked = NOP_ASKED, s = Prunning;
	struct os_where where = { 0 };

	/* Most of the time the runtime is where it is: no need to ask. */
	if (!tls || __atomic_load_n(&tls->locks, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&tls->nop, NOP_ASKED, __ATOMIC_SEQ_CST);
	if (!any && os_blocked(mp->ostid, &where) != 1)
		goto leave;
	os_membarrier();
	/* The last step that may fail; only sysmon changes a P whose M is outside. */
	if (!outside(pp, mp, gp, tls) || !atomic_compare_exchange_strong(&pp->status, &s, Pidle))
		goto leave;
	mp->p = NULL;
	pp->m = NULL;
	gp->syscallsp = where.sp; /* for dumps, as the status */
	atomic_store_explicit(&gp->status, Gsyscall, memory_order_relaxed);
	note_taken(mp, gp, cpu);
	/* Release: pairs with pin_slow's acquire. */
	__atomic_store_n(&tls->nop, NOP_TAKEN, __ATOMIC_RELEASE);
	pp->hand_m = NULL;
	handoffp(pp);
	return true;
leave:
	/* Not a plain store: the block may have begun a new life meanwhile. */
	__atomic_compare_exchange_n(&tls->nop, &asked, NOP_NONE, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return false;
}

/* One P; true: its M stands still. */
static bool look_p(struct p *pp, uint64_t now, bool work)
{
	uint32_t tick = atomic_load_explicit(&pp->schedtick, memory_order_relaxed);
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	uint64_t cpu, used;

	if (atomic_load(&pp->status) != Prunning || !mp || !mp->ostid) {
		pp->hand_m = NULL;
		return false;
	}
	if (unlikely(weft_opt.chaos) && nextrand(&rng) % CHAOS_TAKES == 0 && take(pp, mp, 0, true))
		return false;
	if (os_thread_cpu(mp->ostid, &cpu))
		return false;
	used = pp->hand_m == mp && pp->hand_tick == tick ? cpu - pp->hand_cpu : ~0ULL;
	pp->hand_m = mp;
	pp->hand_tick = tick;
	pp->hand_cpu = cpu;
	if (used) {
		pp->hand_still = 0;
		return used < (now - lastlook) / 2; /* it may have stopped in between */
	}
	if (!pp->hand_still)
		pp->hand_still = now;
	if ((work || now - pp->hand_still >= KEEP) && take(pp, mp, cpu, false))
		return false;
	return true;
}

/* Forgets the Ms that came back. */
static void look_taken(void)
{
	struct m **link = &taken, *mp;

	while ((mp = *link)) {
		struct g *gp = mp->takenfrom;

		if (atomic_load(&gp->m) == mp &&
		    __atomic_load_n(&gp->tls->nop, __ATOMIC_RELAXED) == NOP_TAKEN) {
			link = &mp->takenlink;
			continue;
		}
		*link = mp->takenlink;
		mp->takenfrom = NULL;
	}
}

void handoff_forget(struct m *mp)
{
	struct m **link;

	if (!mp->takenfrom)
		return;
	for (link = &taken; *link != mp; link = &(*link)->takenlink)
		;
	*link = mp->takenlink;
	mp->takenfrom = NULL;
}

uint32_t handoff_look(uint64_t now)
{
	bool work, suspect = false;

	if (now - lastlook < LOOK_MIN)
		return lastwish;
	if (!have_fence)
		return 0;
	work = starving(now);
	look_taken();
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		suspect |= look_p(allp[i], now, work);
	lastlook = now;
	lastwish = !work ? 0 : suspect ? LOOK_SUSPECT : LOOK_WORK;
	return lastwish;
}

void handoff_start(void)
{
	have_fence = os_membarrier_start() == 0;
}

void handoff_fork_child(void)
{
	lastlook = 0;
	lastwish = 0;
	taken = NULL;
}
