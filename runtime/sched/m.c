/*
 * m: kernel threads: starting, stopping, handing a P over, leaving.
 *
 * Idle Ms are a LIFO list under sched.lock and sleep on m->park.  A waker sets park from 0 to 1,
 * the M itself sets it back to 0.  M0 is the program's main thread and never leaves: the kernel
 * ties the process to it.  Other Ms are joinable threads of libc (hooks.newosproc), so that setuid
 * and its like reach them; the spawner joins those that left and frees their stacks.
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

#include <errno.h>

enum { G0_STACK = 256 * 1024 };

void m_init(struct m *mp)
{
	mp->rng = (weft_opt.chaos ? (uint64_t)weft_opt.chaos * 0x9e3779b97f4a7c15ULL
				  : nanotime()) +
		  (uint64_t)(mp->id + 1) * 0xd1342543de82ef95ULL;
	mp->rng |= 1;
}

/*
 * The new M's first steps.  Another M may have taken the P that it was made for: then it waits for
 * another P.
 */
static void mstart0(void *unused)
{
	struct m *mp = weft_tls.m;
	struct p *pp;

	if (mp->lockedg)
		schedule(unused); /* until its G has a turn */
	lock(&sched.lock);
	sched.nmstarting--;
	pp = pstartget(mp);
	unlock(&sched.lock);
	if (pp)
		acquirep(mp, pp);
	while (!mp->p)
		stopm(mp, 0);
	schedule(unused);
}

/* On the new kernel thread, with FS on its own block. */
static void *mstart(void *arg)
{
	struct m *mp = arg;
	char name[sizeof(mp->shown)];

	weft_tls.m = mp;
	mp->fs = arch_getfs();
	mp->ostid = os_gettid();
	mp->sigmask = os_sigmask_get();
	mp->gs = arch_getgs();
	/* It has its maker's name: the spawner's, or that of the G that ran there. */
	g_getname(g_main_, name);
	os_setname(name);
	m_sigstack(mp);
	/* g0's frames start below this one, which mexit() returns to. */
	mp->g0top = (void *)(((uintptr_t)__builtin_frame_address(0) - 1024) & ~(uintptr_t)63);
	arch_mcall(&mp->sp, mp->fs, mp->g0top, mstart0, NULL);
	return NULL;
}

void mexit(struct m *mp)
{
	m_sidestack_drop(mp);
	alarm_end(mp);
	trace_leave(mp);
	lock(&sched.lock);
	list_take(&mp->all);
	sched.nm--;
	mp->schedlink = sched.mdead;
	sched.mdead = mp;
	unlock(&sched.lock);
	spawner_wake();
	arch_gogo(mp->sp, mp->fs);
}

/* Pairs with the hook's store: nothing else of the M is written by its maker after it. */
static uintptr_t mp_os(const struct m *mp)
{
	return load_acquire(&mp->os);
}

/* Joins an M that left (the spawner, or main where there is none: it may block).  False: there is none. */
bool m_reap(void)
{
	struct m **link, *mp;

	lock(&sched.lock);
	/*
	 * An M may have ended before its maker noted its handle, or sysmon's list (blocked.c) may
	 * still hold it: those wait for the next call.
	 */
	for (link = &sched.mdead; *link && (!mp_os(*link) || blocked_lists(*link));
	     link = &(*link)->schedlink)
		;
	mp = *link;
	if (mp)
		*link = mp->schedlink;
	unlock(&sched.lock);
	if (!mp)
		return false;
	hooks.joinosproc(mp->os);
	os_free(mp->stack, mp->stacksize);
	/* The struct m itself is persistent memory: reused by newm through this list. */
	lock(&sched.lock);
	mp->schedlink = sched.mfree;
	sched.mfree = mp;
	unlock(&sched.lock);
	return true;
}

/* spared: NULL near the limit; the caller can do without this M. */
static struct m *allocm(bool spared)
{
	struct m *mp;
	int n;

	lock(&sched.lock);
	if (spared && sched.nm + SPARE_BELOW > sched.maxm) {
		sched.nm++; /* newm() takes it back */
		unlock(&sched.lock);
		return NULL;
	}
	mp = sched.mfree;
	if (mp)
		sched.mfree = mp->schedlink;
	n = ++sched.nm;
	unlock(&sched.lock);
	if (n > sched.maxm) {
		weft_say("too many kernel threads: %d threads block in the kernel at once and maxthreads is "
			 "%d (raise it with WEFT=maxthreads=N)",
			 n, sched.maxm);
		os_exit(125);
	}
	if (!mp)
		mp = persistentalloc(sizeof(*mp));
	if (!mp)
		return NULL;
	*mp = (struct m){ 0 };
	return mp;
}

/* From low to high: guard, signal stack, guard, g0's stack. */
static int stacks(struct m *mp)
{
	size_t page = os_pagesize(), sig = m_sigstack_size(), g0size = runtime_ostack(G0_STACK);
	int err;

	mp->stacksize = page + sig + page + g0size;
	mp->stack = os_reserve(mp->stacksize);
	if (!mp->stack)
		return -ENOMEM;
	mp->sigstack = mp->stack + page;
	err = os_guard(mp->stack, page);
	return err ? err : os_guard(mp->sigstack + sig, page);
}

/*
 * A new M, which starts by looking at pstart, or waits for the G that it is for; NULL when the
 * kernel gives no thread.
 */
struct m *newm(struct g *own)
{
	size_t g0size = runtime_ostack(G0_STACK);
	struct m *mp = allocm(own != NULL);
	int err = -ENOMEM;

	if (mp)
		err = stacks(mp);
	if (!err) {
		lock(&sched.lock);
		mp->id = ++sched.mnext;
		mp->lockedg = own;
		list_put(&sched.allm, &mp->all);
		unlock(&sched.lock);
		m_init(mp);
		err = hooks.newosproc(mstart, mp, mp->stack + mp->stacksize - g0size, g0size, &mp->os);
		if (err) {
			lock(&sched.lock);
			list_take(&mp->all);
			unlock(&sched.lock);
		}
	}
	if (err) {
		if (mp && mp->stack)
			os_free(mp->stack, mp->stacksize);
		lock(&sched.lock);
		sched.nm--;
		if (mp) {
			mp->schedlink = sched.mfree;
			sched.mfree = mp;
		}
		unlock(&sched.lock);
	}
	return err ? NULL : mp;
}

void mwake(struct m *mp)
{
	store_seqcst(&mp->park, 1);
	os_futex_wake((uint32_t *)&mp->park, 1);
}

/*
 * A signal that an M lets in, the process lets in.  An idle M has the mask of the last G it ran.
 * That G may have ended, or keep out by now what no thread is to let in.
 */
void m_block_idle(void)
{
	struct m *mp = weft_tls.m;
	uint64_t out = load_relaxed(&sched.idlemask);

	if (!out || !mp)
		return;
	/*
	 * What another process sends to main by its thread id waits in the kernel for M0 alone.  So
	 * M0 keeps out no more than all Gs do, and passes on what comes.  The signal thread tells
	 * it of changes by sigmask_set_allblocked(), which writes sched.allblocked and then reads m0.sigmask.
	 */
	do {
		if (mp == &m0)
			out = load_seqcst(&sched.allblocked);
		if (mp->sigmask == out)
			continue;
		/*
		 * The note first, then the word again, then the kernel: a signal that a handler here has just
		 * taken must not be one that the note says is kept out (sigmask_all_ms_block()).
		 */
		store_seqcst(&mp->sigmask, 0);
		if (mp == &m0)
			out = load_seqcst(&sched.allblocked);
		os_sigmask(out);
		store_seqcst(&mp->sigmask, out);
	} while (mp == &m0 && out != load_seqcst(&sched.allblocked));
}

/*
 * Makes an idle M0 look at sched.allblocked again.  M0 may have read the word just before it fell asleep,
 * so the caller repeats this until the mask is right.
 */
static void m0_recheck(void)
{
	os_futex_wake((uint32_t *)&m0.park, 1);
}

/*
 * A poller sleeps under a mask of its own (epoll_pwait) and has another when it wakes: it reads
 * sched.allblocked again.
 */
void sigmask_set_allblocked(uint64_t set)
{
	uint64_t was = exchange_seqcst(&sched.allblocked, set);

	if (set & ~was && !sigmask_all_ms_block(set)) {
		netpoll_break();
	} else if (was & ~set && !load_relaxed(&m0.curg)) {
		m0_recheck();
		netpoll_break();
	}
}

bool sigmask_all_ms_block(uint64_t set)
{
	struct m *own;
	bool all = true;

	lock(&sched.lock);
	own = getm(); /* has its own mask, or a call's that the kernel knows in the call only */
	LIST_EACH(struct m, mp, &sched.allm, all)
		all = all && (mp == own || (load_seqcst(&mp->sigmask) & set) == set);
	unlock(&sched.lock);
	if (!all && !load_relaxed(&m0.curg))
		m0_recheck();
	return all;
}

/*
 * Sleeps until startm hands a P over, or until the deadline (0: none) if no other M has one; then m->p may
 * still be NULL.  The M is on the idle list meanwhile; when its deadline passes it takes itself off.
 */
void stopm(struct m *mp, uint64_t until)
{
	struct p *pp;
	bool off;

	if (mp->p || mp->spinning)
		throw("stopm: m%d has a P or spins", mp->id);
	lock(&sched.lock);
	pp = pstartget(mp);
	if (pp) {
		unlock(&sched.lock);
		acquirep(mp, pp);
		return;
	}
	if (unlikely(load_relaxed(&sched.single)) && mp != &m0) {
		unlock(&sched.lock);
		mexit(mp);
	}
	if (!midle_put(mp, until != 0))
		until = 0;
	p_check();
	mp->idlesince = nanotime();
	unlock(&sched.lock);
	while (load_seqcst(&mp->park) == 0) {
		m_block_idle(); /* each time: a handler has added to the mask, or all keep out others now */
		if (os_futex_wait((uint32_t *)&mp->park, 0, until) != -ETIMEDOUT)
			continue;
		lock(&sched.lock);
		off = midle_drop(mp);
		unlock(&sched.lock);
		if (off)
			return;
		until = 0; /* taken off by a waker: its wake-up is coming */
	}
	store_seqcst(&mp->park, 0);
	/*
	 * Written before park, by the thread that took this M off the list: no other writes it until the M is
	 * there again.
	 */
	pp = mp->nextp;
	mp->nextp = NULL;
	if (mp->dying)
		mexit(mp);
	if (pp) {
		if (mp->helpsince)
			m_came(mp);
		acquirep(mp, pp);
	}
}

/* The calling M's G is in the kernel, and no other lives: nobody waits for a descriptor. */
static bool alone_in_kernel(void)
{
	struct m *mp = getm();
	struct g *gp = mp ? load_relaxed(&mp->curg) : NULL; /* none: sysmon */

	return gp && alone_without_spawner() && gstatus(gp) == Gsyscall;
}

/* A P whose M blocks: another M must run it if there is anything to run. */
void handoffp(struct p *pp)
{
	uint64_t t0 = load_seqcst(&pp->timer0);

	if (pp->id >= load_acquire(&gomaxprocs) || !runqempty(pp) ||
	    load_seqcst(&sched.runqsize) > 0) {
		startm(pp, false);
		return;
	}
	if (load_seqcst(&sched.nmspinning) + load_seqcst(&sched.npidle) == 0 && !alone_in_kernel()) {
		int32_t none = 0;

		if (cas_seqcst(&sched.nmspinning, &none, 1)) {
			startm(pp, true);
			return;
		}
	}
	lock(&sched.lock);
	/* Something came; or the P is to die, which an M sees to: its timers must not stay in it. */
	if (load_seqcst(&sched.runqsize) > 0 || unlikely(pp->id >= load_relaxed(&gomaxprocs))) {
		unlock(&sched.lock);
		startm(pp, false);
		return;
	}
	/* This is the last running P, and there is no poller: timers and descriptors need one. */
	if (load_seqcst(&sched.npidle) == load_acquire(&gomaxprocs) - 1 &&
	    load_seqcst(&sched.lastpoll) != 0 && (timers_next() || (netpoll_watching() && !alone_in_kernel()))) {
		unlock(&sched.lock);
		startm(pp, false);
		return;
	}
	pidleput(pp);
	unlock(&sched.lock);
	/* A waker that found no idle P said so, perhaps just before this one was counted (wakep.c). */
	if (unlikely(load_seqcst(&sched.needspinning)) && !alone_in_kernel())
		wakep();
	if (t0)
		wakenetpoller(t0);
}

/* ---- locked Gs -------------------------------------------------------------------------------- */

int g_start_locked(struct g *gp)
{
	struct m *mp;

	/* Without the P, for newm() takes libc's locks (see spawner.c). */
	entersyscall();
	mp = newm(gp);
	exitsyscall();
	if (!mp)
		return -EAGAIN;
	gp->lockedm = mp;
	gp->lockdepth = 1;
	fetch_add_acq_rel(&sched.nglive, 1);
	gp->tls->locks = 1; /* as in g_start() */
	store_release(&gp->shim.status, Grunnable);
	pin();
	trace_create(gp);
	lock(&sched.lock);
	globrunqput(gp, false); /* any M may find it, and wakes mp */
	unlock(&sched.lock);
	nonewprivs_born();
	unpin();
	wakep();
	return 0;
}

/* The P stays, and its timers are this sleep's. */
static void stop_with_own(struct m *mp)
{
	struct p *pp = mp->p;

	while (load_seqcst(&mp->park) == 0) {
		uint64_t when = load_seqcst(&pp->timer0), wall = when ? timers_realtime(pp) : 0;
		bool ran;

		if (when && when <= nanotime())
			timers_check(pp, nanotime(), &ran);
		else if (!wall)
			os_futex_wait((uint32_t *)&mp->park, 0, when);
		else if (os_futex_wait_realtime((uint32_t *)&mp->park, 0, wall) == -ETIMEDOUT)
			timers_reaim(pp); /* the clock may have been set */
	}
	store_seqcst(&mp->park, 0);
}

/* Its G may be elsewhere (home.c); then what that one lets in is none of this M's. */
static void block_idle_away(const struct m *mp)
{
	if (!load_relaxed(&mp->lockedg->lockedm))
		m_block_idle();
}

/*
 * The M of a locked G gives its P away and sleeps until another M hands it a P, because its G is to
 * run; or until the G has ended elsewhere: then the M is locked to no G, and has a P too.
 */
void stoplockedm(struct m *mp)
{
	struct p *pp;

	if (mp->p && mp->p->own) {
		stop_with_own(mp);
		return;
	}
	if (mp->p) {
		handoffp(releasep(mp));
		if (m_wants_spare()) /* ahead of the next that is set aside (aside.c) */
			spawner_want_spare();
	}
	while (load_seqcst(&mp->park) == 0) {
		block_idle_away(mp);
		os_futex_wait((uint32_t *)&mp->park, 0, 0);
	}
	store_seqcst(&mp->park, 0);
	lock(&sched.lock);
	pp = mp->nextp;
	mp->nextp = NULL;
	if (pp)
		acquirep(mp, pp);
	unlock(&sched.lock);
	if (!pp)
		home_over(mp);
}

/* mp picked a G that is locked to another M: hands its P to that M and sleeps. */
void startlockedm(struct m *mp, struct g *gp)
{
	struct m *owner = gp->lockedm;

	lock(&sched.lock);
	owner->nextp = releasep(mp);
	unlock(&sched.lock);
	mwake(owner);
	stopm(mp, 0);
	while (!mp->p)
		stopm(mp, 0);
}
