/*
 * gmp: G, M, P and the scheduler's global state.  Every field says which thread may touch it.
 *
 *   (o) owner only: the M that owns the P, or the G itself / the M that runs it
 *   (a) atomic, anybody
 *   (L) under the lock named
 *   (c) constant after creation
 *
 * Private to runtime/: the shim sees runtime.h only.
 */
#ifndef WEFT_GMP_H
#define WEFT_GMP_H

#include "runtime/arch/arch.h"
#include "runtime/arch/sigframe.h"
#include "runtime/base/lock.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/os/os.h"
#include "runtime/g.h"
#include "runtime/base/list.h"
#include "runtime/netpoll.h"
#include "runtime/park.h"
#include "runtime/preempt.h"
#include "runtime/process.h"
#include "runtime/running.h"
#include "runtime/sigmask.h"
#include "runtime/sched/policy.h"

#define throw(...) weft_throw(__VA_ARGS__)
#define nelem(a) (sizeof(a) / sizeof((a)[0]))

/* Psignal is Prunning with the preemption signal on its way to the M (preempt.c). */
enum pstatus { Pidle = 0, Prunning = 1, Psyscall = 2, Pstopped = 3, Pdead = 4, Psignal = 5 };

enum {
	MAXPROCS = 1024,
	GCHUNK = 1024,       /* Gs per chunk of the table of all Gs */
};

struct timer {
	uint64_t when;            /* (L timers) CLOCK_MONOTONIC ns */
	uint64_t wall;            /* (c) the same moment on clock, which may be set; 0: on no other */
	int clock;                /* (c) */
	/*
	 * Runs under the timers lock of its P; a G it returns is readied once the timer is
	 * detached.
	 */
	struct g *(*fn)(void *arg);
	void *arg;
	struct p *_Atomic pp;     /* the P whose heap holds it; NULL: none */
	uint32_t idx;             /* (L timers) place in the heap */
	struct timer *next;       /* (L timers) in timerlist */
};

struct gqueue {                   /* singly linked through schedlink; guarded by its owner's lock */
	struct g *head, *tail;
	int32_t size;
};

struct stack {
	char *slot;               /* memory of ours: guard and stack; NULL on the program's own stack */
	size_t size;              /* of the slot */
	size_t guard;             /* at its low end */
	char *base;               /* lowest address of the stack, guard included */
	char *top;                /* first byte above the usable stack */
	bool used;                /* since its pages were given back */
};

/* Address space of which pieces of one size are cut (L stack). */
struct reservation {
	char *at;                 /* address space that is not cut yet */
	size_t each, guard;       /* of a piece; of its guard */
	uint32_t left;            /* pieces left in it */
	uint32_t guarded;         /* so many of them, the first, have their guard */
	uint32_t next;            /* pieces of the next reservation */
};

struct gfreelist {                /* through schedlink; its owner's, or under gfreelock */
	struct g *head;
	int32_t n;
};

enum { NCLASS = 16 };             /* shapes with lists of their own; the last: all others */

struct gclass {
	size_t size, guard;       /* of the slot (c once counted in ngclass) */
	struct gfreelist free;    /* (L gfree) */
	struct g *tail;           /* (L gfree) its last; means nothing while it is empty */
	int32_t low;              /* (L gfree) shortest length of free since scavenge.c looked */
	/* (L gfree) Gs that no thread needed between two looks: their memory is to be given back */
	int32_t cold;
	bool scavenged;           /* (L gfree) all Gs in free have given back what they can */
	struct reservation slots; /* (L stack) */
};

struct side;

struct g {
	struct gshim shim;        /* what the shim sees of it (g.h); stays first */
	uintptr_t sp;             /* saved context while not running (o) */
	struct weft_tls *tls;     /* inside it */
	/* seq_cst with cpuseq in g_cputime(), which reads m between two reads of it */
	struct m *_Atomic m;      /* the M whose stack pointer is on its stack; NULL: none */
	struct g *schedlink;      /* in a gqueue or free list (its lock) */
	uint32_t sysdepth;        /* nesting of entersyscall (o) */
	bool rests;               /* waits in the kernel while its P is idle: rest.c (o) */
	uint32_t restrow;         /* waits in a row at which there was nothing else to do (o) */
	uint32_t restneed;        /* so many before it rests (o); 0: REST_ROW */
	struct p *restp;          /* its P when it waited last, and restp->runs then (o) */
	uint32_t restruns;
	uintptr_t syscallsp;      /* stack pointer of the caller of entersyscall(); for dumps (o) */
	uint8_t waitreason;       /* (o) until it waits, then read by dumps */
	const void *waitaddr;
	uint64_t waitsince;       /* set only while schedtrace or dumpsig is on, else 0 */

	struct m *lockedm;        /* locked to this M (o, or when parked: L sched) */
	uint32_t lockdepth;       /* (o) */
	bool lockedforgood;       /* locked by lockall.c, for good (o) */
	struct m *home;           /* (o) where it made children; runs no other G (home.c) */

	/* seq_cst with interrupted: g_interrupt() writes that one, then reads this one */
	const void *_Atomic parkaddr; /* what it waits for in the lot; NULL: nothing (L lot's bucket of it) */
	struct waiter *parked;    /* (L same) the wait an interrupt may end */
	/* an interrupt came and the G was not waiting; set by any thread, cleared by (o) */
	/* seq_cst with parkaddr: a G that parks writes that one, then reads this one */
	_Atomic bool interrupted;

	struct stack stack;       /* (c) while alive */
	char *area;               /* where its thread block is (c once set) */
	struct areas *areas;      /* the mapping that area is cut from (c once set) */
	uintptr_t gs;             /* base of GS, which is the program's alone (o) */
	uintptr_t intpc, intsp;   /* where a signal of ours interrupted it, while it is off its CPU; 0: nowhere (o) */
	/* seq_cst with m, cputime and cpustart between the two additions: g_cputime() */
	_Atomic uint32_t cpuseq;  /* odd: the next, m and the M's cpustart change */
	uint64_t cputime;         /* ns on Ms up to the last switch (cputime.c) */
	uint64_t systime;         /* ns of cputime that were the kernel's */
	_Atomic uint64_t sliceused; /* of its slice, when it gave way to a woken G; ns */
	uint32_t allgidx;         /* (c) */
	/* class of its stack, whose free list it goes to (c while it has one) */
	uint8_t class;
	/* real-time, its own or inherited; 0: none.  Written under the lock of its attributes (schedparam.c) */
	/* seq_cst with parkaddr: g_set_priority() writes this one, then reads that; a G that parks the other way */
	_Atomic int priority;
	bool drop;                /* (o) freed as soon as its stack is left */
	/* so many of its next wake-ups wake an M: it computed on after others.  A hint, of its owner and of those that see it */
	_Atomic uint8_t computeson;
	bool handed;              /* (o) it gave its P away for the call that it is in, because of handsover */
	uint8_t handsover;        /* (o) so many calls from handsite give the P away, if others wait: one blocked */
	uintptr_t callsite, handsite; /* (o) where its last call came from; where those came from */
	uint64_t handwaits;       /* (o) how often the kernel had made its M wait when that call began */
};

_Static_assert(__builtin_offsetof(struct g, shim) == 0, "g_shim() takes it for the G");

struct m {
	uintptr_t sp;             /* where mstart goes on when this M leaves for good (c) */
	void *g0top;              /* g0's stack starts here on every mcall (c) */
	void *fs;                 /* thread block of g0 (c) */
	struct g *curg;           /* (o) */
	struct p *p;              /* (o) NULL: none */
	struct p *nextp;          /* (L sched) handed by startm before the wake-up */
	struct p *oldp;           /* (o) the P it left for a system call */
	_Atomic bool retaken;     /* sysmon took oldp, and the M has not noticed yet: a hint for entersyscall.c */
	struct p *_Atomic sigp;   /* the P whose preemption signal is on its way here (preempt.c) */
	bool spinning;            /* (o) looks for work; counted in nmspinning */
	bool dying;               /* (o) leaves for good */
	/*
	 * seq_cst with what its waker wrote before mwake(): the M clears this one, then reads that
	 */
	_Atomic uint32_t park;    /* futex: 0 asleep or about to be, 1 woken */
	struct m *schedlink;      /* (L sched) dead list */
	struct listlink idle;     /* (L sched) in sched.midle; back is NULL: it is not there */
	struct listlink all;      /* (L sched) among all Ms: sched.allm */
	struct g *lockedg;        /* the only G it may run (o); another M may run it too, if this is its home */
	int32_t id;               /* (c) */
	int32_t ostid;            /* kernel id */
	char shown[16];           /* as it is called since mnames.c looked (L sched) */
	uintptr_t os;             /* handle for joinosproc */
	char *stack;              /* memory of both its stacks (NULL: M0) */
	size_t stacksize;
	uint64_t rng;             /* (o) */
	/* seq_cst with sched.allblocked in m_block_idle() */
	uint64_t sigmask;         /* what the kernel has for this thread (o) */
	uintptr_t gs;             /* the same, of GS (o) */
	char *sigstack;           /* the alternate stack that the kernel has for this thread (c) */
	/* (o) a side stack that is free once this M has left the kernel */
	struct side *spare;
	uint64_t cpustart;        /* its CPU clock when curg came (cputime.c) */
	uint64_t sysstart;        /* the kernel's part of cpustart; SYS_UNKNOWN */
	uint64_t napns;           /* (o) current nap of an idle M */
	/* (o) a P with queued work that this M's last look found too young; NULL: it found none */
	struct p *young;
	bool stole;               /* (o) its last look at other Ps' queues found work */
	uint32_t left;            /* (o) Gs that are queued where it found that work and here */
	uint32_t youngruns;       /* (o) young->runs at that look */
	uint64_t idlesince;       /* (L sched) */
	_Atomic int32_t locks;    /* runtime locks held, for dumps */

	/* sysmon's notes (blocked.c), while on its list of Ms without a P */
	struct m *revokedlink;
	struct g *_Atomic revokedg; /* the G that blocks; NULL: not on the list, which others may ask */
	uint64_t revokedcpu;      /* CPU used at the last look */
	uint64_t proddedwhen;     /* when it was last signalled to reacquire a P */
	uint32_t prods;           /* how often it was signalled; the M reads it */
	_Atomic bool prodsent;    /* the last signal has left; the M reads it */
	uint64_t revokedsince;    /* for blockreport.c: when the block began */
	/* for blockreport.c: where; BLOCKREPORT_NONE: it is over, or the option is off */
	_Atomic int revokedsite;
};

struct idcache {
	uint64_t next, end;
};

/* Words of one writer share no cache line with another writer's: struct p and struct sched are cut so. */
enum { LINE = 64 };

/*
 * What decides which G a P runs next (policy.h): written by the owner of the P, read by sysmon where it is
 * atomic.
 */
struct phint {
	/* sched.globrunqgets as this P last noted it (globrunq_first()) (o) */
	uint32_t globrunqseen;
	/* since when globrunqseen has that value; 0: nothing waited there (o) */
	uint64_t globrunqsince;
	/* when the poller first queued Gs here that have not all run; 0: all have (o) */
	uint64_t batchwhen;
	uint32_t batchruns;       /* runs at the time of batchwhen (o) */
	/* mean ns for which a G that the poller queued here runs (o; sysmon reads) */
	_Atomic uint64_t meanservice;
	_Atomic uint64_t drainedwhen; /* when all of them had run, last time (o; sysmon reads) */
	/* when many were readied here at once, last time, and runs then (wakep_for_woken()) (o) */
	uint64_t manywhen;
	uint32_t manyruns;
	uint32_t polltick;            /* schedtick of the last look at the descriptors (o) */
	uint64_t wokewhen;        /* when a G of this P last woke an M, or sysmon, because it computes on (o) */
	uint32_t wakeupqtick;     /* schedtick at which a woken G was taken last (o) */
	uint64_t wakeupqwhen;     /* when the row of woken Gs began that ended with that one (o) */
	/*
	 * schedtick of a slice that began by a preemption, and when it began (o; sysmon reads).
	 */
	_Atomic uint32_t switchtick;
	_Atomic uint64_t switchwhen;
};

/* What a thief saw at its last look: work that is still here at the next look has aged (stealage).  Hints, (a). */
struct pmark {
	_Atomic uint64_t time;
	_Atomic uint32_t tail;
	_Atomic uint32_t runs;
	struct g *_Atomic next;
};

/* sysmon's notes on a P (sysmon only, but for what is atomic). */
struct pmon {
	uint32_t schedtick, syscalltick;
	uint64_t schedwhen, syscallwhen;
	uint64_t syscallcpu;   /* insyscall.c: CPU ns that the call's M had used at a look */
	uint64_t syscallstill; /* insyscall.c: since when it has used no more */
	uint32_t syscallmisses; /* insyscall.c: times in a row that the call proved not to be blocked */
	bool syscallwatched;   /* insyscall.c: the three above are of this call */
	bool syscallclock;     /* insyscall.c: syscallcpu could be read */
	uint64_t stallsince; /* since when looks have found queued work and no progress */
	uint32_t runs;     /* runs at the last one */
	/* a look found a new schedtick, and wake_for_queued() has not seen that yet */
	bool newtick;
	/* a look found a new schedtick that no preemption made: this P schedules by itself */
	bool selfsched;
	uint64_t usedns;   /* what its G had used of its slice when it began to run */
	struct m *blocked_m;      /* blocked.c: the M that it watches here */
	uint32_t blocked_tick;    /* blocked.c: schedtick since which it watches */
	uint64_t blocked_cpu;     /* blocked.c: CPU ns that blocked_m had used at the last look */
	/* blocked.c: since when blocked_m has used no CPU; 0: it uses some */
	uint64_t blocked_stillsince;
	/* blocked.c: times in a row that blocked_m proved not to be blocked */
	uint32_t blocked_misses;
	struct g *next;       /* runnext when a look first found it, while its P ran one G alone; NULL: there was none */
	uint32_t nextruns;    /* runs at that look */
	uint64_t nextwhen;    /* when that was */
	uint64_t nextasked;   /* when the running G was last asked to give way to the one in runnext */
	/* ns for which it may go on before that; 0: a wakeslice.  Its Gs read it when they wake others */
	_Atomic uint64_t nextslice;
	uint64_t preemptwhen; /* when the running G was last asked to give way; 0: not yet */
	uint64_t cpuboundwhen; /* when its G was last seen to compute for long; 0: never */
	uint64_t cpuboundns; /* ns after cpuboundwhen for which the P counts as computing */
	uint32_t watchtick; /* schedtick since which the running G is watched for that */
	uint32_t watchmisses; /* times in a row that it had given way when sysmon looked again */
	uint64_t watchcpu; /* CPU ns that its M had used at that tick */
	/* its M when sysmon went to sleep, if its G computed; NULL: it did not */
	struct m *sleepm;
	uint64_t sleepcpu; /* CPU ns that sleepm had used then */
	/* when a look last found that many Gs had run since the look before; 0: never */
	uint64_t ioboundwhen;
	/*
	 * seq_cst with timer0: timer_add() writes that one, then reads this one; sysmon the other
	 * way
	 */
	_Atomic bool cpubound; /* its G computed not long ago: sysmon runs its timers */
};

struct p {
	/* The owner at each switch and each call; thieves and sysmon read, and take by compare-and-swap. */
	_Alignas(LINE) int32_t id;
	bool own;                 /* (c) of one locked G, on no list: realtime.c */
	/* seq_cst with sched.sysmonwait in entersyscall(), and with sigp in preemptone() */
	_Atomic uint32_t status;  /* enum pstatus */
	struct m *m;              /* back link (NULL when idle) */
	_Atomic uint32_t schedtick;   /* every schedule (o) */
	_Atomic uint32_t runs;        /* every G that began to run, also what inherits a slice (o) */
	_Atomic uint32_t syscalltick; /* every system call (o; or sysmon, when it takes the P) */
	struct m *_Atomic sysm;   /* the M whose system call holds it, while Psyscall (scheddetail) */
	/* Ring: owner and thieves move head by compare-and-swap, the owner alone writes tail. */
	/*
	 * seq_cst with sched.nmspinning: wakep() after runqput(), anywork() after a spinner's
	 * decrement
	 */
	_Atomic uint32_t runqhead;
	/* seq_cst with sched.nmspinning, as runqhead */
	_Atomic uint32_t runqtail;
	/* the owner sets it; any thread may compare-and-swap it to NULL */
	/* seq_cst with sched.nmspinning, as runqhead */
	struct g *_Atomic runnext;
	struct g *_Atomic runq[RUNQ_SIZE];

	/* The owner alone. */
	_Alignas(LINE) struct phint hint;
	struct gfreelist gfree[NCLASS]; /* (o) */
	/* scavenge.c asks the owner to give its free Gs to the global lists */
	_Atomic bool gfreeflush;
	struct idcache goids, tids; /* (o) */

	/* The holder of sched.lock. */
	_Alignas(LINE) struct p *link;           /* (L sched) idle list, or pstart */
	bool startspinning;       /* (L sched) of the M it waits for in pstart */
	uint64_t startsince;      /* (L sched) since when it stands there; or sysmon's last look */

	/* The holder of timerslock: the owner, whoever adds a timer here, thieves, sysmon. */
	_Alignas(LINE) struct lock timerslock;   /* rank Timers */
	struct timer **timers;    /* (L timers) 4-ary heap */
	uint32_t ntimers, captimers;
	struct timer *timerlist;  /* (L timers) timers for which the heap had no room */
	/* seq_cst with sched.polluntil in wakenetpoller(), sched.sysmonuntil in sysmon_wake_by() */
	_Atomic uint64_t timer0;  /* deadline of the first timer, 0: none; written under the lock */

	/* Thieves. */
	_Alignas(LINE) struct pmark mark;

	/* sysmon.  The request to give way is written while sysmon holds the P in Psignal; the M reads it after that. */
	_Alignas(LINE) struct pmon mon;
	uint32_t preempttick;
	/* 0: the slice is over; else the request is for a woken G: ns of the slice used so far */
	uint64_t preemptused;
	_Atomic bool preemptforce; /* the G shall give way inside libc too */
	_Atomic bool preemptsent; /* the kernel has the signal */
};

#define ON_LINE(type, field) _Static_assert(offsetof(type, field) % LINE == 0, #field " begins a line")
ON_LINE(struct p, id);
ON_LINE(struct p, hint);
ON_LINE(struct p, link);
ON_LINE(struct p, timerslock);
ON_LINE(struct p, mark);
ON_LINE(struct p, mon);
_Static_assert(offsetof(struct p, runnext) + sizeof(void *) <= LINE, "a switch writes one line of the P, and a place in the ring");

/* For a count with one writer at a time: a P's owner, or the holder of the lock. */
static inline void count_up(_Atomic uint32_t *n)
{
	store_relaxed(n, load_relaxed(n) + 1);
}

struct area {
	char *at;
	struct areas *of;
};

struct gchunk {
	struct g *_Atomic gs;     /* GCHUNK of them; never moved or unmapped */
	struct g *bare;           /* (L allgs) Gs without a stack: any new thread may have them */
	uint32_t nbare;           /* (L allgs) how many Gs are in bare */
	uint32_t made;            /* (L allgs) how many of gs are Gs; the rest are zeroes */
	/* (L allgs) areas of Gs whose structs were given back and are zeroes */
	struct area *areas;
};

struct sched {
	/* Written once, or seldom: read at parks, at calls and by idle Ms. */
	_Alignas(LINE) int32_t maxm;             /* limit (c) */
	/*
	 * every M but M0 leaves instead of going idle: onlymain.c.  An M that goes idle reads it under lock,
	 * under which main then takes the idle ones; one that becomes the poller all the same is woken by
	 * the next try
	 */
	_Atomic bool single;
	unsigned ncpu;            /* (L) CPUs when last counted */
	_Atomic bool oversubscribed; /* more Ps than CPUs */
	/*
	 * there is a signal thread, for signals that come while all Gs are parked
	 * (parkinglot_wait.c).  A parking G that reads an old value asks for the thread once more
	 */
	_Atomic bool sigthread_runs;
	/*
	 * signals that an M without a G keeps out, for the signal thread to take.  An M that reads an old
	 * value lets one in, and its handler hands it on
	 */
	_Atomic uint64_t idlemask;
	/* signals that no G lets in: a poller that wakes must not let them in for a moment */
	/*
	 * seq_cst with m.sigmask: m_block_idle() writes that one, then reads this one;
	 * runtime_set_allblocked() the other way
	 */
	_Atomic uint64_t allblocked;
	uint64_t starttime;
	size_t defstack;          /* default stack size (c) */
	bool tight;               /* address space or data has a limit: what is weft's own is small (c) */
	_Atomic bool scarce;      /* memory was refused (scavenge.c) */
	_Atomic uint32_t ngclass; /* appended (L gfree) */
	/* so many were the parent's when it forked, and are gone but the main G; 0: taken over (scavenge.c) */
	_Atomic uint32_t inherited;

	/* The holder of lock. */
	_Alignas(LINE) struct lock lock;         /* rank Sched */
	struct gqueue runq;       /* (L) global queue */
	struct gqueue wakeupq;    /* (L) Gs woken while no P was at hand: taken before all others */
	listhead midle;             /* (L) LIFO: midle.c */
	struct m *_Atomic napper; /* (L) the one of midle that sleeps with a deadline; NULL: none */
	int32_t nmidle;           /* (L) */
	int32_t nresting;         /* (L) Gs that wait in the kernel while a P is idle for each (rest.c) */
	int32_t nm;               /* (L) Ms alive; sysmon is none */
	int32_t mnext;            /* (L) next id */
	struct m *mdead;          /* (L) Ms that left, to be joined by the spawner */
	struct m *mfree;          /* (L) structs to reuse */
	listhead allm;            /* (L) */
	struct p *pidle;          /* (L) LIFO */
	struct p *pstart;         /* (L) Ps that wait for an M, the last first; any M that comes takes one */
	/* seq_cst with lastpoll: poll_idle() writes that one, then reads this one */
	_Atomic int32_t npstart;  /* how many (written under the lock) */
	int32_t nmstarting;       /* (L) Ms made that have not arrived yet */

	/* The holder of lock writes; every switch reads. */
	/* seq_cst with nmspinning in wakep(): work is counted here, then a spinner is looked for */
	_Alignas(LINE) _Atomic int32_t runqsize; /* mirror of the size of both, read without the lock */
	/* seq_cst with sysmonuntil in sysmon_wake_by() */
	_Atomic int32_t wakeupqsize;
	_Atomic uint32_t globrunqgets; /* how often a P took from runq (written under the lock) */

	/* Ms that go idle, spin or wake one another. */
	/*
	 * seq_cst with sysmonwait: pidleget() writes this one, then reads that; sleep_deep() the
	 * other way.  And with needspinning: findrunnable() writes this one, then reads that; all_busy() the other way
	 */
	_Alignas(LINE) _Atomic int32_t npidle;
	/*
	 * seq_cst with runqsize and the rings: findrunnable() counts itself out, then reads those
	 */
	_Atomic int32_t nmspinning;
	/* a waker found no idle P: the next M to go idle looks again (Go's needspinning) */
	/* seq_cst with npidle: see there */
	_Atomic uint32_t needspinning;

	/* The poller, and what would wake it. */
	/*
	 * seq_cst with timer0: the poller writes this and polluntil, then reads the heaps; timers
	 * the other way
	 */
	_Alignas(LINE) _Atomic uint64_t lastpoll;   /* 0: an M sleeps as the poller */
	/* seq_cst with timer0 in wakenetpoller() */
	_Atomic uint64_t polluntil;  /* until when the poller sleeps (0: for ever) */
	_Atomic bool pollmany;       /* the last poll that found something found several; a hint */
	/*
	 * seq_cst with timer0: the poller clears this one, then reads the heaps; and with
	 * futex_sleeper
	 */
	_Atomic uint32_t netpollwakesig; /* futex of the poller */

	/* sysmon, when it sleeps, and what would wake it. */
	/* seq_cst with npidle in pidleget(), and with a P's status in entersyscall() */
	_Alignas(LINE) _Atomic uint32_t sysmonwait; /* sysmon sleeps deep; futex */
	/* sysmon sleeps until then and wants to be woken for what comes sooner; 0: it does not */
	/*
	 * seq_cst with wakeupqsize and timer0: sysmon writes this one, then reads those in
	 * missed_wakeup()
	 */
	_Atomic uint64_t sysmonuntil;
	/*
	 * seq_cst with sysmonpolls: sysmon_wake_by() writes this one, then reads that;
	 * sleep_polling() the other way
	 */
	_Atomic uint32_t sysmonwake; /* futex of that sleep; 1: sysmon was woken */
	/* seq_cst with sysmonwake in sysmon_wake_by() */
	_Atomic bool sysmonpolls;  /* that sleep is in epoll: sysmon is the poller */

	/* Threads that are made or end. */
	_Alignas(LINE) _Atomic uint64_t goidgen;
	/*
	 * seq_cst with tidsafe: tid_batch() takes of this one, then reads that; look_ahead() writes
	 * both
	 */
	_Atomic uint64_t tidgen;
	/* seq_cst with tidgen */
	_Atomic uint64_t tidsafe; /* up to here no thread that lives has the id (ids.c) */
	_Atomic int32_t nglive;   /* Gs not dead; the last one out ends the process */

	/* The holder of gfreelock. */
	_Alignas(LINE) struct lock gfreelock;    /* rank Gfree */
	struct gclass gclass[NCLASS];

	/* The holder of allglock. */
	_Alignas(LINE) struct lock allglock;     /* rank Allgs */
	struct gchunk gchunks[4096]; /* all Gs ever made */
	_Atomic uint32_t nspare;  /* of these, bare ones and those whose chunk was given back (L allgs) */
	uint32_t sparehint;       /* (L allgs) no chunk before this has any */
	_Atomic uint32_t nallgs;
};

ON_LINE(struct sched, maxm);
ON_LINE(struct sched, lock);
ON_LINE(struct sched, runqsize);
ON_LINE(struct sched, npidle);
ON_LINE(struct sched, lastpoll);
ON_LINE(struct sched, sysmonwait);
ON_LINE(struct sched, goidgen);
ON_LINE(struct sched, gfreelock);
ON_LINE(struct sched, allglock);

extern struct sched sched hidden;
extern struct p *allp[MAXPROCS] hidden;
extern _Atomic int32_t gomaxprocs hidden;
extern struct m m0 hidden;
extern struct runtime_hooks hooks hidden;

static inline struct m *getm(void)
{
	struct g *gp = weft_tls.g;

	/*
	 * A G's M changes at every switch; only code that cannot be switched may keep the result.
	 */
	return gp ? load_relaxed(&gp->m) : weft_tls.m;
}

static inline uint32_t gstatus(const struct g *gp)
{
	return load_relaxed(&gp->shim.status);
}

/* gp was made, its chunk was not given back, and it is not dead. */
static inline bool galive(const struct g *gp)
{
	uint32_t s = gstatus(gp);

	return s != Gdead && s != Gidle;
}

static inline uint64_t nextrand(uint64_t *s)
{
	uint64_t x = *s;

	/* xorshift64*: enough for picking victims. */
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*s = x;
	return x * 0x2545f4914f6cdd1dULL;
}

static inline void gfree_push(struct gfreelist *l, struct g *gp)
{
	gp->schedlink = l->head;
	l->head = gp;
	l->n++;
}

static inline struct g *gfree_pop(struct gfreelist *l)
{
	struct g *gp = l->head;

	if (gp) {
		l->head = gp->schedlink;
		l->n--;
	}
	return gp;
}

/* The part of s that a life may use: of its slot, or the program's own stack. */
static inline void stack_fit(struct stack *s, const struct gattr *a)
{
	s->base = a->stack ? a->stack : s->slot;
	s->top = s->base + (a->stack ? a->stacksize : a->shape.top);
	s->used = true;
}

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

/* ---- pstart.c ---- */
void startm(struct p *pp, bool spinning) hidden;
void startm_locked(struct p *pp, bool spinning) hidden; /* pp is not NULL; leaves sched.lock */
int m_start_wanted(void) hidden;         /* spawner only */
struct p *pstartget(struct m *mp) hidden; /* sched.lock held; mp may spin then */
void pstart_look(uint64_t now) hidden;   /* sysmon only */

/* ---- aside.c ---- */
bool m_wants_spare(void) hidden;
bool m_make_idle(void) hidden; /* where a kernel thread can be made */
void m_make_spare(void) hidden; /* spawner only */
void aside_fork_child(void) hidden;
void lockosthread_child(bool waits) hidden; /* home.c: own, but a fork in the middle does not wait long */

/* ---- home.c ---- */
void home_go(struct g *gp) hidden;    /* the caller, which is locked to an M that waits for it */
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
	return unlikely(load_relaxed(&realtime)) && load_relaxed(&realtime_order) && load_relaxed(&gp->shim.holds) > most;
}

/* ---- wakers.c ---- */
/* The G that runs on pp has kept others waiting, ns, that it woke, or that were queued behind it. */
void waker_seen(struct p *pp, uint64_t waited) hidden;
void waker_ready(struct g *gp, struct p *pp) hidden; /* gp, which computes on, has queued another on its P */

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
void p_batch_begins(struct p *pp) hidden; /* Gs that the poller readies are queued here */

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

/* ---- filtered.c ---- */
bool runtime_alone(void) hidden; /* no other G lives */

/* ---- helper.c ---- */
/* The size of a stack for newosproc on which net bytes are left for weft's own functions. */
size_t runtime_ostack(size_t net) hidden;

/* ---- fromnow.c ---- */
/* What is to be done at each switch; none, in most processes. */
enum { DUTIES = 1u << FROMNOW_CPUTIME | 1u << FROMNOW_LOCKED | 1u << FROMNOW_GS };
void fromnow_set(enum fromnow what) hidden;
void duties_leave(struct g *gp, struct m *mp) hidden;

static inline bool duties(void)
{
	return load_relaxed(&fromnow) & DUTIES;
}

/* ---- cputime.c ---- */
void cputime_start(struct g *gp) hidden; /* main, on M0 */
void cputime_count(void) hidden;
void cputime_enter(struct g *gp, struct m *mp) hidden;
void cputime_leave(struct g *gp, struct m *mp) hidden;

#include "runtime/sched/parts.h"

/*
 * The P of the calling M leaves Prunning for another status: after this no signal is on its way for
 * it.
 */
static inline void p_leave(struct p *pp, uint32_t to)
{
	uint32_t s = Prunning;

	/* Sequentially consistent: pairs with sysmon's read of sysmonwait before it sleeps deep. */
	if (unlikely(!cas_seqcst(&pp->status, &s, to)))
		p_leave_slow(pp, to);
}

static inline struct p *getp(void)
{
	struct m *mp = getm();

	return mp ? mp->p : NULL;
}

#endif
