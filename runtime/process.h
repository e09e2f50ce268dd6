/*
 * process: what concerns the process: its start, forks, filters, what holds from now on, dumps.
 *
 * Must never: be needed on a way that is fast.
 *
 * Functions that are apart, and why: runtime_filter_ask(), _obey() and _behind(), for the filter is asked about
 * before it is known whether one thread will have it or all; runtime_dump(2) and runtime_note_running(), for the
 * answer comes on another thread than the question; runtime_memory_filled(), for it can be undone, as nothing of
 * enum fromnow can.
 */
#ifndef WEFT_PROCESS_H
#define WEFT_PROCESS_H

#include "runtime/runtime.h"

#include <stddef.h>

/* What is handed from one side of a vfork(2) to the other, in registers. */
struct vforked {
	uint64_t mask, nested;
};

/* Upward calls: the runtime knows no libc, so what needs one is handed in once. */
struct runtime_hooks {
	/*
	 * The first three are those of runtime_vfork(), which knows their places.  child and parent are called in
	 * the two processes and are given what begins returned.  parent returns what vfork() returns.
	 */
	struct vforked (*vfork_begins)(void);
	void (*vfork_child)(struct vforked);
	int (*vfork_parent)(long result, struct vforked);
	/*
	 * Once the machine is known: is libc?  Then what runtime_start() was called for: the calling thread's FS base
	 * and the id that libc's objects store for it.  False: the start is given up.
	 */
	bool (*knows_libc)(void **tls, uint32_t *tid);
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
	 * On a G outside of the runtime that an interrupt found inside it, or off its M: what came for it
	 * is there for it to take.  May run the program's code, and not return.
	 */
	void (*interrupted)(void);
	/*
	 * For dumps: what addr is and which thread holds it, in words.  False: nothing to tell.  No
	 * locks, no libc.  peek copies what may be gone, and says false if it is.
	 */
	bool (*describe)(unsigned reason, const void *addr, runtime_peek *peek, char *text, size_t n);
	/* libc's id of the thread that holds what addr is, or that must end first; 0: none, or nothing tells. */
	uint32_t (*holder)(unsigned reason, const void *addr, runtime_peek *peek);
	/* A handler of the program's that gp may run, or any thread (NULL), could make a waiting thread go on. */
	bool (*handler_may_wake)(struct g *gp);
	/* gp waits for that reason, and pthread_cancel() would end the wait. */
	bool (*cancel_may_wake)(unsigned reason, const struct g *gp);
};

/* vforkcall.S knows them. */
_Static_assert(offsetof(struct runtime_hooks, vfork_begins) == 0, "");
_Static_assert(offsetof(struct runtime_hooks, vfork_child) == 8, "");
_Static_assert(offsetof(struct runtime_hooks, vfork_parent) == 16, "");

/* A kernel thread of weft's own that is no M (helper.c).  Zero: it was never started. */
struct helper {
	const char *name;   /* the word by which WEFT=fail refuses it; NULL: there is none */
	/*
	 * It runs, or is about to.  seq_cst with what a user of it writes before it asks, and reads after it is
	 * gone.
	 */
	_Atomic bool started;
	void *stack;        /* kept: the next one runs on it, in a fork child too */
	uintptr_t os;       /* for joining it */
	bool counted;       /* in helpers (its maker's, then the one's that forgets it) */
};

/* So many run, or are about to. */
extern _Atomic int helpers hidden;

enum helper_is { HELPER_NONE, HELPER_THERE, HELPER_MADE }; /* made: by this very call */

/* fn(NULL) on a stack with net bytes for it, once until it ends.  NONE: there can be none now. */
enum helper_is helper_make(struct helper *h, void *(*fn)(void *), size_t net) hidden;
/* It has been told to end: returns when it has, and may be started again. */
void helper_join(struct helper *h) hidden;

static inline bool helper_started(const struct helper *h)
{
	return load_relaxed(&h->started);
}

static inline bool helper_start(struct helper *h, void *(*fn)(void *), size_t net)
{
	return likely(helper_started(h)) || helper_make(h, fn, net) != HELPER_NONE;
}

/* It is gone, or was in the parent of this fork child. */
static inline void helper_forget(struct helper *h)
{
	fetch_sub_relaxed(&helpers, h->counted);
	h->counted = false;
	store_seqcst(&h->started, false); /* seq_cst: see the field */
}

/*
 * Around mlockall(), which fills what is mapped: what was reserved for threads to come goes back.
 * future: what is mapped from now on is filled at once.  Returns what it was.
 */
bool runtime_memory_filled(bool future);

/*
 * While there is one thread: finds what this machine has, makes room for the numbers of weft's descriptors, and turns
 * the caller into the main G on M0 and P0.  0 or -errno: -EOPNOTSUPP, there is no way to see which M blocks
 * unseen; -ECANCELED, hooks.knows_libc() said no.
 */
int runtime_start(const struct runtime_hooks *hooks);

/*
 * In the child of a fork(2): rebuilds the scheduler around the caller. The parent need do nothing.
 */
void runtime_fork_child(void);

/* vfork(2), for a caller that jumps here from its first instruction on; it calls hooks.vfork_... */
int runtime_vfork(void) hidden;

/* Before mq_notify(2): from its return on no thread of weft's closes a copy that it has of this descriptor. */
void runtime_file_keep(int fd);

/*
 * A filter (seccomp) that the program is about to install, its struct sock_fprog; false: it cannot be
 * read, and the kernel will say so.  prog NULL: what is forbidden already, by a filter or WEFT=without.
 */
struct runtime_filter {
	bool tries;          /* what descriptors are tried and waited for with is not all allowed */
	bool start;          /* nor what weft starts with */
	bool threads;        /* nor libc's way to make one */
	bool never;          /* nor any other, and the kernel refuses it by itself */
	bool alone;          /* no other G lives */
	bool syncs;          /* seccomp(2) may be called as yet, which gives a filter to all kernel threads */
	const char *all;     /* a call that libc's threads make, too, is not; NULL: none */
	uint64_t answers[6]; /* the runtime's own */
};

bool runtime_filter_ask(const void *prog, struct runtime_filter *f);

/*
 * Before it is there: what it does not allow is not done any more.  everywhere: upon all Ms and helpers;
 * then, where it allows no more threads, as many Ms are made as there may ever be (FROMNOW_NOMORE); and where
 * there are no tries any more, all threads pass a full fence, if the kernel has membarrier(2).
 */
void runtime_filter_obey(const struct runtime_filter *f, bool everywhere);

/*
 * Calls in which the kernel may give a filter to all threads (TSYNC), and the caller's no_new_privs with it
 * (FROMNOW_PRIVSGIVEN): from before runtime_filter_obey() until it has answered.  The shim counts (acq_rel).
 */
extern _Atomic uint32_t privsyncs hidden;

/*
 * On a G, outside handlers.  True: it is main, alone, and the only one of weft's kernel threads; the others
 * come again when they are needed.  False: nothing, or not all, of them could end.  stop_sigthread: ends
 * the signal thread, with all signals kept out.
 */
bool runtime_single(void (*stop_shims)(void));
void runtime_filter_behind(bool is); /* the calling G, locked, and its M are behind one that others are not */

/* What holds from some moment on, for good (fromnow.c). */
enum fromnow {
	FROMNOW_ORDER,      /* POSIX promises the program an order: chaos ends */
	FROMNOW_EXECUTABLE, /* code may be run on the stacks of all Gs, those to come included */
	FROMNOW_LOCKED,     /* each G keeps the M it is on when it next gives way, and there is a P for each */
	/*
	 * No idle M leaves: the kernel works on what some of them asked for, and ends that with the thread
	 * that asked.
	 */
	FROMNOW_MS_STAY,
	/* The base of GS is read of each G that leaves its M: it may be changed by an instruction. */
	FROMNOW_GS,
	FROMNOW_NOTSC,      /* no use of the time stamp counter */
	FROMNOW_CPUTIME,    /* the CPU time of Gs is counted: g_cputime() says that of what came before, too */
	/*
	 * No alarms: the program makes system calls by instructions of its own, and one has ended because of an
	 * alarm.
	 */
	FROMNOW_OWNCALLS,
	/*
	 * All Ms have no_new_privs, for each G has it (nonewprivs in gshim).  Noted only where that is so, when the
	 * last of them says it.
	 */
	FROMNOW_NONEWPRIVS,
	FROMNOW_PRIVSGIVEN, /* the kernel has given that to all kernel threads, which give it to those that they make */
	FROMNOW_NOMORE,     /* there are no more kernel threads: the runtime says so itself */
	NFROMNOW
};

extern _Atomic unsigned fromnow hidden; /* a bit for each */
void runtime_fromnow(enum fromnow what);

static inline bool fromnow_holds(enum fromnow what)
{
	return load_relaxed(&fromnow) >> what & 1;
}

void runtime_dump(int fd); /* all Gs to the descriptor; any thread, any moment */

/*
 * From the handler of a dump signal that this process directed at the thread: true when it was the
 * dump's question where the G there runs.
 */
bool runtime_note_running(uintptr_t pc, uintptr_t sp);

#endif
