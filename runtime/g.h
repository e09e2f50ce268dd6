/*
 * g: threads: how they are made, named, ended, and found.
 *
 * Must never: say where or when a G runs (running.h).
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

/*
 * First live G at or after *i in the table of all Gs, NULL at the end; *i moves past it.  A
 * snapshot: it may end meanwhile, its memory stays.
 */
struct g *g_next(uint32_t *i);

/* The shim's part of a G: the first member of struct g, so that the shim reads it in line. */
struct gshim {
	struct thread *thread;    /* of this life */
	/*
	 * seq_cst with the thread's state, look and masked: thread_signal() queues here, then reads
	 * those
	 */
	void *_Atomic mailbox;    /* signals queued on it; stays from one life to the next */
	/* inheriting locks that it holds or is about to take (o; others read) */
	/* seq_cst with inherit_heir.listed: an ending thread writes this one, then reads that */
	_Atomic uint32_t holds;
	uint8_t ownp;             /* why it has a P of its own, 0: it has none (o; the runtime writes) */
};
static inline struct gshim *g_shim(struct g *gp)
{
	return (struct gshim *)(void *)gp;
}
struct g *g_main(void);

/* Kernel id of the M that runs gp (user code or system call) right now, or 0; a snapshot. */
int g_ostid(const struct g *gp);

uint64_t g_cputime(struct g *gp);

uint64_t g_systime(struct g *gp, int ostid, uint64_t used);
bool g_waits(const struct g *gp); /* parked; a snapshot */

#endif
