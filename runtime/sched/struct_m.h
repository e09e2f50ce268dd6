/*
 * struct_m: an M.  Part of gmp.h, which says what (o), (a), (L) and (c) mean.
 *
 * Must never: be included but by gmp.h.
 */
#ifndef WEFT_STRUCT_M_H
#define WEFT_STRUCT_M_H

/* The M's own timer (alarm.c). */
struct malarm {
	int32_t timer;            /* (o) the kernel's number for it and 1; 0: not made */
	_Atomic uint64_t when;    /* (o; sysmon reads) when it rings, 0: it is not set.  A hint for others */
	uint64_t set, setcpu;     /* (o) when it was set, and the M's CPU clock then */
	uint32_t setruns;         /* (o) runs of its P then */
	uint64_t began;           /* (o) when the slice of begantick began */
	uint64_t rangforothers;   /* (o) when it last rang while others waited */
	uint32_t begantick;       /* (o) schedtick of its P then */
	volatile bool setting;    /* (o) it is being set: what its handlers see is not what the kernel has */
	bool due;                 /* (o) a G parks that is due at some time, and what runs next looks when */
};

/* Where it writes the events of a trace (runtime/debug/trace.c). */
struct tracewriter {
	struct trace_chunk *chunk; /* NULL: none */
	uint64_t count;           /* events so far */
	uint32_t run;             /* trace of which chunk and count are */
};

/* What an M learns at the end of a call. */
enum told {
	TOLD_RETAKEN = 1, /* oldp was taken: the call blocked */
	TOLD_GIVEWAY = 2, /* its G, which is in calls, had its slice, or another was woken */
	TOLD_COMPUTED = 4, /* oldp was taken for that: the call went on and on */
};

struct m {
	uintptr_t sp;             /* where mstart goes on when this M leaves for good (c) */
	void *g0top;              /* g0's stack starts here on every mcall (c) */
	void *fs;                 /* thread block of g0 (c) */
	struct g *curg;           /* (o) */
	struct g *begins;         /* (o) between goexit() and goexit0(): the next G, which has not begun */
	bool begininherits;       /* (o) its share of the slice, as nextlocal() says */
	struct p *p;              /* (o) NULL: none */
	struct p *nextp;          /* (L sched) handed by startm before the wake-up */
	struct p *oldp;           /* (o) the P it left for a system call */
	_Atomic uint32_t told;    /* bits that sysmon sets and (o) clears: enum told.  Hints for entersyscall.c */
	_Atomic uint32_t giveway; /* with TOLD_GIVEWAY: schedtick of the P when that was asked (acquire after told) */
	_Atomic uint64_t giveused; /* the same: as preemptused of a P */
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
	bool nonewprivs;          /* (o) it has no_new_privs, as all Ms have from then on (nonewprivs.c) */
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
	struct malarm alarm;
	struct tracewriter trace; /* (o) */
	/* for proffile.c: its CPU clock when it was last read; ns that some stack is to be charged with */
	_Atomic uint64_t profcpu, profdue;
	uint64_t napns;           /* (o) current nap of an idle M */
	/* (o) a P with queued work that this M's last look found too young; NULL: it found none */
	struct p *young;
	bool stole;               /* (o) its last look at other Ps' queues found work */
	uint32_t left;            /* (o) Gs that are queued where it found that work and here */
	uint32_t youngruns;       /* (o) young->runs at that look */
	uint64_t idlesince;       /* (L sched) */
	uint64_t helpsince;       /* when it was woken to look for work; 0: it came, or has a P of its own.  As nextp */
	_Atomic int32_t locks;    /* runtime locks held, for dumps */

	/* sysmon's notes (blocked.c), while on its list of Ms without a P */
	struct m *revokedlink;
	struct g *_Atomic revokedg; /* the G that blocks; NULL: not on the list, which others may ask */
	uint64_t revokedcpu;      /* CPU used at the last look */
	uint64_t proddedwhen;     /* when it was last signalled to reacquire a P */
	uint32_t prods;           /* how often it was signalled; the M reads it */
	_Atomic bool prodsent;    /* the last signal has left; the M reads it */
	uint64_t revokedsince;    /* when the block began, or when the M was last seen to have run */
	/* for blockreport.c: where; BLOCKREPORT_NONE: it is over, or the option is off */
	_Atomic int revokedsite;
};

#endif
