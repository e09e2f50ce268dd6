/*
 * runtime: what the shim may ask of the scheduler, and nothing more.
 *
 * Words: G a user-level thread, M a kernel thread, P the right to run Gs.  Code of the program
 * always runs on a G's stack with FS on that G's thread block; the scheduler runs on an M's g0
 * stack with FS on the M's own block.  A stack therefore never sees FS change under it, and
 * thread-local addresses may be cached by any compiler.
 *
 * Three kinds of callers reach this header:
 *   - a G (getg() != NULL): may park;
 *   - a native thread (getg() == NULL, weft_on): made by libc's helpers or a raw clone; it may
 *     use every lot_ function, and then blocks in the kernel on a private futex;
 *   - anybody while weft_on == 0: no thread was made yet (or weft is disabled); the shim must pass
 *     through to libc and must not call the runtime.
 * Functions return 0 or -errno and never touch errno.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/options.h"

#define hidden __attribute__((visibility("hidden")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct g;
struct m;
struct waiter;

/*
 * Lives in static TLS of every thread block.  On a G: g and tid are constant for a life.  On an M's
 * own block: g is NULL and m is set.  On a native thread all is zero.
 */
struct weft_tls {
	struct g *g;
	struct m *m;
	uint32_t locks; /* runtime locks held, and pins */
	uint32_t revoke; /* enum revoke: whether the P of the M was taken while the G was off (lock.h, blocked.c) */
	uint32_t depth; /* inside libc functions that hold a lock of libc's: not to be preempted */
	uint32_t need_resched; /* it was asked to give way and could not: runtime_resched() */
	/*
	 * waiter of a thread that is no G, which is or was in the lot's queue (parkinglot_wait.c)
	 */
	struct waiter *waits;
	bool filtered;  /* behind a filter of its own: runtime/sched/filtered.c, and shim/syscall/seccomp.c */
	uint32_t unshared; /* a process in our memory (clone.h); no G and no M has this */
#ifdef WEFT_DEBUG
	uint16_t held[32]; /* of each rank */
#endif
	uint32_t tid; /* what glibc's objects store as owner; never a kernel id, except main's */
};
extern __thread struct weft_tls weft_tls hidden __attribute__((tls_model("initial-exec")));

extern int weft_on hidden; /* 1 once the scheduler runs; set once, on the only thread */

static inline struct g *getg(void)
{
	return weft_tls.g;
}

/*
 * vfork(2), for a caller that jumps here from its first instruction on: child() and parent() are
 * called in the two processes, and what they are given is what begins() returned.  Result: 0 in the
 * child, what parent() returns in the parent.
 */
struct vforked {
	uint64_t mask, nested;
};
int runtime_vfork(struct vforked (*begins)(void), void (*child)(struct vforked),
		  int (*parent)(long result, struct vforked)) hidden;

enum waitreason {
#define REASON(name, text) Wait##name,
#include "runtime/sched/waitreason.def"
#undef REASON
	NWAITREASON
};

/* ---- locks ----------------------------------------------------------------------------------- */

enum lockrank {
#define RANK(name) Rank##name,
#include "runtime/base/lockrank.def"
#undef RANK
	NLOCKRANK
};

/* The runtime's own kind (lock.h). */
struct lock {
	uint32_t word;     /* 0 free, 1 held; futex */
	uint32_t sleepers; /* threads in lock_slow()'s sleep, or about to be */
#ifdef WEFT_DEBUG
	uint8_t rank;
#endif
};

#ifdef WEFT_DEBUG
#define LOCK_INIT(r) { 0, 0, Rank##r }
#else
#define LOCK_INIT(r) { 0, 0 }
#endif

/*
 * The same for the shim's own data, and the only kind of lock that the shim has (check-locks):
 * ranked in lockrank.def, before all of the runtime's.  The holder of one is pinned: it is not
 * preempted, and no handler of the program runs on its thread, so a handler may take the lock too.
 * The holder may not park or make a system call that blocks; it may wake.  On a G the call may
 * switch before it returns.  Not for code that may have interrupted the runtime (runtime_busy()).
 * A fork child frees those that another thread may have held.  A shimlock lives in memory that is
 * never given back.
 */
struct shimlock {
	struct lock lock;
};
#define SHIMLOCK(rank) { LOCK_INIT(rank) }
void shimlock(struct shimlock *l) hidden;
void shimunlock(struct shimlock *l) hidden;
void shimlock_fork_child(struct shimlock *l) hidden;

/*
 * The calling thread is inside the runtime (holds one of its locks, or runs on g0): a signal
 * handler that finds it so must not call the program.
 */
bool runtime_busy(void);

/*
 * Between pin_m() and unpin() no handler of the program runs here and the calling G stays on its M.
 * The G may be without a P and is given none (pin() in lock.h does that).  For what concerns the M
 * alone: a pin() that has to get a P may leave this M before its caller noted anything.
 */
static inline void pin_m(void)
{
	weft_tls.locks++;
	fence_compiler();
}

static inline void unpin(void)
{
	fence_compiler();
	weft_tls.locks--;
}

/*
 * Preemption.  The handler of signal SIGWEFT notes what the kernel has (g_notekernel), then
 * calls runtime_preempt_asked(), whatever it interrupted: true when a G runs here that is asked to give
 * way, and may.  It then calls runtime_preempt(), which returns when the G runs again, perhaps on
 * another M.  Or the handler sets weft_tls.need_resched, and the G gives way at its next call of
 * runtime_resched().
 */
enum { SIGWEFT = 32 };
bool runtime_preempt_asked(void);
bool runtime_preempt_forced(void); /* it has been asked for so long that libc's locks no longer count */
void runtime_preempt(void);
void runtime_resched(void);

/* ---- start ----------------------------------------------------------------------------------- */

/* Upward calls: the runtime knows no libc, so what needs one is handed in once. */
struct runtime_hooks {
	/* Starts a kernel thread with a libc of its own on the given stack, all signals blocked. */
	int (*newosproc)(void *(*fn)(void *), void *arg, void *stack, size_t size, uintptr_t *os);
	/* How much of that stack libc takes for itself: its block and the static TLS. */
	size_t (*stacktaken)(void);
	/* Waits for the kernel thread to be gone; its stack may be freed after. */
	void (*joinosproc)(uintptr_t os);
	/*
	 * Body of a G: runs on its stack with FS on its block; must not return but end in goexit().
	 */
	void (*gmain)(struct g *gp);
	/*
	 * A thread block for an M that the program made (main's): FS while on its g0. NULL: no
	 * memory.
	 */
	void *(*newmtls)(void);
	/*
	 * A dead G's thread block (g_tls) is wanted no more: the area is the runtime's.  On the spawner: may
	 * wait for libc's locks.
	 */
	void (*dropblock)(void *tls);
	/* On the spawner, too: frees a little of what such blocks left.  False: there is no more. */
	bool (*leftovers)(void);
	/* The last G ended: ends the process (exit(0)); called on a G's stack. */
	void (*lastexit)(void);
	/*
	 * Called on a G that is about to park in a process without a signal thread: makes one.
	 * False: there is none still.
	 */
	bool (*start_sigthread)(void);
	/*
	 * For dumps: what addr is and which thread holds it, in words.  False: nothing to tell.  No
	 * locks, no libc.
	 */
	bool (*describe)(unsigned reason, const void *addr, char *text, size_t n);
};

/* The size of a stack for newosproc on which net bytes are left for weft's own functions. */
size_t runtime_ostack(size_t net) hidden;

/*
 * The thread block libc registered with the kernel for the calling M (main's own on M0); NULL off
 * one.
 */
void *runtime_mtls(void);
/* the block that the calling M has on g0: another on M0, else the same */
void *runtime_g0tls(void);

/*
 * A part of a large table, n bytes at *at: zeroes, mapped by the first thread that uses it.  Any
 * thread may call it, in a handler too.  NULL: the kernel has no memory.
 */
void *runtime_part(void *_Atomic *at, size_t n);

/*
 * Around mlockall(), which fills what is mapped: what was reserved for threads to come goes back.
 * future: what is mapped from now on is filled at once.  Returns what it was.
 */
bool runtime_memory_filled(bool future);

/* From now on code may be run on the stacks of all Gs, those to come included. */
void runtime_stacks_executable(void);

/* Turns the calling thread into the main G on M0 and P0.  tls: its FS base.  0 or -errno. */
int runtime_start(const struct runtime_hooks *hooks, void *tls, uint32_t tid);

/* ---- Gs -------------------------------------------------------------------------------------- */

/*
 * Before the first g_new() of a process (a fork child is a new one), later calls do nothing: starts
 * the kernel thread without which a system call would keep its P from other Gs for good.  False:
 * there is none.
 */
bool runtime_start_sysmon(void);
/*
 * Signals that come while all Gs are parked are for the signal thread, which the shim makes.  Until
 * there is one (as in a child of fork(2) that has not parked) a G calls hooks.attend before it
 * parks.
 */
void runtime_sigthread_runs(bool yes, uint64_t idlemask); /* idlemask: a mask, for Ms that sleep without a G */

/* How memory for a stack is divided (stackshape.c): bytes from its first one. */
struct shape {
	size_t guard;     /* the stack's lowest byte */
	size_t top;       /* first byte above it */
	size_t size;      /* all of it */
	bool user;        /* the program's own stack: all of these are 0 */
};

struct gattr {
	size_t stacksize; /* bytes the program may use; 0: the default */
	size_t guardsize; /* bytes that fault below it */
	void *stack;      /* the program's own stack (lowest address), or NULL */
	size_t tlsarea;   /* bytes for the thread block, the same for all Gs */
	size_t tlsalign;  /* alignment of the thread block (a power of two; 64 at least anyway) */
	bool shaped;      /* g_shape() has filled in class and shape; else g_new() does */
	uint8_t class;    /* class of the stack's shape (gfree.c) */
	struct shape shape;
};

/* For attributes that are used again and again.  0, or -errno as g_new(). */
int g_shape(struct gattr *a);

/*
 * A G in state dead with a stack, perhaps recycled: then g_tls() is the block of its former life.
 * NULL: *err is -EINVAL when no such stack can be, else -ENOMEM: no memory, or as many Gs as there may
 * be.
 */
struct g *g_new(const struct gattr *a, int *err);
/* Where the thread block goes: tlsarea bytes, page-zeroed when fresh. */
void *g_tlsarea(struct g *gp);
void *g_tls(struct g *gp);
void g_set_tls(struct g *gp, void *fsbase, uint32_t tid); /* also fills weft_tls of that block */
void g_start(struct g *gp);                               /* newproc: runnable from here on */
/*
 * The same, locked to an M that the caller's M makes, so that the kernel hands on what that one has.
 * 0, or -EAGAIN: no kernel thread to be had.
 */
int g_start_locked(struct g *gp);
/*
 * Ends the calling G: ended(arg) is its last act, which may not park.  ended says true: the runtime
 * frees the G once its stack is left.  Else the thread that learnt from ended() that the G is over
 * frees it, after g_await_off().
 */
void goexit(bool (*ended)(void *arg), void *arg) __attribute__((noreturn));
void g_await_off(struct g *gp); /* waits, a moment at most, until no thread is on its stack */
/* Gives a G that ended (or was never started) back to the pools. */
void g_free(struct g *gp);

uint64_t g_id(const struct g *gp);
uint32_t g_tid(const struct g *gp); /* what g_set_tls stored */
uint32_t g_nextid(void); /* next unique 0x10000000..0x3fffffff id; g_set_tls stores it */
void g_stackbounds(const struct g *gp, void **base, size_t *size, size_t *guard);
void g_setname(struct g *gp, const char *name);
void g_getname(const struct g *gp, char name[16]);
void g_copyname(struct g *to, const struct g *from);
/* The base of GS of the calling G: follows it from M to M.  0 or -errno. */
long g_setgs(uintptr_t base);
/* Kernel signal mask while gp runs; set on the caller itself it takes effect at once. */
uint64_t g_mask(const struct g *gp);
void g_setmask(struct g *gp, uint64_t mask);
/* The kernel already has this mask on the calling G's M (a handler runs): only remember it. */
void g_notemask(uint64_t mask);
/*
 * In a handler: an M that runs no G keeps these signals out until it runs one; the caller puts them
 * into the mask to which it returns.  False: a G runs here, or this is M0.
 */
bool runtime_block_idle(uint64_t set);
/*
 * When every G keeps set out, so do the kernel threads that run them.  There are two exceptions: an
 * M between two Gs, for as long as it looks for the next, and an M that sleeps as the poller, until
 * runtime_set_allblocked() told it.  set is all that no G lets in.
 */
void runtime_set_allblocked(uint64_t set);
bool runtime_all_ms_block(uint64_t set);
/*
 * In a signal handler that interrupted a G outside the runtime: the mask that the kernel had for the
 * interrupted code, which may be newer than the notes.  Before anything that may give this M to
 * another G, whose own would be compared with the notes.
 */
void g_notekernel(uint64_t kernelmask);
/*
 * sigstack.c.  In a handler on the signal stack of an M, which must not switch: memory of
 * sidestack_size() bytes for the calling G to go on in, NULL: none; its lowest word is not the
 * caller's.  The G gives it back, wherever it runs by then, and may use it until its next sigreturn,
 * if nothing may come in between (sigframe_leave()).
 */
size_t sidestack_size(void);
void *sidestack_take(void);
void sidestack_give(void *side);
/* Notes where the calling G was interrupted, for dumps while it does not run.  0: it goes on. */
void g_interruptedat(uintptr_t pc, uintptr_t sp);
/*
 * On a G, where the kernel has this alternate stack: should that not be the M's signal stack, it is
 * told.  M0's is told by this alone, once all handlers know what to do there.
 */
void runtime_sigstack(const void *has);
bool runtime_on_sigstack(uintptr_t sp); /* sp is on that of the calling M */
/*
 * First live G at or after *i in the table of all Gs, NULL at the end; *i moves past it.  A
 * snapshot: it may end meanwhile, its memory stays.
 */
struct g *g_next(uint32_t *i);
void *g_data(struct g *gp); /* one word the shim owns */
void *_Atomic *g_mailbox(struct g *gp); /* another one, which stays from one life to the next */
void g_setdata(struct g *gp, void *data);
struct g *g_main(void);
/* Kernel id of the M that runs gp (user code or system call) right now, or 0; a snapshot. */
int g_ostid(const struct g *gp);

/* ---- which G runs ---------------------------------------------------------------------------- */

void gosched(void);    /* to the global tail, as Go's Gosched (sched_yield) */
void goyield(void);    /* to the local tail */
void lockosthread(void); /* locks the calling G to its M until unlockosthread(); nests */
void unlockosthread(void);
/* From now on each G keeps the M it is on when it next gives way, and there is a P for each. */
void runtime_lockall(void);
/*
 * The calling G, which is locked, has a real-time policy with this priority (0: none any more) on its
 * kernel thread (realtime.c).
 */
void runtime_realtime(int priority);
void runtime_raised(int priority); /* one that has such a policy: another priority, for a time */
extern _Atomic bool realtime hidden; /* some G has, or had, such a policy */
bool realtime_self(void);
/* The calling G's kernel thread is its own, and is to wait for descriptors by itself. */
static inline bool runtime_waits_itself(void)
{
	return unlikely(load_relaxed(&realtime)) && realtime_self();
}
/*
 * Before the calling G changes its kernel thread for good (and ends it at exit): M0 cannot end, so
 * any G but main goes on elsewhere.  No-op when it is locked already.
 */
void leavem0(void);

/*
 * Around what makes a child process of the calling G, or asks for those that this very thread made
 * (home.c): the G is on the M that is their parent, and locked.  made: there is one more.  A child
 * that has the G's memory copied calls child_ends(false).  They nest.
 */
void runtime_child_begins(void);
void runtime_child_ends(bool made);
void runtime_child_gone(void); /* the caller has waited for one */
/*
 * From now on no idle M leaves: the kernel works on what some of them asked for, and ends that with
 * the thread that asked.
 */
void runtime_keepms(void);

/*
 * Around a call that may block in the kernel: between the two the G owns no P (sysmon may take it),
 * so the code in between must not call the runtime, except lot_ functions, which take a P back
 * while they park.  Nests; costs one compare-and-swap each way when no M wanted the P.  No-ops off
 * a G.
 */
void entersyscall(void);
void entersyscallblock(void); /* the call certainly waits: the P goes to another M now */
void exitsyscall(void);
bool runtime_others_wait(void); /* for the caller's P */
/* After a longjmp or unwinding out of a system call region: back to a G that owns a P. */
void syscall_reset(void);

/*
 * A G whose P was taken while it was blocked unseen (blocked.c), and which computes since, is
 * signalled.  The handler asks first thing, wherever it is; when told so and the G may be switched
 * away where it was interrupted, it calls runtime_reacquirep, which returns when the G owns a P, perhaps on
 * another M.
 */
bool runtime_reacquirep_asked(void);
bool runtime_reacquirep_forced(void); /* it has been asked for so long that libc's locks no longer count */
void runtime_reacquirep(void);

/* ---- the parking lot ------------------------------------------------------------------------- */

/*
 * One set of wait queues, keyed by address, under everything that waits.  The waiter lives on the
 * waiting stack, never in the object, so an object may be freed as soon as POSIX lets its user do
 * so.
 */
struct park {
	const void *addr;
	/*
	 * Under the bucket lock, before queueing: nonzero means do not sleep, lot_park returns
	 * -EAGAIN. Reads only memory that is mapped; must not call back here.
	 */
	int (*refuse)(void *arg);
	/*
	 * After queueing, outside the bucket lock, before sleeping; may lot_wake() (a condvar
	 * unlocks its mutex here).  May neither park nor unlock the G from its M: it waits already.
	 */
	void (*queued)(void *arg);
	void *arg;
	uint64_t deadline; /* CLOCK_MONOTONIC ns; 0: none */
	/*
	 * Instead, with any deadline but 0: ns of a clock that may be set, known to netpoll_clock(); 0: none.
	 */
	uint64_t wall;
	int clock;
	uint32_t bitset;   /* 0 means all bits */
	uint8_t reason;    /* enum waitreason */
	/*
	 * Place in the queue.  0: the last.  Written when a park ends, so that a waiter that lost a
	 * race, or ran a handler, queues again where it stood; LOT_FIRST: before all.
	 */
	uint64_t turn;
	const void *at; /* written when a park ends: where it was queued, elsewhere after lot_requeue() */
};
#define LOT_FIRST 1
/*
 * 0..INT_MAX: woken, with the value the waker chose; -EAGAIN; -ETIMEDOUT; -EINTR, the caller is off
 * the queue and runs what it was interrupted for, if anything, before it parks again.
 */
int lot_park(struct park *pk);
/*
 * In a handler on a thread that is no G, first thing: ends its park, if it is in one, with -EINTR.
 */
void lot_leave(void);
/* Runs fn under the lock that lot_park's refuse and lot_wake's decide have for addr. */
void lot_do(const void *addr, void (*fn)(void *arg), void *arg);

enum readyhow {
	READY_TAIL, /* local tail: mutexes */
	READY_NEXT, /* runnext: condvars, semaphores */
};
/*
 * Wakes up to n waiters of addr whose bitset meets bits (0: all), oldest first.  decide, if given,
 * runs once under the bucket lock after the waiters are off the queue: woken is their count, more
 * tells whether others stay queued.  What it returns is what each woken lot_park() returns.
 */
typedef int (*lot_decide)(void *arg, unsigned woken, bool more);
/*
 * In a lot_decide, when woken > 0: true asks that ownership be handed over now, for the waiters of
 * addr have waited long.  Reads the clock.
 */
bool lot_fair(const void *addr);
unsigned lot_wake(const void *addr, unsigned n, uint32_t bits, enum readyhow how, lot_decide decide,
		  void *arg);
/*
 * Wakes nwake waiters of from and moves up to nmove others to the queue of to, under both bucket
 * locks.  refuse (may be NULL) runs first: nonzero -> -EAGAIN and nothing happens.  moved (may be
 * NULL) runs under the locks with the number to be moved before they are (a condvar marks the mutex
 * contended there).  Returns woken, and *nmoved.
 */
int lot_requeue(const void *from, const void *to, unsigned nwake, unsigned nmove,
		int (*refuse)(void *arg), void (*moved)(void *arg, unsigned n), void *arg,
		unsigned *nmoved);
/* True when a thread waits on addr now (a hint: the caller does not hold the lock). */
bool lot_waiting(const void *addr);
/* Parks without a waker: for pk's time, or until g_interrupt(): -ETIMEDOUT or -EINTR. */
int lot_sleep(struct park *pk);

/*
 * Ends gp's park (now, or its next one) for a look at signals and cancellation.  True: it was
 * parked.
 */
bool g_interrupt(struct g *gp);
/* Forgets an interrupt that no park consumed (called by the shim once it acted on the reason). */
void g_uninterrupt(struct g *gp);

/* ---- descriptors ----------------------------------------------------------------------------- */

/*
 * What is watched of an open descriptor: polldesc.c.  The caller keeps one slot per descriptor
 * number; NULL until the first hold.  Each direction has a count of the edges seen.  To wait: read
 * the count, try (or ask) without blocking, and when that would block, park as long as the count is
 * still the same.
 *
 * Between hold and release the caller is pinned: no handler runs, so nothing of it is lost by a
 * jump.  It may make system calls that do not block, and park; a park that says -EINTR must be
 * followed by release before handlers or cancellation are looked at.
 */
struct polldesc;
typedef struct {
	struct polldesc *_Atomic pd;
	_Atomic uint32_t closing; /* calls on their way that end the number: nothing new is put in pd */
	_Atomic uint32_t barred;  /* not 0: never watched */
} pollslot;
enum polldir { NETPOLL_IN, NETPOLL_OUT };

/* Registers on demand.  NULL (and no pin): this one cannot be watched. */
struct polldesc *netpoll_hold(pollslot *slot, int fd);
void netpoll_release(struct polldesc *pd);
uint32_t netpoll_seq(const struct polldesc *pd, enum polldir dir); /* 0 when just registered; without hold too */
/*
 * Around a system call on a held one: its number, which changes when the program closes it
 * meanwhile.
 */
int netpoll_fdget(struct polldesc *pd);
void netpoll_fdput(struct polldesc *pd);
/* a duplicate of fd with a number of weft's own; -1: there is none */
int netpoll_dup(int fd);
/*
 * Sleeps until an edge after seq: 0 (perhaps at once), -ETIMEDOUT, -EINTR.  One edge wakes one of
 * those that wait here; after 0 the caller tries, and if that did not end in "would block", passes
 * it on.
 */
int netpoll_park(struct polldesc *pd, enum polldir dir, uint32_t seq, uint64_t deadline,
		 enum waitreason reason);
void netpoll_pass(struct polldesc *pd, enum polldir dir);
/*
 * Notes, and asks later, that at count seq everything was read.  Never true once it ended or broke.
 */
void netpoll_note_empty(struct polldesc *pd, uint32_t seq);
bool netpoll_known_empty(const struct polldesc *pd, uint32_t seq);
/* an end or an error has been seen, perhaps of one direction only */
bool netpoll_has_ended(const struct polldesc *pd);
/* Makes the waiters try again: something has changed of which the kernel does not tell. */
void netpoll_retry(pollslot *slot, enum polldir dir);

/*
 * Waiting for several at once.  Links live on the waiter, all of them unlinked before it goes on.
 * An edge of a linked one that has to do with its events sets fired; the waiter clears it, asks,
 * and parks while it is clear.
 */
struct pollset {
	_Atomic uint32_t fired; /* the waiter's address in the lot */
};
struct polllink {
	struct polldesc *pd; /* held */
	struct pollset *set;
	struct polllink *next, *prev;
	uint32_t events;
};
void netpoll_link(struct polllink *l);
void netpoll_unlink(struct polllink *l);
int netpoll_parkset(struct pollset *set, uint64_t deadline, enum waitreason reason);

/*
 * Around a system call of the program's that ends the number fd, as close or dup2.  Waiters go on
 * waiting for the open file.  A waiter that comes in between watches the file by a number of our
 * own: the file that the program's number names is about to change, and the kernel drops what is
 * watched by that number.
 */
void netpoll_closing(pollslot *slot, int fd);
void netpoll_closed(pollslot *slot);
/*
 * The same for a call that ends numbers which have no slot, or many: while one is on its way, each
 * new waiter watches by a number of our own.  After netpoll_synchronize() all that registered without
 * seeing the count stand in their slots, for the caller to forget.
 */
void netpoll_closing_any(void);
void netpoll_closed_any(void);
void netpoll_synchronize(void);
/*
 * Drops what the slot names.  gone: its file was closed where weft did not see it, and another file
 * has the number: waiters are told EBADF.
 */
void netpoll_forget(pollslot *slot, int fd, bool gone);
/*
 * Until it is unbarred as often, or forgotten, fd cannot be watched; its waiters are told EBADF.
 */
void netpoll_bar(pollslot *slot, int fd);
void netpoll_unbar(pollslot *slot);
/* False: another file than the registered one has the number, so what was registered is gone. */
bool netpoll_same(pollslot *slot, int fd);
/* Before the first thread: numbers that the poller will use are within the kernel's table. */
void netpoll_makeroom(void);
/* Before a wait for a clock that may be set: it follows when that is. */
void netpoll_clock(void);
/* Descriptors of our own: the program must not close them, and may have their numbers. */
bool netpoll_owns(int fd);
bool netpoll_owns_above(int fd, int *which); /* the lowest at or above fd */
void netpoll_move(int fd);

/* ---- time, tracing, fork --------------------------------------------------------------------- */

/* CPU time of a G in ns, counted from the first cputime_enable(). */
void cputime_enable(void);
uint64_t g_cputime(struct g *gp);
/*
 * The kernel's part of it, counted from the first systime_enable().  used: what the kernel thread ostid,
 * on which the caller found gp, has used in the kernel in all, for the time since gp's last switch;
 * the caller's own is asked.
 */
void systime_enable(void);
uint64_t g_systime(struct g *gp, int ostid, uint64_t used);
bool g_waits(const struct g *gp); /* parked; a snapshot */
uint64_t nanotime(void); /* CLOCK_MONOTONIC ns */
/* From now on the base of GS is read of each G that leaves its M: it may be changed by an instruction. */
void runtime_uses_gs(void);
unsigned long __getauxval(unsigned long type); /* libc's, past the interposed name */
void runtime_notsc(void); /* from now on without the time stamp counter */
/*
 * 0, or the -errno that a system call of weft's own gets instead of being made: WEFT=without, or a
 * filter forbids it.
 */
extern bool os_missing_any __attribute__((visibility("hidden")));
long runtime_denied_slow(long nr, long a, long b, long c);
static inline long runtime_missing(long nr, long a, long b, long c)
{
	return __builtin_expect(os_missing_any, 0) ? runtime_denied_slow(nr, a, b, c) : 0;
}
/* True: what the caller is about to ask of kernel or libc must fail, as asked by WEFT=fail. */
bool runtime_fault(const char *what);
/*
 * Before runtime_start(): finds what this machine has.  False: too little, there is no way to see
 * which M blocks unseen.
 */
bool runtime_probe(void);
/*
 * A filter (seccomp) that the program is about to install, its struct sock_fprog; false: it cannot be
 * read, and the kernel will say so.
 */
struct runtime_filter {
	bool tries;          /* what descriptors are tried and waited for with is not all allowed */
	bool start;          /* nor what weft starts with */
	bool threads;        /* nor libc's way to make one */
	const char *all;     /* a call that libc's threads make, too, is not; NULL: none */
	uint64_t answers[6]; /* the runtime's own */
};
bool runtime_filter_ask(const void *prog, struct runtime_filter *f);
/* Before it is there: what it does not allow is not done any more.  everywhere: upon all Ms and helpers. */
void runtime_filter_obey(const struct runtime_filter *f, bool everywhere);
bool runtime_alone(void);          /* no other G lives */
/*
 * On a G, outside handlers.  True: it is main, alone, and the only one of weft's kernel threads; the others
 * come again when they are needed.  False: nothing, or not all, of them could end.  stop_sigthread: ends
 * the signal thread, with all signals kept out.
 */
bool runtime_single(void (*stop_sigthread)(void));
void runtime_filter_behind(bool is); /* the calling G, locked, and its M are behind one that others are not */
bool runtime_filter_tries(void);   /* no filter, and no WEFT=without, forbids tries on descriptors */
bool runtime_filter_syncs(void);   /* seccomp(2) may be called */
/* On a G: as many Ms are made as there may ever be. */
void runtime_filter_settle(void);
bool runtime_nomore(void);         /* kernel threads, for good */
void runtime_dump(void); /* all Gs to stderr; any thread, any moment */
/*
 * From the handler of a dump signal that this process directed at the thread: true when it was the
 * dump's question where the G there runs.
 */
bool runtime_note_running(uintptr_t pc, uintptr_t sp);
void runtime_blockreport(void); /* at exit, if the option asks for it */
bool runtime_peek(const void *from, void *to, size_t n); /* memory that may be gone; false: it is */
void runtime_promised(void); /* POSIX promises the program an order from now on: chaos ends */
void runtime_yieldhere(void);
/*
 * Called at every interposed entry: gives way if the G was asked to at a moment when it could not;
 * with chaos, perhaps yields.
 */
static inline void runtime_checkyield(void)
{
	if (unlikely(weft_tls.need_resched || weft_opt.chaos))
		runtime_yieldhere();
}

/*
 * In the child of a fork(2): rebuilds the scheduler around the caller. The parent need do nothing.
 */
void runtime_fork_child(void);

#endif
