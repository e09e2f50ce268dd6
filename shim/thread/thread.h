/*
 * thread: what the shim knows of each thread beyond its G.  Lives in the thread's own TLS, so a
 * pthread_t (glibc's thread pointer) leads to it by a constant offset.
 */
#ifndef WEFT_SHIM_THREAD_H
#define WEFT_SHIM_THREAD_H


#include "compat/tcb.h"
#include "runtime/base/moment.h"
#include "shim/shim.h"

enum {
	TH_EXITED = 1,   /* result is final; the stack is left, or will be in a moment */
	TH_DETACHED = 2, /* the thread frees itself at its end */
	TH_JOINING = 4,  /* a thread waits in join */
	TH_ENDING = 8,   /* takes no more signals */
	TH_GONE = 16,    /* joined, or ended detached: no thread has this id */
	TH_LET_GO = 32,  /* detached while a thread waits in join: TH_DETACHED when that one leaves without it */
};

struct thread {
	bool stop;                   /* first: the system call stub ends a call that it is set for (own) */
	/*
	 * seq_cst with the mailbox: an ending thread writes this one, then empties that;
	 * thread_signal() the other way
	 */
	_Atomic uint32_t state;      /* TH_ bits; joiners park on its address */
	struct g *g;
	void *(*start)(void *);
	int (*start11)(void *);      /* thrd_create's form, exclusive with start */
	void *arg;
	void *result;
	int inheritsched;            /* the attribute it was made with, for pthread_getattr_np() */
	bool cancelling;             /* a cancellation is being acted upon (own) */
	bool keyed;                  /* some key had a value (own) */
	bool exiting;                /* result was set by pthread_exit */
	bool asking;                 /* it asks about a descriptor, or tries it (own; fdask.h: others read) */
	bool leaves_more;            /* its end has to look at what few threads have (own): leave() */
	pthread_t joins;             /* the thread that this one is joining: EDEADLK of a cycle */
	/*
	 * seq_cst with the mailbox: thread_look_slow() clears this one, then reads that; senders
	 * the other way
	 */
	_Atomic bool look;           /* signals or an asynchronous cancellation came: thread_look() */
	struct signode *held;        /* queued, in the order of their turn: sigpending.c (own, while taking) */
	uint32_t forgot;             /* sigforget_count() when held was last looked through (own, while taking) */
	_Atomic uint64_t pending[2]; /* standard signals queued for it; [1]: sent to the process */
	/*
	 * seq_cst with the mailbox: the handler clears this one, then reads that; sigroute_kick()
	 * the other way
	 */
	_Atomic bool kicked;         /* signal 32 is on its way to it, or being handled */
	stack_t altstack;            /* as sigaltstack(2) set it; size 0: none (own, pinned to change it) */
	/* on a side stack, or about to return from a handler: no handler may run on top (own) */
	volatile bool leaving;
	/* the thread is at its lists: a handler that comes now must not touch them */
	volatile bool taking;
	volatile uint8_t acting_on;  /* what act() is about to handle, until its mask is in place */
	/*
	 * signals that its mask lets in and that the kernel keeps out until taking ends
	 * (sighandler.c)
	 */
	volatile uint64_t blocked_meanwhile;
	uint64_t waitset;            /* what its sigwait waits for, else 0 */
	/* what the first handler in that wait found of it: none has run, nothing was queued, or something was (own) */
	enum { WAIT_NO_HANDLER, WAIT_NOTHING, WAIT_SOMETHING } waitsaw;
	/* the thread is in a call with a mask of its own (waitmask.h) */
	/* seq_cst with the mailbox in waitmask_enter() */
	_Atomic bool masked;
	_Atomic uint64_t waitmask;   /* the mask of that call, while masked */
	bool maskedtook;             /* signals waited that it let in, ignored ones too (own) */
	/* it parked in that call: the G's noted mask has waitmask in it, and ownmask is the G's own (own) */
	bool joined;
	uint64_t ownmask;
	uint64_t sigdone;            /* handlers run so far (own) */
	/* sigdone after the last delivery that ends a call: its first handler has no SA_RESTART (own) */
	uint64_t sigends;
	_Atomic uint64_t said[2];    /* rusage.c: the most that was told of its user time, and the kernel's */
	uint64_t sigtaken;           /* signals taken off its queue to be acted on, ignored ones too (own) */
	bool robustlist_set;         /* by number, see robustlist.c (own): */
	struct robust_list_head *robustlist;
	uint32_t *cleared_tid;       /* by set_tid_address(2): zero when it has ended (own) */
	bool no_tid_word;            /* the same: there shall be none, not libc's either (own) */
	volatile bool setxid;        /* in setuid or one of its family: compat/setxid.c (own) */
	bool catches_sigpipe, got_sigpipe; /* in a pinned call that may raise SIGPIPE; it did (own) */
	uint64_t callbegan;          /* when its last call of timed.def began (own) */
	struct timespec callleft;    /* what is left of that call's time, for the kernel to read (own) */
	bool owns_os;                /* locked for good: its M carries state that only it may have (own) */
	bool owns_nnp;               /* that state is no_new_privs alone (own) */
	bool sleeps;                 /* its last wait for an epoll slept in the kernel (own) */
	bool pollparks;              /* its last poll() that might wait parked (own) */
	bool filtered;               /* behind a filter: its calls are not tried (own) */
	/* seq_cst with the lot's lock: no G any more, its kernel thread is its own (strict.c) */
	_Atomic bool strict;
	_Atomic int strict_tid;      /* the kernel clears it when that thread has ended */
	_Atomic int strict_os;       /* the kernel's id of it */
	bool passes_os;              /* the threads that this one makes get that state, too (own) */
	_Atomic bool schedparam_pending; /* attributes wait to be made real: schedparam_apply() */
};

extern __thread struct thread self_thread hidden __attribute__((tls_model("initial-exec")));

static inline struct thread *thread_of(pthread_t t)
{
	ptrdiff_t off = (char *)&self_thread - (char *)tcb_self();

	return (struct thread *)((char *)t + off);
}

/*
 * Signals directed at the thread, newest first: any thread pushes, this one takes.  With the G, not
 * here: this memory is wiped between two lives, and a sender may be late.
 */
/* seq_cst: see struct gshim */
static inline void *_Atomic *mailbox(struct thread *th)
{
	return &g_shim(th->g)->mailbox;
}

/* testcancel() on a G.  What nearly every call finds is asked in line: nothing. */
static inline void testcancel_inline(void)
{
	struct thread *th = &self_thread;

	if (unlikely(load_relaxed(&th->schedparam_pending) || load_relaxed(mailbox(th)) || th->held ||
		     tcb_cancel_noted(tcb_self())))
		testcancel();
}

/*
 * A turn of a wait for other threads (base/moment.h).  One of them may have no P but the caller's: they have their turn
 * first, if the caller can give way.
 */
static inline void thread_turn(struct moment *w)
{
	if (!runtime_busy())
		gosched();
	moment_wait(w);
}

/*
 * What it keeps out: its mask, or that of the call it is in.  Another's may be between two lives,
 * when its memory is wiped.
 */
static inline uint64_t thread_mask(const struct thread *th)
{
	struct g *gp = load_relaxed(&th->g);

	if (unlikely(!gp))
		return ~UINT64_C(0);
	return load_seqcst(&th->masked) ? load_relaxed(&th->waitmask)
					: sigmask_of(gp);
}

/* th may still be given signals. */
static inline bool thread_takes_signals(struct thread *th)
{
	return th && !(load_seqcst(&th->state) & (TH_ENDING | TH_EXITED));
}

/* The G behind a pthread_t; NULL for a kernel thread that weft does not schedule. */
static inline struct g *g_of(pthread_t t)
{
	return thread_of(t)->g;
}

/* The thread has ended; until it is joined its id may be asked about. */
static inline bool has_ended(pthread_t t)
{
	return load_seqcst(&thread_of(t)->state) & TH_EXITED;
}

/* After a switch: what was directed at this G while it did not run. */
void thread_look_slow(void) hidden;
static inline void thread_look(void)
{
	if (unlikely(load_relaxed(&self_thread.look)))
		thread_look_slow();
}

/* Reads the variable WEFT, once. */
void options_read(char **envp) hidden;
/* First pthread_create: starts weft.  False: this program stays on plain pthreads. */
bool activate(void) hidden;
/* The kernel grants no thread any more: what is not started stays so, and what is asked of the kernel fails there. */
void activate_never(void) hidden;
/* The same before libc makes a thread of its own that will call the program (SIGEV_THREAD). */
void activate_for(const struct sigevent *ev) hidden;
bool activate_later(void) hidden; /* there was no memory: EAGAIN, and the next pthread_create tries again */
/* Ends the calling thread from its outermost frame: destructors, then goexit. */
void thread_end(struct thread *th) __attribute__((noreturn)) hidden;
/* The calling G was the last: the process ends, or another G waits for threads of libc's own. */
void thread_lastexit(void) hidden;
/* Did any thread by exit(2)?  Then the process ends so, too: with the status of the caller, the last. */
bool thread_ended_by_number(int *of_last) hidden;
/* strict.c: a thread in the kernel's strict mode has ended, is waited for (0 or ETIMEDOUT), is sent a signal */
bool strict_has_ended(struct thread *th) hidden;
struct until;
int strict_await(struct thread *th, const struct until *u) hidden;
int strict_kill(struct thread *th, int sig) hidden;
void strict_end(void) __attribute__((noreturn)) hidden;
void keys_run_destructors(void) hidden;
void thread_gmain(struct g *gp) hidden;
void thread_default_attr(void) hidden; /* re-reads libc's default attributes */
/*
 * Runs the handlers of signals directed at the calling G that its mask lets in.  True when one ran
 * that was installed without SA_RESTART: a blocking call then ends with EINTR.
 */
bool signals_deliver(void) hidden;
bool action_may_wake(struct g *gp) hidden; /* runtime_hooks.handler_may_wake */
void sigkick_arrived(void) hidden; /* sigkick.c: runtime_hooks.interrupted */
/* What was sent to the caller before it changes its mask, or an action, is handled as these were. */
static inline void signals_first(void)
{
	if (on_g() && unlikely(load_relaxed(&g_shim(getg())->mailbox)))
		sigkick_arrived();
}
/* A kernel thread of libc's on the given stack, all signals blocked. 0 or -errno. */
int thread_native(void *(*fn)(void *), void *arg, void *stack, size_t size, uintptr_t *os) hidden;
void thread_native_join(uintptr_t os) hidden;
/* A signal of the set directed at the calling G is taken without a handler: its number, or 0. */
int signals_take(uint64_t set, siginfo_t *info) hidden;
uint64_t signals_pending(void) hidden; /* directed at the calling G and masked */
/* Directs a signal at a G.  0 or an errno value; info NULL: as pthread_kill sends it. */
int thread_kill(struct thread *th, int sig, const siginfo_t *info) hidden;
/* The same of one that was sent to the process; ESRCH: that thread has ended. */
int thread_kill_shared(struct thread *th, int sig, const siginfo_t *info) hidden;
void sig32_init(void) hidden;
void signal_init(void) hidden;
bool sigroute_start(void) hidden; /* false: no memory or no kernel thread */
/* describe.c: runtime_hooks.describe */
bool describe(unsigned reason, const void *addr, runtime_peek *peek, char *text, size_t n) hidden;
uint32_t describe_holder(unsigned reason, const void *addr, runtime_peek *peek) hidden; /* .holder */
/*
 * dumpsig.c: the handler; its thread, with the first thread of a process; a fork child has none
 * yet.
 */
void dumpsig_init(void) hidden;
void dumpsig_start(void) hidden;
void dumpsig_stop(void) hidden;
void dumpsig_fork_child(void) hidden;
void signal_fork_child(void) hidden;
void signals_end(void) hidden; /* the calling G ends: handles what it has, and gets no more */

#endif
