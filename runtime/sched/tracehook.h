/*
 * tracehook: the points of the scheduler that execution traces, profiles and USDT probes see, in line.
 *
 * Off, a point is one branch on a word that nobody writes, and a nop for its probe.  On, it is an event of
 * tracefile.h.  An event is written before what it tells of is published to other threads, or after what it
 * tells of was won: so the order of the times is the order of causes.  A G that parks was queued before: it may be
 * readied a moment before its own event.
 *
 * The probes are documented in weft(1).  Their arguments must cost nothing where no tracer is there: what is in a
 * register or a member.
 *
 * Must never: be called unpinned; take a lock (but for threads that are no M's).
 */
#ifndef WEFT_TRACEHOOK_H
#define WEFT_TRACEHOOK_H

#include "runtime/sched/tracefile.h"

#ifdef HAVE_SDT
#include <sys/sdt.h>
#define PROBE1(name, a) DTRACE_PROBE1(weft, name, a)
#define PROBE2(name, a, b) DTRACE_PROBE2(weft, name, a, b)
#define PROBE3(name, a, b, c) DTRACE_PROBE3(weft, name, a, b, c)
#else
#define PROBE1(name, a) ((void)0)
#define PROBE2(name, a, b) ((void)0)
#define PROBE3(name, a, b, c) ((void)0)
#endif

/* What is being written.  Set and cleared by sysmon, or before the first thread; a late reader does no harm. */
enum { TRACE_LOG = 1, TRACE_PROFILE = 2 };
extern _Atomic uint32_t trace_on hidden;

/* Of the calling M, sysmon or native thread.  stack: that of the program's call into weft, if one runs here. */
void trace_event(enum trace_kind kind, uint64_t g, uint64_t arg, const struct p *pp, unsigned reason, bool stack)
	__attribute__((noinline)) hidden;

/* For profiles (runtime/debug/proffile.c), after or before the event: waits begin and end. */
void trace_parks(struct g *gp, unsigned reason, const void *addr) __attribute__((noinline)) hidden;
void trace_readies(struct g *gp) __attribute__((noinline)) hidden;
void trace_runs(struct g *gp, const struct p *pp) __attribute__((noinline)) hidden;

static inline bool trace_is_on(void)
{
	return unlikely(load_relaxed(&trace_on));
}

#define TRACE(kind, ...) \
	do { \
		if (trace_is_on()) \
			trace_event(TRACE_##kind, __VA_ARGS__); \
	} while (0)

/* The probes' own assembly has this word. */
#pragma push_macro("hidden")
#undef hidden

static inline void trace_create(const struct g *gp)
{
	PROBE2(create, gp->shim.goid, gp->shim.entry);
	TRACE(CREATE, gp->shim.goid, gp->shim.entry, NULL, 0, true);
}

static inline void trace_begin(const struct g *gp)
{
	PROBE2(start, gp->shim.goid, gp->shim.entry);
}

static inline void trace_run(struct g *gp, const struct p *pp)
{
	PROBE2(run, gp->shim.goid, pp->id);
	if (trace_is_on())
		trace_runs(gp, pp);
}

static inline void trace_park(struct g *gp, unsigned reason, const void *addr)
{
	PROBE3(park, gp->shim.goid, reason, addr);
	if (trace_is_on())
		trace_parks(gp, reason, addr);
}

static inline void trace_ready(struct g *gp)
{
	PROBE2(ready, gp->shim.goid, weft_tls.g);
	if (trace_is_on())
		trace_readies(gp);
}

static inline void trace_exit(const struct g *gp)
{
	PROBE1(exit, gp->shim.goid);
	TRACE(EXIT, gp->shim.goid, 0, NULL, 0, false);
}

static inline void trace_preempt(const struct g *gp, const struct p *pp)
{
	PROBE2(preempt, gp->shim.goid, pp->id);
	TRACE(PREEMPT, gp->shim.goid, 0, pp, 0, false);
}

static inline void trace_steal(const struct g *gp, const struct p *from, const struct p *to)
{
	PROBE3(steal, gp->shim.goid, from->id, to->id);
	TRACE(STEAL, gp->shim.goid, (uint64_t)from->id, to, 0, false);
}

static inline void trace_handoff(const struct p *pp, const struct m *from)
{
	PROBE2(handoff, pp->id, from);
	TRACE(HANDOFF, 0, (uint64_t)from->id, pp, 0, false);
}

static inline void trace_unseen(const struct g *gp, const struct p *pp, const struct m *mp)
{
	PROBE2(block_unseen, gp->shim.goid, pp->id);
	TRACE(UNSEEN, gp->shim.goid, (uint64_t)mp->id, pp, 0, false);
}

#pragma pop_macro("hidden")

#endif
