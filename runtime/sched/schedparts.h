/*
 * schedparts: what the files of the scheduler do for one another and for the rest of the runtime, by file.
 *
 * It is a part of gmp.h, whose structs it needs; the other folders' are in parts.h.
 *
 * Must never: be included but by gmp.h; declare what the shim may ask (runtime/runtime.h).
 */
#ifndef WEFT_SCHEDPARTS_H
#define WEFT_SCHEDPARTS_H

/* ---- proc.c, m.c, p.c ---- */
void schedule(void *unused) __attribute__((noreturn)) hidden;
void execute(struct m *mp, struct g *gp, bool inherit) __attribute__((noreturn)) hidden;
void ready(struct g *gp, enum readyhow how) hidden;
/* goready() for a caller that is pinned before and after. */
void goready_pinned(struct g *gp, enum readyhow how) hidden;
void globrunqput(struct g *gp, bool front) hidden;
void globrunqputbatch(struct gqueue *q, bool front) hidden;
/* for a waker without a P: no M would look at a local queue */
void globrunqwoken(struct g *gp) hidden;
void resetspinning(struct m *mp) hidden;
void stopm(struct m *mp, uint64_t until) hidden;
void handoffp(struct p *pp) hidden;
void acquirep(struct m *mp, struct p *pp) hidden;
struct p *releasep(struct m *mp) hidden;
struct p *p_new(int id) hidden;
struct p *pidleget(void) hidden;   /* sched.lock held */
void pidleput(struct p *pp) hidden; /* sched.lock held */
#ifdef WEFT_DEBUG
/* ---- check.c; lot_check() is in parkinglot.c, heap_check() in timer.c ---- */
enum { CHECK_MOST = 64 }; /* entries of a queue that one check looks at */
void p_check(void) hidden;         /* sched.lock held: each P without an M is where it can be found */
void runq_check(struct p *pp) hidden; /* the owner */
void globrunq_check(void) hidden;  /* sched.lock held */
void g_check(const struct m *mp, const struct g *gp) hidden; /* gp is about to run on mp */
#else
#define p_check() ((void)0)
#define runq_check(pp) ((void)0)
#define globrunq_check() ((void)0)
#define g_check(mp, gp) ((void)0)
#endif
int procresize(unsigned n, unsigned ncpu) hidden;
bool p_retire_if_dying(struct m *mp) hidden;
void mcall(void (*fn)(void *)) hidden;
void mexit(struct m *mp) __attribute__((noreturn)) hidden;
void m_init(struct m *mp) hidden;
struct m *newm(struct g *own) hidden; /* takes locks of libc's and of the program's: not on sysmon */
bool m_reap(void) hidden;
void m_block_idle(void) hidden; /* an M without a G is about to sleep */
void stoplockedm(struct m *mp) hidden;
void startlockedm(struct m *mp, struct g *gp) hidden;
void mwake(struct m *mp) hidden; /* one that sleeps in stopm or stoplockedm */
void exitsyscall0(void *gp) hidden;
void regainp(struct g *gp) hidden;
int g_start_locked(struct g *gp) hidden; /* g_start() with an M of its own */

/* ---- rest.c ---- */
/* The calling G, pinned, is to wait for fd: true, it has no P any more. */
bool rest_begins(struct g *gp, struct m *mp, pollslot *slot, int fd) hidden;
void rest_ends(struct g *gp, bool served) hidden; /* sched.lock held */

/* ---- midle.c: sched.lock held ---- */
bool midle_put(struct m *mp, bool naps) hidden; /* true: it may sleep with a deadline, as the only one */
bool midle_drop(struct m *mp) hidden;           /* false: it is not there */
struct m *midle_get(void) hidden;               /* takes one off, the napper last; NULL: there is none */

/* ---- wakep.c ---- */
void wakep(void) hidden;
void wakep_for(struct p *own) hidden; /* what own, the caller's, has queued may be taken at once; NULL: as wakep() */
void wakep_for_woken(unsigned n) hidden; /* the caller has readied so many Gs at once */
bool p_batch_worth_helping(struct p *pp, unsigned n) hidden; /* so many Gs on pp: is an idle P to be woken? */
void p_batch_queued(struct p *pp) hidden; /* the Gs of a batch: an idle P is woken if they are worth it */
void m_came(struct m *mp) hidden;          /* it was woken to look for work, and now does */

/* ---- pstart.c ---- */
void startm(struct p *pp, bool spinning) hidden;
void startm_locked(struct p *pp, bool spinning) hidden; /* pp is not NULL; leaves sched.lock */
uint64_t m_start_wanted(void) hidden;    /* spawner only; ns until it is to be called again, or 0 */
struct p *pstartget(struct m *mp) hidden; /* sched.lock held; mp may spin then */
void pstart_look(uint64_t now) hidden;   /* sysmon only */
void pstart_fork_child(void) hidden;

/* ---- aside.c ---- */
bool m_wants_spare(void) hidden;
bool m_make_idle(void) hidden; /* where a kernel thread can be made */
void m_make_spare(void) hidden; /* spawner only */
void aside_fork_child(void) hidden;

/* ---- home.c ---- */
void home_go(struct g *gp) hidden;    /* the caller, which is locked to an M that waits for it */
void home_made(struct g *gp) hidden;  /* the caller, which is locked, has made a child process */
void home_leave(struct g *gp) hidden; /* the caller ends: so its home is none, unless it is there */
void home_over(struct m *mp) hidden;  /* the G has ended elsewhere */

/* ---- realtime.c ---- */
enum {
	OwnPolicy = 1, /* a real-time policy */
	OwnHolds = 2,  /* it holds an inheriting lock and would have left its M, or waited for a P */
};
void realtime_fork_child(void) hidden;
/* The calling G, pinned, holds an inheriting lock and is about to leave its M, or has no P: it stays. */
bool realtime_keep(struct g *gp) hidden;
void realtime_end(struct g *gp) hidden; /* the calling G ends */

/* Is that to be done?  most: so many locks that gp is not yet, or no longer, the holder of. */
static inline bool realtime_keeps(const struct g *gp, uint32_t most)
{
	return unlikely(load_relaxed(&realtime)) && load_relaxed(&realtime_order) &&
	       load_relaxed(&gp->shim.holds) > most;
}

/* ---- pollspin.c: the poller alone ---- */
/* Until when the poller looks before it sleeps (0: not at all), and by how many events that wait ended. */
uint64_t pollspin_begins(uint64_t now) hidden;
void pollspin_ends(uint64_t now, unsigned events) hidden;
void pollspin_fork_child(void) hidden;

/* ---- alarm.c: the M that calls, pinned, or in the handler of signal 32 ---- */
void alarm_begin(struct m *mp) hidden;  /* a G begins to run on its P, where Gs compute */
bool alarm_for_timer(struct p *pp, uint64_t when) hidden; /* a G that parks is due then.  False: sysmon sees to it */
bool alarm_for_woken(uint64_t now) hidden; /* the G that runs computes on, and has woken another.  False: the same */
bool alarm_again(void) hidden;          /* the G was asked to give way, and could not */
bool alarm_rang(struct m *mp) hidden;   /* true: so it may be; it is not set any more */
bool alarm_rings(struct m *mp) hidden;  /* true: the G that runs is to give way, as if sysmon had asked */
void alarm_off(struct m *mp) hidden;    /* it is set, and the M leaves its P */
void alarm_end(struct m *mp) hidden;    /* the M ends */
bool alarm_is_set(const struct m *mp, uint64_t now) hidden;

/* Any thread: pp's M has set an alarm, and sees to what is due there itself. */
static inline bool p_sees_itself(const struct p *pp, uint64_t now)
{
	return alarm_is_set(load_relaxed(&pp->m), now);
}

/* ---- wakers.c ---- */
/* The G that runs on pp has kept others waiting, ns, that it woke, or that were queued behind it. */
void waker_seen(struct p *pp, uint64_t waited) hidden;
/* gp, which computes on, has queued another on its P */
void waker_ready(struct g *gp, struct p *pp, enum readyhow how) hidden;

/* The caller is a G that will, as it seems. */
static inline bool waker_computes_on(void)
{
	struct g *gp = weft_tls.g;

	return gp && load_relaxed(&gp->computeson);
}

/* ns for which a G that woke another goes on while that one waits and no P is idle. */
static inline uint64_t next_slice(const struct p *pp)
{
	uint64_t slice = load_relaxed(&pp->mon.nextslice);

	return slice ? slice : (uint64_t)weft_opt.wakeslice;
}

/* ---- findrunnable.c, idle.c ---- */
struct g *findwork(struct m *mp, bool *inherit) hidden; /* with a P: something to run, or NULL */
struct g *findrunnable(struct m *mp, bool *inherit) hidden; /* may idle; returns with a P */
void idle(struct m *mp) hidden;        /* without a P, until there is one */
void setspinning(struct m *mp) hidden;
bool p_computes(struct p *pp) hidden;
bool nobody_polls(void) hidden;
bool anywork(void) hidden;
bool poll_is_due(struct p *pp) hidden;
void p_batch_begins(struct p *pp, bool polled) hidden; /* Gs that the poller, or timers, ready are queued here */

/*
 * On g0, of the G that was switched away and goes on later: from the release on its context may be
 * used by others.
 */
static inline struct m *offm(struct g *gp)
{
	struct m *mp = weft_tls.m;

	store_relaxed(&mp->curg, NULL);
	store_relaxed(&gp->m, NULL);
	store_release(&gp->shim.status, Grunnable);
	return mp;
}

/* ---- park.c ---- */
/*
 * Parks the caller.  It is pinned, made itself Gwaiting and may have been readied since.  why and
 * addr are for dumps.
 */
void gopark_pinned(enum waitreason why, const void *addr) hidden;
void goready(struct g *gp, enum readyhow how) hidden;

/* ---- runq.c ---- */
void runqput(struct p *pp, struct g *gp, bool next) hidden;
struct g *runqget_ring(struct p *pp) hidden; /* past runnext */
struct g *runqsteal(struct p *pp, struct p *victim, bool next, uint64_t now) hidden;
void runq_mark(struct p *pp) hidden;
bool runqempty(struct p *pp) hidden;
uint32_t runqlen(struct p *pp) hidden;
uint32_t runqring(struct p *pp) hidden; /* without runnext */
void runqdrain(struct p *pp, struct gqueue *q) hidden;
struct g *globrunqget(struct p *pp, int32_t max, bool wakeupq) hidden; /* sched.lock held */
struct g *globrunqget_owner(void) hidden; /* the same; the first that has an M of its own, or NULL */
struct m *g_ownm(const struct g *gp) hidden;

/* ---- g.c, gtable.c, ids.c, gfree.c, persistent.c ---- */
void g_set_tls(struct g *gp, void *fsbase, uint32_t tid) hidden; /* also fills weft_tls of that block */
/*
 * gp, whose sp is 0, is about to run on pp, the caller's: it gets its context, on a stack with pages if there is one.
 * over: a G that has ended, whose stack the calling M has left, and which nobody may free yet; NULL: none.
 */
void g_begin(struct p *pp, struct g *gp, struct g *over) hidden;
void g_await_off(struct g *gp) hidden; /* waits, a moment at most, until no thread is on its stack */
uint32_t gfree_class(const struct shape *s) hidden;
struct g *g_take(const struct gattr *a) hidden; /* shaped; with such a stack, or bare; NULL: no memory */
void g_bare(struct g *gp) hidden; /* dead and without a stack: for whichever shape comes */
void g_fork_child(void) hidden;
int32_t g_cached(const struct p *pp) hidden;
void gfree_fork_child(void) hidden;
/* Of the global lists, for scavenge.c. */
bool gfree_has(uint32_t class) hidden;   /* some; a hint */
struct g *gfree_take_any(void) hidden;   /* with a stack of ours; NULL: none */
bool gfree_unscavenged(void) hidden;     /* some free G has memory to give back; a hint */
bool gfree_cool(void) hidden;            /* marks what was not used since the last call: is there any? */
int32_t gfree_take_cold(uint32_t class, int32_t most, struct gfreelist *to) hidden; /* of so many */
/* Gs that have given back what they can */
void gfree_put_cold(uint32_t class, struct gfreelist *from) hidden;

/* ---- spawner.c ---- */
bool spawner_start(void) hidden;    /* once a process; false: no kernel thread */
bool spawner_runs(void) hidden;     /* it makes Ms, and the caller is not it */
bool spawner_wake(void) hidden;     /* there are Ms to make or to join; false: it does not run */
void spawner_want_spare(void) hidden; /* asks for one M in reserve */
void spawner_stop(void) hidden;     /* onlymain.c: it has ended; spawner_start() makes it again */
void spawner_fork_child(void) hidden;

/* ---- schedinit.c, forkchild.c ---- */
void schedinit_m0(struct g *gp, void *fs, char *top) hidden;
void persistent_fork_child(void) hidden;

/* ---- lockall.c ---- */
void lockall(void) hidden;
void lockall_leave(struct g *gp, struct m *mp) hidden;

/* ---- nonewprivs.c ---- */
void nonewprivs_born(void) hidden; /* a G begins to live, and any thread can see it */
void nonewprivs(void) hidden;      /* some G more has it: if all have, FROMNOW_NONEWPRIVS */
void nonewprivs_leave(struct g *gp, struct m *mp) hidden;
void nonewprivs_enter(struct m *mp) hidden;

/* ---- filtered.c ---- */
bool runtime_alone(void) hidden; /* no other G lives */

/*
 * In a fork child that has made no thread.  An M that needs another there makes it itself, and a handler that waits
 * may have interrupted libc's allocator, whose lock pthread_create() needs: so none is made without need.
 */
static inline bool alone_without_spawner(void)
{
	return !spawner_runs() && runtime_alone();
}

/* ---- helper.c ---- */
/* The size of a stack for newosproc on which net bytes are left for weft's own functions. */
size_t runtime_ostack(size_t net) hidden;

/* ---- fromnow.c ---- */
/* What is to be done at each switch; none, in most processes. */
enum {
	DUTIES = 1u << FROMNOW_CPUTIME | 1u << FROMNOW_LOCKED | 1u << FROMNOW_GS | 1u << FROMNOW_NONEWPRIVS,
	DUTIES_ENTER = 1u << FROMNOW_CPUTIME | 1u << FROMNOW_NONEWPRIVS,
};
void fromnow_set(enum fromnow what) hidden;
void duties_leave(struct g *gp, struct m *mp) hidden;
void duties_enter(struct g *gp, struct m *mp) hidden;

static inline bool duties(void)
{
	return load_relaxed(&fromnow) & DUTIES;
}

/* ---- cputime.c ---- */
void cputime_start(struct g *gp) hidden; /* main, on M0 */
void cputime_count(void) hidden;
void cputime_enter(struct g *gp, struct m *mp) hidden;
void cputime_leave(struct g *gp, struct m *mp) hidden;

#endif
