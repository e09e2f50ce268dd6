/*
 * process: what concerns the process: its start, forks, filters, what holds from now on, dumps.
 *
 * Must never: be needed on a way that is fast.
 */
#ifndef WEFT_PROCESS_H
#define WEFT_PROCESS_H

#include "runtime/runtime.h"

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
 * Around mlockall(), which fills what is mapped: what was reserved for threads to come goes back.
 * future: what is mapped from now on is filled at once.  Returns what it was.
 */
bool runtime_memory_filled(bool future);

/* Turns the calling thread into the main G on M0 and P0.  tls: its FS base.  0 or -errno. */
int runtime_start(const struct runtime_hooks *hooks, void *tls, uint32_t tid);

/*
 * Before the first g_new() of a process (a fork child is a new one), later calls do nothing: starts
 * the kernel thread without which a system call would keep its P from other Gs for good.  False:
 * there is none.
 */
bool runtime_start_sysmon(void);

/*
 * Before runtime_start(): finds what this machine has.  False: too little, there is no way to see
 * which M blocks unseen.
 */
bool runtime_probe(void);

/*
 * In the child of a fork(2): rebuilds the scheduler around the caller. The parent need do nothing.
 */
void runtime_fork_child(void);

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
bool runtime_single(void (*stop_shims)(void));
void runtime_filter_behind(bool is); /* the calling G, locked, and its M are behind one that others are not */
bool runtime_filter_tries(void);   /* no filter, and no WEFT=without, forbids tries on descriptors */
bool runtime_filter_syncs(void);   /* seccomp(2) may be called */

/* On a G: as many Ms are made as there may ever be. */
void runtime_filter_settle(void);
bool runtime_nomore(void);         /* kernel threads, for good */

/* From now on code may be run on the stacks of all Gs, those to come included. */
void runtime_stacks_executable(void);

/* From now on each G keeps the M it is on when it next gives way, and there is a P for each. */
void runtime_lockall(void);
bool runtime_all_locked(void);

/*
 * From now on no idle M leaves: the kernel works on what some of them asked for, and ends that with
 * the thread that asked.
 */
void runtime_keepms(void);

/* From now on the base of GS is read of each G that leaves its M: it may be changed by an instruction. */
void runtime_uses_gs(void);

void runtime_notsc(void); /* from now on without the time stamp counter */

/* CPU time of a G in ns, counted from the first cputime_enable(). */
void cputime_enable(void);

/*
 * The kernel's part of it, counted from the first systime_enable().  used: what the kernel thread ostid,
 * on which the caller found gp, has used in the kernel in all, for the time since gp's last switch;
 * the caller's own is asked.
 */
void systime_enable(void);

void runtime_promised(void); /* POSIX promises the program an order from now on: chaos ends */

void runtime_dump(void); /* all Gs to stderr; any thread, any moment */

/*
 * From the handler of a dump signal that this process directed at the thread: true when it was the
 * dump's question where the G there runs.
 */
bool runtime_note_running(uintptr_t pc, uintptr_t sp);
void runtime_blockreport(void); /* at exit, if the option asks for it */

#endif
