/*
 * onlymain: main becomes the only thread that the kernel knows.
 *
 * The kernel grants some things to a process of one thread alone (unshare(CLONE_NEWUSER), setns), and
 * a program that looks at /proc/self/task expects one entry when its threads have ended.  So when main
 * is the only G left, main goes to M0, every other M leaves, and then sysmon, the shim's threads (the
 * signal thread, the dump thread), the spawner and the /proc reader end.  What is left is what a fork
 * child has, queues and descriptors kept: all of it starts again with the next thread
 * (g_start()), the signal thread with the next park.
 *
 * Main is pinned meanwhile and keeps out all signals, so it stays on M0 with its P.  sched.single makes
 * every M that would go idle leave, and none becomes the poller: no G is parked, so nothing is missed.
 *
 * Rejected: Ms that leave by themselves when main alone was left for a while.  Main's next park starts
 * the signal thread again, so the program would never see one thread for sure.
 *
 * Must never: begin while another G lives; wait without bound for an M, which may be in a call of the
 * kernel's that does not return.
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

/* sched.lock held. */
static bool take_m0_off(void)
{
	return midle_drop(&m0);
}

/* On g0: M0 gets the P and gp as the next to run, if M0 is on the idle list. */
static void to_m0(void *arg)
{
	struct g *gp = arg;
	struct m *mp;
	bool idle;

	TRACE(YIELD, gp->shim.goid, 0, NULL, 0, false);
	mp = offm(gp);
	runqput(mp->p, gp, true);
	lock(&sched.lock);
	idle = take_m0_off();
	if (idle) {
		m0.nextp = releasep(mp);
		m0.spinning = false;
	}
	unlock(&sched.lock);
	if (idle) {
		mwake(&m0);
		while (!mp->p)
			stopm(mp, 0);
	}
	schedule(NULL);
}

/* Locks the calling G, main, to M0; false: M0 does not come. */
static bool lock_to_m0(struct g *gp)
{
	if (gp->lockdepth || gp->home) {
		lockosthread(LOCK_SHARED, 0); /* on M0, says may_begin() */
		return true;
	}
	for (struct moment w = { 0 }; !moment_over(&w, STANDSTILL_NS); moment_wait(&w)) {
		if (getm() == &m0) {
			lockosthread(LOCK_SHARED, 0);
			if (gp->lockedm == &m0)
				return true;
			unlockosthread(false);
		}
		mcall(to_m0);
		if (getm() != &m0)
			netpoll_break(); /* M0 may be the poller */
	}
	return false;
}

/* Tells all idle Ms to leave.  True: all but M0 have left, and the spawner has seen the last. */
static bool retire(void)
{
	struct m *mp, *idle = NULL;
	bool gone;

	lock(&sched.lock);
	while ((mp = midle_get())) {
		mp->dying = true;
		mp->schedlink = idle;
		idle = mp;
	}
	gone = !idle && sched.nm == 1 && !sched.nmstarting && !sched.pstart && !sched.mdead &&
	       !blocked_lists(&m0);
	unlock(&sched.lock);
	while ((mp = idle)) {
		idle = mp->schedlink; /* the M uses the field once it is awake */
		mwake(mp);
	}
	return gone;
}

static bool retire_all(void)
{
	for (struct moment w = { 0 }; !moment_over(&w, STANDSTILL_NS); moment_wait(&w)) {
		if (retire())
			return true;
		netpoll_break();
		/* After an earlier time there may be Ms, made by one that had to hand its P over, and no spawner. */
		if (!spawner_wake())
			while (m_reap())
				;
	}
	return false;
}

static bool may_begin(const struct g *gp)
{
	return gp && gp == g_main_ && runtime_alone() && !gp->shim.sysdepth && !weft_tls.locks &&
	       !fromnow_holds(FROMNOW_NOMORE) && (!gp->home || gp->home == &m0) &&
	       (!gp->lockdepth || gp->lockedm == &m0) && !fromnow_holds(FROMNOW_MS_STAY);
}

/* What main made elsewhere may have been waited for elsewhere: only there is it seen that none is left. */
static void leave_home(const struct g *gp)
{
	if (!gp || !gp->home || gp->home == &m0 || gp->lockdepth || gp->shim.sysdepth || weft_tls.locks)
		return;
	lockosthread(LOCK_SHARED, 0);
	runtime_child_gone();
	unlockosthread(false);
}

bool runtime_single(void (*stop_shims)(void))
{
	struct g *gp = weft_tls.g;
	uint64_t mask;
	bool done;

	leave_home(gp);
	if (!may_begin(gp))
		return false;
	store_release(&sched.single, true);
	done = lock_to_m0(gp);
	if (done) {
		mask = os_sigmask_get();
		os_sigmask(~UINT64_C(0));
		pin();
		done = retire_all();
		if (done) {
			sysmon_stop();
			stop_shims();
			spawner_stop();
			procfs_stop(); /* the spawner may have been about to make it */
		}
		unpin();
		/*
		 * Before signals come.  Main that gives way while it is locked here needs another M, to get its
		 * own back from; and where the kernel gives none, no sysmon is there to try again.
		 */
		unlockosthread(false);
		os_sigmask(mask);
	}
	store_release(&sched.single, false);
	/* A thread of libc's own made one meanwhile. */
	if (done && !runtime_alone())
		sysmon_start();
	return done;
}
