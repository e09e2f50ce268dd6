/*
 * struct_p: a P, and its timers.  Part of gmp.h, which says what (o), (a), (L) and (c) mean.
 *
 * Must never: be included but by gmp.h.
 */
#ifndef WEFT_STRUCT_P_H
#define WEFT_STRUCT_P_H

/* Psignal is Prunning with the preemption signal on its way to the M (preempt.c). */
enum pstatus { Pidle = 0, Prunning = 1, Psyscall = 2, Pstopped = 3, Pdead = 4, Psignal = 5 };

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
	uint32_t slot;            /* (L timers) in the heap */
	struct timer *next;       /* (L timers) in timerlist */
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
	/* when the poller or timers first queued Gs here that have not all run; 0: all have (o) */
	uint64_t batchwhen;
	uint32_t batchruns;       /* runs at the time of batchwhen (o) */
	bool batchpolled;         /* the poller queued the first of them (o) */
	/* mean ns for which a G that they queued here runs (o; sysmon reads) */
	_Atomic uint64_t meanservice;
	_Atomic uint64_t drainedwhen; /* when all that the poller queued had run, last time (o; sysmon reads) */
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
	_Atomic uint64_t computedwhen; /* when an alarm last found that its G computes (o; sysmon reads) */
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
	/* insyscall.c: a G that a look found in a call while others waited; when that was; CPU ns of its M then */
	struct g *callg;
	uint64_t callwhen, callcpu;
	uint64_t callused;     /* insyscall.c: ns of its slice that callg had used */
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
	struct g *next;       /* runnext when a look first found it, while its P ran one G alone; NULL: none */
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
	/* schedtick and CPU ns of its M, or of all threads but sysmon, at the last question whether it computes */
	uint32_t clocktick;
	uint64_t clockcpu;
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
	struct timerheap timers;  /* (L timers) */
	struct timer *timerlist;  /* (L timers) timers for which the heap had no room */
	/* seq_cst with sched.polluntil in wakenetpoller(), sched.sysmonuntil in sysmon_wake_by() */
	_Atomic uint64_t timer0;  /* deadline of the first timer, 0: none; written under the lock */

	/* Thieves. */
	_Alignas(LINE) struct pmark mark;

	/*
	 * sysmon.  The request to give way is written while sysmon holds the P in Psignal; the M reads it after
	 * that.
	 */
	_Alignas(LINE) struct pmon mon;
	uint32_t preempttick;
	/* 0: the slice is over; else the request is for a woken G: ns of the slice used so far */
	uint64_t preemptused;
	bool preemptlooks;         /* it shall not, and its stack be charged (proffile.c); as preempttick */
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
_Static_assert(offsetof(struct p, runnext) + sizeof(void *) <= LINE,
	       "a switch writes one line of the P, and a place in the ring");

/* For a count with one writer at a time: a P's owner, or the holder of the lock. */
static inline void count_up(_Atomic uint32_t *n)
{
	store_relaxed(n, load_relaxed(n) + 1);
}

#endif
