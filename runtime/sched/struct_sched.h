/*
 * struct_sched: the scheduler's global state.  Part of gmp.h, which says what (o), (a), (L) and (c) mean.
 *
 * Must never: be included but by gmp.h.
 */
#ifndef WEFT_STRUCT_SCHED_H
#define WEFT_STRUCT_SCHED_H

/* Address space of which pieces of one size are cut (L stack). */
enum { RESERVATION_READY = 4 }; /* rows of pieces that are kept */

struct reservation {
	char *at;                 /* address space that is not cut yet */
	size_t each, guard;       /* of a piece; of its guard */
	uint32_t left;            /* pieces left in it */
	uint32_t next;            /* pieces of the next reservation */
	/*
	 * pieces that have their guard: by each thread that made guards, so that none waits for another's
	 * system call
	 */
	struct {
		char *at;
		uint32_t n;       /* side by side; 0: the place is free */
	} ready[RESERVATION_READY];
};

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
	/* Gs that look whether all have no_new_privs.  seq_cst with nprivbirths, status and nonewprivs: nonewprivs.c */
	_Atomic uint32_t nprivasks;
	/* Gs that were born meanwhile.  seq_cst with nprivasks */
	_Atomic uint32_t nprivbirths;
	_Atomic uint32_t nalarms; /* Ms that have a timer of the kernel's (alarm.c) */
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
	/* naps that an idle M may still take: NAP_TRIES after work was seen that a nap would have found.  A hint */
	_Atomic uint32_t naps;
	/* ns that the last Ms took which were woken to look for work: m_came().  Of writers at once one is lost */
	_Atomic uint64_t helplate;

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

#endif
