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
#include "runtime/base/moment.h"
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
#include "runtime/sched/timerheap.h"

#define throw(...) weft_throw(__VA_ARGS__)
#define nelem(a) (sizeof(a) / sizeof((a)[0]))

enum {
	MAXPROCS = 1024,
	GCHUNK = 1024,       /* Gs per chunk of the table of all Gs */
};

#include "runtime/sched/struct_g.h"
#include "runtime/sched/struct_m.h"
#include "runtime/sched/struct_p.h"
#include "runtime/sched/struct_sched.h"

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

/* gp was made (g_at() says NULL of one that was not), its chunk was not given back, and it is not dead. */
static inline bool galive(const struct g *gp)
{
	uint32_t s = gp ? gstatus(gp) : Gidle;

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
}

#include "runtime/sched/schedparts.h"
#include "runtime/sched/parts.h"

/*
 * The P of the calling M leaves Prunning for another status: after this no signal is on its way for
 * it.
 */
static inline void p_leave(struct p *pp, uint32_t to)
{
	struct m *mp = getm();
	uint32_t s = Prunning;

	/* It would end the system call that the M is about to make. */
	if (unlikely(load_relaxed(&mp->alarm.when)))
		alarm_off(mp);
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
