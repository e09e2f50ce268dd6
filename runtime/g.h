/*
 * g: threads: how they are made, named, ended, and found.
 *
 * Must never: say where or when a G runs (running.h).
 *
 * Functions that are apart, and why: g_shape(), for default attributes are shaped once and not with each thread;
 * g_nextid(), for a process in our memory has an id and no G;
 * g_setgs(), for the base is the M's, too, and must follow the G;
 */
#ifndef WEFT_G_H
#define WEFT_G_H

#include "runtime/runtime.h"

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
 * A G in state dead with a stack, perhaps recycled: then g_tls() is the block of its former life, else NULL.
 * NULL: *err is -EINVAL when no such stack can be, else -ENOMEM: no memory, or as many Gs as there may
 * be.
 */
struct g *g_new(const struct gattr *a, int *err);

/* Where its stack is, and the area of tlsarea bytes for its thread block, page-zeroed when fresh. */
struct gmemory {
	void *stack, *area;
	size_t size, guard;       /* of the stack, from its lowest byte on */
};

/*
 * newproc: runnable from here on.  The caller has noted the thread block (g_shim(gp)->fs) and the id
 * (tid); weft_tls of that block is filled in.  locked: to an M that the caller's M makes, so that the
 * kernel hands on what that one has.  0, or -EAGAIN: no kernel thread to be had.
 */
int g_start(struct g *gp, bool locked);

/*
 * Ends the calling G: ended(arg) is its last act, which may not park.  ended says true: the runtime
 * frees the G once its stack is left.  Else the thread that learnt from ended() that the G is over
 * frees it.
 */
void goexit(bool (*ended)(void *arg), void *arg) __attribute__((noreturn));

/*
 * Gives a G that ended (or was never started) back to the pools; waits, a moment at most, until no
 * thread is on its stack.
 */
void g_free(struct g *gp);
uint32_t g_nextid(void); /* next unique 0x10000000..0x3fffffff id */

/* The base of GS of the calling G: follows it from M to M.  0 or -errno. */
long g_setgs(uintptr_t base);

/*
 * First live G at or after *i in the table of all Gs, NULL at the end; *i moves past it.  A
 * snapshot: it may end meanwhile, its memory stays.
 */
struct g *g_next(uint32_t *i);

/* What a G does. */
enum gstatus { Gidle = 0, Grunnable = 1, Grunning = 2, Gsyscall = 3, Gwaiting = 4, Gdead = 6 };

/* What the shim sees of a G: the first member of struct g, so that it is read in line. */
struct gshim {
	struct thread *thread;    /* of this life; the shim's */
	/*
	 * The shim's; seq_cst with the thread's state, look and masked: thread_signal() queues here, then
	 * reads those
	 */
	void *_Atomic mailbox;    /* signals queued on it; stays from one life to the next */
	/* Thread block, which a new life finds as its former one left it; written before g_start(). */
	void *fs;
	uint32_t tid;             /* what libc's objects store as owner; written before g_start() */
	/* enum gstatus; the runtime's: changed by the thread that owns the G in that state */
	_Atomic uint32_t status;
	uint64_t goid;            /* number of this life; the runtime's */
	uintptr_t entry;          /* function of the program at which it begins (c); 0: main, which has none */
	uint64_t sigmask;         /* the program's thread's: sigmask.h */
	/* union gname, written and read by any thread: half of one name and half of another is harmless */
	_Atomic uint64_t name[2];
	/* inheriting locks that it holds or is about to take (o; others read) */
	/* seq_cst with inherit_heir.listed: an ending thread writes this one, then reads that */
	_Atomic uint32_t holds;
	uint32_t sysdepth;        /* nesting of entersyscall() (o; the runtime writes) */
	/*
	 * Twice the lowest address of its stack; odd: the program was not told of it.  Then the G may begin on another
	 * of the same shape, and after its end another may begin on this one (stack_trade)
	 */
	_Atomic uintptr_t stackat;
	size_t stacksize, stackguard; /* as in struct gmemory (c); these four not of main */
	void *area;
	/* number of the P on which it began to run last, which may be another's by now (o; the runtime writes) */
	uint16_t lane;
	/* what it works on, as the program says (weft.h); the program's memory, read by dumps */
	const char *_Atomic label;
	/*
	 * The kernel thread to which it is locked has no_new_privs; (o) the shim writes.  seq_cst with sched.nprivasks
	 * (nonewprivs.c)
	 */
	_Atomic bool nonewprivs;
	_Atomic bool privlocked;  /* it is locked for that alone (o; the runtime takes it back as it lets it go) */
	uint8_t ownp;             /* why it has a P of its own, 0: it has none (o; the runtime writes) */
};

static inline struct gshim *g_shim(struct g *gp)
{
	return (struct gshim *)(void *)gp;
}

static inline const struct gshim *g_seen(const struct g *gp)
{
	return (const struct gshim *)(const void *)gp;
}

/* Another thread's may have moved before it begins, unless g_memory_told() was asked. */
static inline struct gmemory g_memory(const struct g *gp)
{
	const struct gshim *g = g_seen(gp);

	return (struct gmemory){ .stack = (void *)(load_relaxed(&g->stackat) >> 1), .area = g->area,
				 .size = g->stacksize, .guard = g->stackguard };
}

/* For the program: what it is told holds until the thread is joined. */
static inline struct gmemory g_memory_told(struct g *gp)
{
	fetch_and_acq_rel(&g_shim(gp)->stackat, ~(uintptr_t)1);
	return g_memory(gp);
}

static inline void *g_tls(const struct g *gp)
{
	return g_seen(gp)->fs;
}

static inline uint64_t g_id(const struct g *gp)
{
	return g_seen(gp)->goid;
}

static inline uint32_t g_tid(const struct g *gp)
{
	return g_seen(gp)->tid;
}

static inline uint64_t sigmask_of(const struct g *gp)
{
	return g_seen(gp)->sigmask;
}

static inline bool g_waits(const struct g *gp) /* parked; a snapshot */
{
	return load_relaxed(&g_seen(gp)->status) == Gwaiting;
}

/* A name as a G has it: in words, so that no part is read while it is written. */
union gname {
	uint64_t word[2];
	char text[16];
};

static inline void g_getname(const struct g *gp, char name[16])
{
	const struct gshim *g = g_seen(gp);
	union gname now = { { load_relaxed(&g->name[0]), load_relaxed(&g->name[1]) } };

	__builtin_memcpy(name, now.text, sizeof(now.text));
	name[15] = '\0';
}

static inline void g_copyname(struct g *to, const struct g *from)
{
	store_relaxed(&g_shim(to)->name[0], load_relaxed(&g_seen(from)->name[0]));
	store_relaxed(&g_shim(to)->name[1], load_relaxed(&g_seen(from)->name[1]));
}

extern struct g *g_main_ hidden; /* for good; a fork child has another */

static inline struct g *g_main(void)
{
	return g_main_;
}

extern _Atomic bool g_named hidden; /* some G but main was given a name: mnames.c */

static inline void g_setname(struct g *gp, const char *name)
{
	union gname new = { { 0 } };

	for (size_t i = 0; i < sizeof(new.text) - 1 && name[i]; i++)
		new.text[i] = name[i];
	store_relaxed(&g_shim(gp)->name[0], new.word[0]);
	store_relaxed(&g_shim(gp)->name[1], new.word[1]);
	if (gp != g_main_ && !load_relaxed(&g_named))
		store_relaxed(&g_named, true);
}

/* A kernel thread of weft's that runs Gs, as the shim sees it. */
struct mseen {
	int ostid;                /* its kernel id; 0: there is none, and all is 0 */
	void *block;              /* the thread block that libc registered with the kernel for it (main's own on M0) */
	void *g0block;            /* the one on which it runs no G; another on M0 alone */
	uintptr_t sigstack, sigstackend;
};

/*
 * The M that runs gp (user code or system call) right now; a snapshot.  NULL: the M that the caller is on, which it
 * stays on if it is pinned (pin_m()).
 */
struct mseen g_m(const struct g *gp);

/*
 * The kernel's part of a G's CPU time, counted from the first question.  used: what the kernel thread ostid, on
 * which the caller found the G, has used in the kernel in all, for the time since its last switch; the
 * caller's own is asked.
 */
struct gsystime {
	int ostid;
	uint64_t used;
	uint64_t ns;              /* the answer */
};

/* CPU time of a G in ns, counted from FROMNOW_CPUTIME or the first such question on; sys may be NULL. */
uint64_t g_cputime(struct g *gp, struct gsystime *sys);

#endif
