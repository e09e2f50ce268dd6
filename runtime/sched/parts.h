/*
 * parts: what the other folders of the runtime do for the scheduler, and for one another, by folder and file.
 *
 * It is the end of gmp.h, whose structs it needs.
 *
 * Must never: be included but by gmp.h; declare what the shim may ask (runtime/runtime.h).
 */
#ifndef WEFT_PARTS_H
#define WEFT_PARTS_H

/* ==== runtime/wait ==== */

/* ---- timer.c ---- */
void timer_add(struct timer *t, uint64_t when) hidden;
void timers_reaim(struct p *pp) hidden; /* some clock was set */
uint64_t timers_realtime(struct p *pp) hidden; /* of the first, CLOCK_REALTIME ns; 0: on no such clock */
bool timer_del(struct timer *t) hidden; /* false: it ran or was never added */
/* Runs what is due on pp; returns the next deadline (0: none), ran tells whether any did. */
uint64_t timers_check(struct p *pp, uint64_t now, bool *ran) hidden;
uint64_t timers_next(void) hidden;      /* earliest over all Ps, 0: none */
void timers_move(struct p *from, struct p *to) hidden;

/* ---- lottable.c ---- */
void lot_init(void) hidden;
void lot_grow(uint32_t gs) hidden; /* so many Gs may wait; no lock is held */
void lot_fork_child(void) hidden;

/* ---- parkinglot.c ---- */
/* Where a G waits; turn stays the same until its lot_park() is over. */
struct lot_seen {
	const void *addr;
	uint64_t turn;
	bool timed;                /* a deadline ends it */
};
bool lot_seen(struct g *gp, struct lot_seen *seen) hidden; /* false: it waits nowhere in the lot */

/* ==== runtime/poll ==== */

/* ---- netpoll.c ---- */
void netpoll_end(void) hidden; /* a filter is about to forbid the poller's calls: none is made any more */
/*
 * As the poller until an event, broken or deadline (0: none): events of descriptors.  Sleeps from spin on (0:
 * at once).
 */
int netpoll_wait(struct os_event *ev, uint64_t deadline, uint64_t spin) hidden;
/* wakes the waiters of these events: how many */
unsigned netpoll_ready(const struct os_event *ev, int n) hidden;
bool netpoll_awaited(const struct os_event *ev, int n) hidden; /* perhaps not any more */
void netpoll_vain(const struct os_event *ev, int n) hidden; /* these woke the poller, and netpoll_ready() said 0 */
unsigned netpoll_nowait(void) hidden;   /* both, without sleeping */
void netpoll_break(void) hidden;
void wakenetpoller(uint64_t when) hidden; /* the poller must not sleep past this */
bool netpoll_open(void) hidden;         /* false: the kernel gives no epoll */
int netpoll_fd(void) hidden;            /* -1: not open */
void netpoll_makeroom(void) hidden;     /* before the first thread: its numbers are within the kernel's table */
void netpoll_clock(void) hidden;        /* before a wait for a clock that may be set: it follows when that is */
bool netpoll_clocks(void) hidden;       /* a G has waited for a clock that may be set */
void netpoll_fork_child(void) hidden;

void netpoll_move(int fd) hidden;       /* the poller leaves this number of its own to the program */
int netpoll_dup(int fd) hidden;         /* a duplicate of fd with a number of weft's own; -1: there is none */

/* ---- poll/pollquiet.c ---- */
bool pollquiet_any(void) hidden;          /* sysmon is to come back */
void pollquiet_look(uint64_t now) hidden;
void pollquiet_fork_child(void) hidden;

/* ---- polldesc.c, pollclose.c ---- */
void netpoll_retry(pollslot *slot, enum polldir dir) hidden; /* its waiters try again */
/* fd is not watched any more.  False: it has users, and is. */
bool pd_unwatch(pollslot *slot, int fd) hidden;
unsigned polldesc_fire(uint64_t data, uint32_t events) hidden; /* how many it woke */
void polldesc_fork_child(void) hidden;
extern _Atomic int32_t nwatched hidden;

/* Some descriptor is registered, so an idle M must poll. */
static inline bool netpoll_watching(void)
{
	return load_relaxed(&nwatched) > 0;
}

/* ==== runtime/mem ==== */

/* ---- stackshape.c ---- */
/* The slot that a asks for.  0, -EINVAL: no such stack can be; -ENOMEM: none so large. */
int stack_shape(const struct gattr *a, struct shape *s) hidden;

size_t ostack_tight(size_t net) hidden; /* helper.c: of a stack of weft's own for which net would do */

/* ---- stack.c, tlsarea.c ---- */
/* A piece with a guard at its low end; NULL: no memory. */
char *reservation_cut(struct reservation *r, size_t each, size_t guard) hidden;
void reservation_trim(struct reservation *r) hidden;       /* what is not cut yet goes back */
bool stack_alloc(struct stack *s, const struct gattr *a) hidden; /* shaped */
uint32_t stack_free(struct g *const *gs, uint32_t n) hidden;
void stack_trade(struct g *to, struct g *from) hidden;
bool stack_is_whole(const struct stack *s) hidden;
void stack_discard(struct stack *s) hidden;
void stack_fork_child(void) hidden;
void stacks_make_executable(void) hidden;
/* Before a thread block is made, also where there was one; false: no memory. */
bool tlsarea_alloc(struct g *gp, const struct gattr *a) hidden;
/* As many pieces of this size as may be reserved at once, when next is what use would justify. */
uint32_t reserve_count(uint32_t next, size_t each) hidden;
void tlsarea_discard(struct g *const *gs, uint32_t n) hidden;
bool tlsarea_take_over(struct g *gp) hidden;
void tlsarea_trim(void) hidden;
void tlsarea_fork_child(void) hidden;

/* ---- scavenge.c ---- */
void scavenge_tick(uint64_t now) hidden; /* sysmon: now and then */
uint64_t scavenge_when(void) hidden;     /* sysmon must not sleep past this; 0: nothing is to be done */
uint64_t scavenge_step(void) hidden;     /* spawner: some work; ns to rest before the next, 0: it is done */
/* The kernel refused memory for such a stack.  True: another try may have it, or do without. */
bool scavenge_scarce(uint32_t class) hidden;
void *persistentalloc(size_t n) hidden; /* zeroed, never freed; NULL: no memory */
struct g *g_at(uint32_t i) hidden;
struct g *g_make(void) hidden;
uint32_t g_count(void) hidden; /* that live, or lie ready with a stack */
void g_seedids(void) hidden; /* at the start of a process; of a fork child too */
uint64_t g_nextgoid(void) hidden;
void g_cachefree(struct p *pp) hidden;

/* ---- sigstack.c ---- */
size_t m_sigstack_size(void) hidden;
void m_sigstack(struct m *mp) hidden; /* on the M: the kernel has mp->sigstack from now on */
char *m0_sigstack(void) hidden; /* its memory; NULL: none */
/* On the M's signal stack, which must not switch: memory for the calling G to go on in; NULL: none. */
void *sidestack_take(size_t *size) hidden;
void m_sidestack_drop(struct m *mp) hidden; /* its end */
void sigstack_fork_child(void) hidden;

/* ==== runtime/sysmon ==== */

/* ---- retake.c, sysmonsleep.c, preempt.c ---- */
/* sysmon only: a look at all Ps; a sleep of at most us, shorter when a slice ends. */
void sysmon_tick(uint64_t now) hidden;
void sysmon_sleep(uint32_t us) hidden;
/* sysmon only: ns after which it polls because no M does */
uint64_t sysmon_pollgap(uint64_t usual) hidden;
/* wakes sysmon if it sleeps past when and wants to be told */
void sysmon_wake_by(uint64_t when) hidden;
void p_leave_slow(struct p *pp, uint32_t to) hidden;
/* For onsig32.c: takes the request that is noted for this M.  True: the G that runs here is to give way. */
bool preempt_asked(void) hidden;
void preempt_after_call(struct g *gp, struct m *mp) hidden; /* the calling G, on mp, pinned: gives way if it shall */
void preempt_look(struct p *pp) hidden;   /* sysmon only: interrupts pp's G where it computes, for proffile.c */
bool preempt_forced(void) hidden; /* it has been asked for so long that libc's locks no longer count */
/* The G gives way if it was asked to at a moment when it could not (weft_tls.need_resched). */
void preempt_resched(void) hidden;
void g_look(void) hidden;         /* the calling G, unpinned, takes what came for it while it was not to be reached */
void preempt_here(void) hidden;   /* the calling G gives way; returns when it runs again, perhaps on another M */

/* ---- sysmon.c, schedtrace.c ---- */
/*
 * Before the first G but main of a process runs (a fork child is a new one); later calls do nothing: the kernel thread
 * without which a system call would keep its P from other Gs for good, and the spawner.  False: there is none.
 */
bool sysmon_start(void) hidden;
void sysmon_note_retaken(void) hidden; /* sysmon's notice that a P was taken */
void sysmon_stop(void) hidden;      /* onlymain.c: it has ended; the caller owns a P */
void sysmon_fork_child(void) hidden; /* fork child: it is gone */
void sysmon_wake(void) hidden;
void schedtrace(bool detail) hidden;
const char *waitreason_text(unsigned r) hidden;

/* ---- blocked.c ---- */
/* sysmon only */
/*
 * Takes Ps from Ms that block unseen; returns in how many us it wants to look again (0: whenever).
 */
uint32_t blocked_check(uint64_t now) hidden;
bool blocked_ran(void) hidden; /* an M whose P was taken: from the last look but one to the last */
uint64_t blocked_when(uint64_t now) hidden; /* sysmon's next look at those though all Ps are idle; 0: there is none */
bool blocked_lists(const struct m *mp) hidden; /* not to be reused yet; any thread */
bool handoff_still_possible(void) hidden; /* what was there may be forbidden by now */
bool blocked_possible(void) hidden; /* at start; cheap while the process has one thread */
void blocked_fork_child(void) hidden;

/* For onsig32.c.  True: the calling G computes without a P, which was taken while it blocked unseen. */
bool reacquirep_asked(void) hidden;
bool reacquirep_forced(void) hidden; /* as preempt_forced() */
void reacquirep(void) hidden; /* returns when the G owns a P, perhaps on another M */

void blocked_report_open(void) hidden; /* at exit: counts the blocks that go on; any thread */

/* ---- procfs.c: sysmon only ---- */
bool procfs_answers(void) hidden;   /* false: not yet, its thread is asked for */
void procfs_make_wanted(void) hidden; /* spawner only */
int procfs_blocked(int tid, struct os_where *w) hidden; /* as os_blocked; -EAGAIN: no answer yet */
bool procfs_oncpu(int tid) hidden; /* on a CPU right now; needs no look at /proc */
/* on a CPU, or waiting for one; false also if the kernel does not tell */
bool procfs_runnable(int tid) hidden;
unsigned procfs_ncpu(void) hidden; /* as os_ncpu; 0: no answer yet */
void procfs_stop(void) hidden;      /* onlymain.c: sysmon and the spawner have ended, and so has this thread now */
void procfs_fork_child(void) hidden;

void procfs_rename(int tid, const char *name) hidden;

/* ---- mnames.c: sysmon only ---- */
void names_look(uint64_t now) hidden; /* now and then; 0: before a long sleep */

/* ==== runtime/debug ==== */

/* ---- dump.c ---- */
void dump_fork_child(void) hidden;
void layout_fork_child(void) hidden;

struct backtrace;
void dump_g(struct outbuf *o, struct backtrace *b, struct g *gp, uint64_t now) hidden; /* b: NULL: no stack */

/* ---- deadlock.c ---- */
void deadlock_look(uint64_t now) hidden;  /* sysmon only: threads that wait for each other for good */
/* Before a long sleep: when there is something to look at, ns; 0: nothing changed since. */
uint64_t deadlock_when(uint64_t now) hidden;
void deadlock_fork_child(void) hidden;

/* ---- trace.c ---- */
void control_look(void) hidden;           /* sysmon only: options that weftctl changes */
void trace_start(void) hidden;            /* the option; before the first thread */
void trace_look(uint64_t now) hidden;     /* sysmon only: begins and ends what weftctl asked for */
void trace_leave(struct m *mp) hidden;    /* it ends */
void trace_fork_child(void) hidden;

/* ---- proffile.c ---- */
void profile_start(void) hidden;          /* the option; before the first thread */
void profile_look(uint64_t now) hidden;   /* sysmon only: has CPU time charged */
void profile_interrupted(uintptr_t pc, uintptr_t sp, uintptr_t fp) hidden; /* the calling G, by signal 32 */

/* ---- blockreport.c ---- */
enum { BLOCKREPORT_NONE = -2 };
int blockreport_begin(struct g *gp, const struct os_where *w) hidden; /* a site for blockreport_end */
void blockreport_end(int site, uint64_t ns) hidden;
void blockreport_fork_child(void) hidden;

#endif
