/*
 * blocked: the P of an M that blocks where the shim does not see it.
 *
 * A call that the shim knows goes through entersyscall and leaves its P behind.  Everything else
 * that blocks (a lock inside libc, a resolver's poll, an inline futex of an OpenMP runtime, a page
 * fault) would keep it.  sysmon finds such an M in two steps:
 *
 *   suspect   the P's schedtick stands still, and so does the CPU clock of the M (0.3 us to read)
 *   proof     the kernel says that the thread is blocked, and where (os_blocked through procfs.c, 10 us)
 *
 * The clock alone would be wrong thousands of times: a thread that waits for a CPU uses none
 * either.  With work waiting and no P idle, two looks a tenth of a millisecond apart decide;
 * without, an M loses its P after 10 ms, so that a process that waits as a whole lets sysmon sleep.
 *
 * The G need not cooperate, so taking the P is a handshake on a word of its thread block,
 * weft_tls.revoke (lock.h):
 *
 *	sysmon                                  G
 *	revoke = REVOKE_ASKED                   locks++            (pin, lock)
 *	membarrier                              revoke != 0?       wait, or get a P
 *	locks == 0, gp on mp with pp, still?    ...
 *	P taken, revoke = REVOKE_TAKEN          locks--
 *
 * Either the G sees REVOKE_ASKED or we see its locks.  The G's side is two plain instructions; the
 * fence it lacks is membarrier(2) on ours (0.3 us).  The fence makes the taking exact even if the
 * proof is no longer true; chaos takes Ps from Ms that run.
 *
 * Without membarrier the CPU clock is the fence.  It is read after REVOKE_ASKED is stored, and moves
 * whenever the M runs: a clock that stands where the first look found it says that the M left its
 * CPU before that look, and a context switch is a full fence on both of its sides.  So its locks
 * are as they were then, and it will see REVOKE_ASKED.  That needs a clock that counts nanoseconds: one
 * that counts ticks stands still under an M that runs.  Where the kernel has neither, weft does not
 * start (blocked_possible()).
 *
 * Without /proc, or where it may not be asked, an M that stood still for KEEP_P is taken for blocked.
 * If it waits for a CPU instead, it goes on without a P and is called back: slower, and still exact.
 *
 * From REVOKE_ASKED to the answer nothing here takes a lock or waits: the G may be spinning for it.  A
 * G whose P was taken goes on without one, in the kernel and then in the program's code, until it
 * next enters the runtime: pin_slow() gets a P as a return from a system call does, or queues the G
 * and the M sleeps.  One that computes without calling us is found by its CPU clock and sent signal
 * 32; the handler does the same.  The word is REVOKE_PRODDED until the handler has run, so the signal
 * meets no system call that the shim knows.  Where all Ps are idle, too, sysmon stays awake while such an M
 * runs, and sleeps no longer than the youngest has stood still: that is a few looks in all.
 *
 * gp->tls stays mapped when the thread ends: a dead G keeps its thread block, and stack_free() is
 * for blocks that never lived.  A G that ended and lives again has a word that reads REVOKE_NONE.
 *
 * Rejected: a flag in struct m, read through getm(): what pin() protects is exactly the way to the
 * M.
 *
 * Must never: take a P from a G inside the runtime; run on anything but sysmon.
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

static uint64_t last_check, last_work;
static uint32_t last_delay, suspect_delay;
static uint32_t work_delay = BLOCKED_GAP_WORK; /* us between two looks while work waits */
static struct m *revoked;      /* Ms whose P was taken and that have not come back */
static bool revoked_ran;       /* one of them has run since the look before the last */
static bool have_fence, have_clock;
static bool impossible;        /* neither is exact: nothing is taken */
static uint64_t rng = 1;

/* ---- the G's side ---------------------------------------------------------------------------- */

void pin_slow(void)
{
	struct g *gp = weft_tls.g;

	/*
	 * The G was inside already: sysmon, which asks, finds locks above 0 and leaves the G alone.
	 */
	if (weft_tls.locks != 1)
		return;
	for (struct moment w = { 0 };;) {
		uint32_t s = REVOKE_TAKEN;
		bool sent;

		/* Acquire: pairs with the store of REVOKE_TAKEN; mp->p reads NULL. */
		if (cas_acquire(&weft_tls.revoke, &s, REVOKE_NONE))
			break;
		if (s == REVOKE_NONE)
			return;
		/*
		 * This takes sysmon some instructions, if it is on a CPU; or a signal arrives as
		 * soon as this M is in user mode.
		 */
		sent = s == REVOKE_PRODDED && load_acquire(&getm()->prodsent);
		if (!moment_step(&w) || !sent)
			continue;
		/*
		 * The G may have blocked the signal by a system call that weft did not see.  If it
		 * does not arrive on this return from the kernel, it never will.
		 */
		os_sigunblock(SIGWEFT);
		cas_relaxed(&weft_tls.revoke, &s, REVOKE_TAKEN);
	}
	/* As in preempt_here(): we may be in a handler. */
	getm()->sigmask = os_sigmask_get();
	regainp(gp);
}

bool reacquirep_asked(void)
{
	uint32_t revoke = load_relaxed(&weft_tls.revoke);

	if (likely(revoke != REVOKE_PRODDED && revoke != REVOKE_TAKEN))
		return false;
	/*
	 * From here on the G may enter the runtime: until now the signal was on its way to this M.
	 */
	if (revoke == REVOKE_PRODDED)
		store_release(&weft_tls.revoke, REVOKE_TAKEN);
	return !runtime_busy();
}

bool reacquirep_forced(void)
{
	/* The M is this one until the G gets a P: it cannot be switched without. */
	return getm()->prods > PRODS_FORCE;
}

void reacquirep(void)
{
	pin();
	unpin();
}

/* ---- sysmon's -------------------------------------------------------------------------------- */

/* Some G waits that an M with a P could run at once, and no M is about to run it. */
static bool starving(void)
{
	return load_seqcst(&sched.npidle) == 0 && load_seqcst(&sched.nmspinning) == 0 && anywork();
}

/* After the fence: gp is outside the runtime, on mp, with pp; and cannot enter before we answer. */
static bool outside(struct p *pp, struct m *mp, struct g *gp, struct weft_tls *tls)
{
	/* First: the rest is stable once this reads 0. */
	if (load_acquire(&tls->locks))
		return false;
	/* A new life of gp has another word, or this one at REVOKE_NONE again. */
	return gp->tls == tls && load_relaxed(&tls->revoke) == REVOKE_ASKED &&
	       load_seqcst(&gp->m) == mp && load_relaxed(&mp->curg) == gp &&
	       load_relaxed(&mp->p) == pp && load_relaxed(&pp->m) == mp;
}

/* The block that began at mp->revokedsince is over, or the process ends. */
static void block_ends(struct m *mp, uint64_t now)
{
	int site = exchange_acq_rel(&mp->revokedsite, BLOCKREPORT_NONE);

	if (unlikely(site != BLOCKREPORT_NONE))
		blockreport_end(site, since(mp->revokedsince, now));
}

void blocked_report_open(void)
{
	uint64_t now = nanotime();

	lock(&sched.lock);
	LIST_EACH(struct m, mp, &sched.allm, all)
		if (load_acquire(&mp->revokedg))
			block_ends(mp, now);
	unlock(&sched.lock);
}

static void note_revoked(struct m *mp, struct g *gp, uint64_t cpu, uint64_t since)
{
	if (load_acquire(&mp->revokedg)) {
		block_ends(mp, since);
	} else {
		mp->revokedlink = revoked;
		revoked = mp;
	}
	store_release(&mp->revokedg, gp);
	mp->revokedcpu = cpu;
	mp->revokedsince = since;
	store_release(&mp->revokedsite, BLOCKREPORT_NONE);
	mp->proddedwhen = 0;
	mp->prods = 0;
}

/* The kernel's word, or what must do without it: see above. */
static bool is_blocked(struct m *mp, uint64_t since, uint64_t now, struct os_where *where)
{
	int r = procfs_blocked(mp->ostid, where);

	return r < 0 ? have_clock && now - since >= KEEP_P : r;
}

/*
 * Its CPU clock.  Where that may not be read (a filter forbids it) it stands still, and all rests on
 * membarrier and the kernel's word.
 */
static bool reads_clock(struct m *mp, uint64_t *cpu)
{
	*cpu = 0;
	return !have_clock || !os_thread_cpu(mp->ostid, cpu);
}

/* It has not run since the look that read cpu. */
static bool stands(struct m *mp, uint64_t cpu)
{
	uint64_t still;

	return reads_clock(mp, &still) && still == cpu;
}

/* Takes pp from mp if mp is blocked outside the runtime (any: also if it is not blocked). */
static bool revokep(struct p *pp, struct m *mp, uint64_t cpu, uint64_t since, uint64_t now, bool any)
{
	struct g *gp = load_acquire(&mp->curg);
	struct weft_tls *tls = gp ? gp->tls : NULL;
	uint32_t asked = REVOKE_ASKED, s = Prunning;
	struct os_where where = { 0 };

	/* Most of the time an M that stands still is inside the runtime: no need to ask. */
	if (!tls || load_relaxed(&tls->locks))
		return false;
	if (!any && !is_blocked(mp, since, now, &where))
		return false;
	/* seq_cst with tls->locks, which pin() adds to before it reads revoke: membarrier fences both */
	store_seqcst(&tls->revoke, REVOKE_ASKED);
	if (have_fence)
		os_membarrier();
	/* The clock before the locks: see above. */
	if ((!any && !stands(mp, cpu)) || !outside(pp, mp, gp, tls))
		goto leave;
	/* The last step that may fail; only sysmon changes a P whose M is outside. */
	if (!cas_seqcst(&pp->status, &s, Pidle))
		goto leave;
	store_relaxed(&mp->p, NULL);
	store_relaxed(&pp->m, NULL);
	gp->syscallsp = where.sp; /* for dumps, as the status */
	store_relaxed(&gp->shim.status, Gsyscall);
	note_revoked(mp, gp, cpu, since);
	/* It would end the call in which mp waits.  The G cannot set another: it waits for REVOKE_TAKEN. */
	if (unlikely(load_relaxed(&mp->alarm.when)))
		alarm_off(mp);
	/* Release: pairs with pin_slow's acquire. */
	store_release(&tls->revoke, REVOKE_TAKEN);
	trace_unseen(gp, pp, mp);
	pp->mon.blocked_m = NULL;
	sysmon_note_retaken();
	handoffp(pp);
	/* mp is most likely still where the proof found it. */
	if (unlikely(weft_opt.blockreport) && !any)
		store_release(&mp->revokedsite, blockreport_begin(gp, &where));
	return true;
leave:
	/* Not a plain store: the block may have begun a new life meanwhile. */
	cas_release(&tls->revoke, &asked, REVOKE_NONE);
	return false;
}

/*
 * mp stands still since blocked_stillsince; true: pp was taken from it.  The proof costs two wake-ups, and
 * on a busy machine an M stands still again and again because it waits for its CPU.  So each time
 * that the M was not blocked, the next proof comes later; on such a machine a blocked M keeps its P
 * for up to 0.4 ms longer.
 */
static bool revokep_if_still(struct p *pp, struct m *mp, uint64_t now, bool work)
{
	uint64_t still = now - pp->mon.blocked_stillsince;

	if (still < (work ? pp->mon.blocked_misses * (uint64_t)MISS_NS : KEEP_P))
		return false;
	if (revokep(pp, mp, pp->mon.blocked_cpu, pp->mon.blocked_stillsince, now, false)) {
		pp->mon.blocked_misses = 0;
		return true;
	}
	if (pp->mon.blocked_misses < MISSES_MAX)
		pp->mon.blocked_misses++;
	return false;
}

/* One P; true: its M stands still. */
static bool check_p(struct p *pp, uint64_t now, bool work)
{
	uint32_t tick = load_relaxed(&pp->schedtick);
	struct m *mp = load_relaxed(&pp->m);
	uint64_t cpu, used;
	bool moved;

	if (load_seqcst(&pp->status) != Prunning || !mp || !mp->ostid) {
		pp->mon.blocked_m = NULL;
		return false;
	}
	if (unlikely(weft_opt.chaos) && have_fence && nextrand(&rng) % CHAOS_PART == 0 &&
	    revokep(pp, mp, 0, now, now, true))
		return false;
	if (!reads_clock(mp, &cpu))
		return false;
	used = pp->mon.blocked_m == mp ? cpu - pp->mon.blocked_cpu : ~0ULL;
	moved = used || pp->mon.blocked_tick != tick;
	pp->mon.blocked_m = mp;
	pp->mon.blocked_tick = tick;
	pp->mon.blocked_cpu = cpu;
	if (moved) {
		pp->mon.blocked_stillsince = 0;
		/* mp did not compute all the time: it may have blocked in between. */
		return used < (now - last_check) / BLOCKED_PARTS * (BLOCKED_PARTS - 1);
	}
	if (!pp->mon.blocked_stillsince)
		pp->mon.blocked_stillsince = now;
	return !revokep_if_still(pp, mp, now, work);
}

/*
 * gp, without a P, may compute: if so its M gets a signal, whose handler makes it reacquire a P
 * (reacquirep).
 */
static bool prod(struct m *mp, struct g *gp, uint64_t now)
{
	struct weft_tls *tls = gp->tls;
	uint32_t s = REVOKE_TAKEN;

	/*
	 * A call that weft does not see must not end in EINTR, so only an M that runs is signalled.
	 */
	if (now - mp->proddedwhen < PROD_AGAIN)
		return false;
	mp->proddedwhen = now;
	if (!procfs_runnable(mp->ostid))
		return false;
	mp->prods++;
	store_release(&mp->prodsent, false);
	/* From here on the G stays on this M until the handler has run. */
	if (!cas_acq_rel(&tls->revoke, &s, REVOKE_PRODDED))
		return false;
	if (os_tgkill(os_getpid(), mp->ostid, SIGWEFT))
		store_release(&tls->revoke, REVOKE_TAKEN);
	else
		store_release(&mp->prodsent, true);
	return true;
}

/* Looks at the Ms without a P and forgets those that came back.  True: one of them computes. */
static bool check_revoked(uint64_t now)
{
	struct m **link = &revoked, *mp;
	bool cpubound = false;

	revoked_ran = false;
	while ((mp = *link)) {
		struct g *gp = load_acquire(&mp->revokedg);
		uint32_t revoke = load_relaxed(&gp->tls->revoke);
		uint64_t cpu;

		if (load_seqcst(&gp->m) != mp || (revoke != REVOKE_TAKEN && revoke != REVOKE_PRODDED)) {
			*link = mp->revokedlink;
			block_ends(mp, now);
			store_release(&mp->revokedg, NULL);
			continue;
		}
		link = &mp->revokedlink;
		if (os_thread_cpu(mp->ostid, &cpu) || cpu == mp->revokedcpu)
			continue;
		mp->revokedcpu = cpu;
		revoked_ran = true;
		block_ends(mp, now);
		mp->revokedsince = now; /* it stands still from here on, if at all */
		if (revoke == REVOKE_TAKEN)
			cpubound |= prod(mp, gp, now);
	}
	return cpubound;
}

bool blocked_ran(void)
{
	return revoked_ran;
}

uint64_t blocked_when(uint64_t now)
{
	uint64_t youngest = 0;

	for (struct m *mp = revoked; mp; mp = mp->revokedlink)
		if (mp->revokedsince > youngest)
			youngest = mp->revokedsince;
	return youngest ? now + since(youngest, now) : 0;
}

bool blocked_lists(const struct m *mp)
{
	/* Acquire: pairs with check_revoked(), whose last word on an M it is. */
	return load_acquire(&mp->revokedg) != NULL;
}

uint32_t blocked_check(uint64_t now)
{
	bool work, suspect = false, cpubound, listed = revoked != NULL;

	if (now - last_check < BLOCKED_GAP_MIN)
		return last_delay;
	if (impossible)
		return 0;
	/* blockreport is to list every block, so it looks as if work waited. */
	work = starving() || unlikely(weft_opt.blockreport);
	cpubound = check_revoked(now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		suspect |= check_p(allp[i], now, work);
	last_check = now;
	if (work)
		last_work = now;
	/*
	 * On a busy machine an M waits for its CPU again and again: that alone makes it suspect
	 * less and less often.
	 */
	suspect_delay = !work || !suspect ? BLOCKED_GAP_SUSPECT
			: suspect_delay * 2 < BLOCKED_GAP_WORK ? suspect_delay * 2 : BLOCKED_GAP_WORK;
	/* Where work always waits and no M blocks unseen, which is a busy server, looks become rarer. */
	if (listed || revoked)
		work_delay = BLOCKED_GAP_WORK;
	else if (work && work_delay < TICK_WAITS)
		work_delay += BLOCKED_GAP_WORK / BLOCKED_PARTS;
	if (work && suspect)
		last_delay = suspect_delay / 2;
	else
		/* A queue may be empty for a moment only. */
		last_delay = cpubound || now - last_work < WORK_LASTS ? work_delay : 0;
	return last_delay;
}

/* Two readings of the own clock differ, however soon the second comes. */
static bool clocks_are_exact(void)
{
	uint64_t last = 0, now;

	for (int i = 0; i < 4; i++) {
		if (os_thread_cpu(os_gettid(), &now) || now == last)
			return false;
		last = now;
	}
	return true;
}

bool blocked_possible(void)
{
	struct os_where w;
	uint64_t cpu;

	have_fence = os_membarrier_start() == 0;
	have_clock = os_thread_cpu(os_gettid(), &cpu) == 0;
	impossible = !(have_clock && clocks_are_exact()) &&
		     !(have_fence && (have_clock || os_blocked(os_gettid(), &w) >= 0));
	return !impossible;
}

bool handoff_still_possible(void)
{
	have_fence &= os_has(OS_membarrier);
	have_clock &= os_has(OS_cpuclock);
	impossible |= !have_clock && !(have_fence && os_has(OS_proc));
	return !impossible;
}

void blocked_fork_child(void)
{
	last_check = 0;
	last_delay = 0;
	work_delay = BLOCKED_GAP_WORK;
	revoked = NULL;
	revoked_ran = false;
}
