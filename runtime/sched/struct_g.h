/*
 * struct_g: a G, its stack, and lists of Gs.  Part of gmp.h, which says what (o), (a), (L) and (c) mean.
 *
 * Must never: be included but by gmp.h.
 */
#ifndef WEFT_STRUCT_G_H
#define WEFT_STRUCT_G_H

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
	bool used;                /* it has pages: a G began on it since they were given back */
};

struct gfreelist {                /* through schedlink; its owner's, or under gfreelock */
	struct g *head;
	int32_t n;
};

enum { NCLASS = 16 };             /* shapes with lists of their own; the last: all others */

struct side;

struct g {
	struct gshim shim;        /* what the shim sees of it (g.h); stays first */
	uintptr_t sp;             /* saved context while not running (o); 0: it has not begun, g_begin() makes it */
	struct weft_tls *tls;     /* inside it */
	/* seq_cst with cpuseq in g_cputime(), which reads m between two reads of it */
	struct m *_Atomic m;      /* the M whose stack pointer is on its stack; NULL: none */
	struct g *schedlink;      /* in a gqueue or free list (its lock) */
	bool rests;               /* waits in the kernel while its P is idle: rest.c (o) */
	uint32_t restrow;         /* waits in a row at which there was nothing else to do (o) */
	uint32_t restneed;        /* so many before it rests (o); 0: REST_ROW */
	struct p *restp;          /* its P when it waited last, and restp->runs then (o) */
	uint32_t restruns;
	uintptr_t syscallsp;      /* stack pointer of the caller of entersyscall(); for dumps (o) */
	uint8_t waitreason;       /* (o) until it waits, then read by dumps */
	const void *waitaddr;
	uint64_t lookmark;        /* deadlock.c: the walk that came here last (sysmon's) */
	uint64_t circlefound, circletold; /* the same: waits of its that were found in a circle, and told */
	uint64_t waitsince;       /* set only while schedtrace or dumpsig is on, else 0 */
	/* for proffile.c: when its wait began, ns, 0: it is over; where (o) */
	_Atomic uint64_t profsince;
	uint32_t profstack;

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
	uint64_t fpmodes;         /* its creator's, where sp is 0 */
	uintptr_t gs;             /* base of GS, which is the program's alone (o) */
	uintptr_t intpc, intsp;   /* where a signal of ours interrupted it, while it is off its CPU; 0: nowhere (o) */
	/* seq_cst with m, cputime and cpustart between the two additions: g_cputime() */
	_Atomic uint32_t cpuseq;  /* odd: the next three, m and the M's cpustart change */
	bool cpuoff;              /* it is on m, and what that uses is not its own any more (cputime.c) */
	_Atomic bool cpusure;     /* it finds that CPU time counts when it leaves its M (cputime.c) */
	uint64_t cputime;         /* ns on Ms up to the last switch (cputime.c) */
	uint64_t systime;         /* ns of cputime that were the kernel's */
	bool gaveway;             /* it was made to give way since it last parked: it computes (o) */
	_Atomic uint64_t sliceused; /* of its slice, when it gave way to a woken G; ns */
	uint32_t allgidx;         /* (c) */
	/* class of its stack, whose free list it goes to (c while it has one) */
	uint8_t class;
	/* real-time, its own or inherited; 0: none.  Written under the lock of its attributes (schedparam.c) */
	/* seq_cst with parkaddr: g_set_priority() writes this one, then reads that; a G that parks the other way */
	_Atomic int priority;
	bool drop;                /* (o) freed as soon as its stack is left */
	/*
	 * so many of its next wake-ups wake an M: it computed on after others.  A hint, of its owner and of
	 * those that see it
	 */
	_Atomic uint8_t computeson;
	bool handed;              /* (o) it gave its P away for the call that it is in, because of handsover */
	uint8_t handsover;        /* (o) so many calls from handsite give the P away, if others wait: one blocked */
	uintptr_t callsite, handsite; /* (o) where its last call came from; where those came from */
	uint64_t handwaits;       /* (o) how often the kernel had made its M wait when that call began */
};

_Static_assert(__builtin_offsetof(struct g, shim) == 0, "g_shim() takes it for the G");

#endif
