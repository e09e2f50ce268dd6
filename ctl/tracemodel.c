/*
 * tracemodel: plays the events of a log through the states of each G, M and P, and tells the transitions.
 *
 * What is told is a history that Go's own parser would accept: a G runs on an M that has a P, a P is with one M, a G
 * that is woken waited.  Where a trace begins in the middle, or events were lost, an event finds a state that it cannot
 * come from: then what must have happened is told before it, and counted in made.  A G that is woken before its own
 * event says that it waits (it was queued before) is woken right after that.
 *
 * Times are made different: of two of one nanosecond the later one is told a nanosecond later.
 *
 * Must never: fail because of what is in the log.
 */
#include "ctl/trace.h"

#include "ctl/idmap.h"

#include <stdlib.h>
#include <string.h>

struct gstate {
	uint64_t id;
	enum g_state state;
	bool pending;                /* it was woken, and has not said that it waits */
	uint32_t pendingm, pendingstack;
	uint64_t pendingby;
	uint32_t m;                  /* index of the M on which it runs or calls */
	uint64_t seq;
	enum g_state told;           /* its state in the last step */
	uint64_t flow;
};

struct pstate {
	enum p_state state;
	uint32_t m;
	uint64_t seq;
};

struct mstate {
	bool known;
	uint32_t index, writer;
	int p;
	uint64_t g;
	uint64_t resume;             /* it goes on when the M has a P again */
};

enum { PS = 1 << 16 };

static const uint32_t NO_M = UINT32_MAX;

struct model {
	struct idmap g;              /* struct gstate by its id: a pointer to one holds until the end */
	struct idmap ms;             /* struct mstate by its number */
	struct mstate **m;           /* the same by index */
	size_t nm, roomm;
	struct pstate p[PS];
	uint64_t now, flows;
	void (*fn)(const struct step *s, void *arg);
	void *arg;
	struct model_counts *c;
	bool failed;
};

/* ---- tables ---------------------------------------------------------------------------------- */

static struct gstate *g_of(struct model *x, uint64_t id)
{
	static struct gstate none;
	struct gstate *g = idmap_at(&x->g, id, sizeof(*g));

	if (!g) {
		x->failed = true;
		none = (struct gstate){ .id = id };
		return &none;
	}
	g->id = id;
	return g;
}

static bool m_room(struct model *x)
{
	size_t room = x->roomm * 2 + 16;
	struct mstate **more;

	if (x->nm < x->roomm)
		return true;
	more = realloc(x->m, room * sizeof(*more));
	if (!more)
		return false;
	x->m = more;
	x->roomm = room;
	return true;
}

/* Index of the M of that number; NO_M: no memory. */
static uint32_t m_of(struct model *x, uint32_t writer)
{
	struct mstate *m = m_room(x) ? idmap_at(&x->ms, writer, sizeof(*m)) : NULL;

	if (!m) {
		x->failed = true;
		return NO_M;
	}
	if (!m->known) {
		*m = (struct mstate){ .known = true, .index = (uint32_t)x->nm, .writer = writer, .p = NO_P };
		x->m[x->nm++] = m;
	}
	return m->index;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell(struct model *x, struct step s, uint32_t m)
{
	s.time = x->now++;
	s.m = x->m[m]->writer;
	if (s.kind != STEP_PSTART && s.kind != STEP_PSTATUS && s.kind != STEP_PSTEAL)
		s.p = x->m[m]->p;
	if (s.g) {
		struct gstate *g = g_of(x, s.g);

		if (s.kind == STEP_UNBLOCK)
			g->flow = ++x->flows;
		s.before = g->told;
		s.flow = g->flow;
		g->told = s.kind == STEP_DESTROY ? G_NONE : g->state;
	}
	x->fn(&s, x->arg);
}

static void p_status(struct model *x, int p, enum p_state state, uint32_t m)
{
	x->p[p] = (struct pstate){ .state = state, .m = m };
	tell(x, (struct step){ .kind = STEP_PSTATUS, .p = p, .state = state }, m);
	if (state != P_IDLE)
		x->m[m]->p = p;
}

static void g_status(struct model *x, struct gstate *g, enum g_state state, uint32_t m, uint32_t where)
{
	g->state = state;
	g->seq = 0;
	tell(x, (struct step){ .kind = STEP_GSTATUS, .g = g->id, .state = state, .m2 = x->m[where]->writer }, m);
	if (state == G_RUNNING || state == G_SYSCALL) {
		g->m = where;
		x->m[where]->g = g->id;
	}
}

static void p_start(struct model *x, int p, uint32_t m)
{
	struct pstate *ps = &x->p[p];

	ps->state = P_RUNNING;
	ps->m = m;
	tell(x, (struct step){ .kind = STEP_PSTART, .p = p, .seq = ++ps->seq }, m);
	x->m[m]->p = p;
}

static void p_stop(struct model *x, uint32_t m)
{
	x->p[x->m[m]->p].state = P_IDLE;
	tell(x, (struct step){ .kind = STEP_PSTOP }, m);
	x->m[m]->p = NO_P;
}

/* By m, from the M whose call has it. */
static void p_steal(struct model *x, int p, uint32_t m)
{
	struct pstate *ps = &x->p[p];
	uint32_t from = ps->m;

	ps->state = P_IDLE;
	tell(x, (struct step){ .kind = STEP_PSTEAL, .p = p, .seq = ++ps->seq, .m2 = x->m[from]->writer }, m);
	x->m[from]->p = NO_P;
}

static void g_start(struct model *x, struct gstate *g, uint32_t m)
{
	g->state = G_RUNNING;
	g->m = m;
	tell(x, (struct step){ .kind = STEP_START, .g = g->id, .seq = ++g->seq }, m);
	x->m[m]->g = g->id;
	x->c->start++;
}

static void g_stop(struct model *x, struct gstate *g, unsigned reason, uint32_t stack)
{
	uint32_t m = g->m;

	g->state = G_RUNNABLE;
	tell(x, (struct step){ .kind = STEP_STOP, .g = g->id, .reason = reason, .stack = stack }, m);
	x->m[m]->g = 0;
}

static void g_unblock(struct model *x, struct gstate *g, uint32_t m, uint64_t by, uint32_t stack)
{
	g->state = G_RUNNABLE;
	tell(x, (struct step){ .kind = STEP_UNBLOCK, .g = g->id, .seq = ++g->seq, .by = by, .stack = stack }, m);
}

static void sys_begin(struct model *x, struct gstate *g, uint32_t stack)
{
	struct pstate *ps = &x->p[x->m[g->m]->p];

	g->state = G_SYSCALL;
	ps->state = P_SYSCALL;
	tell(x, (struct step){ .kind = STEP_SYSBEGIN, .g = g->id, .seq = ++ps->seq, .stack = stack }, g->m);
}

/* Out of a call without the P, if there is one still. */
static void sys_lost(struct model *x, struct gstate *g)
{
	uint32_t m = g->m;

	if (x->m[m]->p != NO_P && x->p[x->m[m]->p].state == P_SYSCALL)
		p_steal(x, x->m[m]->p, m);
	g->state = G_RUNNABLE;
	tell(x, (struct step){ .kind = STEP_SYSENDBLOCKED, .g = g->id }, m);
	x->m[m]->g = 0;
}

/* ---- what must have happened ----------------------------------------------------------------- */

/* The M has no G any more. */
static void m_without_g(struct model *x, uint32_t m)
{
	struct gstate *g;

	if (!x->m[m]->g)
		return;
	g = g_of(x, x->m[m]->g);
	x->c->made++;
	if (g->state == G_SYSCALL)
		sys_lost(x, g);
	else
		g_stop(x, g, STOP_OTHER, 0);
}

/* p is with no M. */
static void p_idle(struct model *x, int p, uint32_t m)
{
	struct pstate *ps = &x->p[p];

	switch (ps->state) {
	case P_NONE:
		p_status(x, p, P_IDLE, m);
		return;
	case P_IDLE:
		return;
	case P_SYSCALL:
		p_steal(x, p, m);
		break;
	case P_RUNNING:
		m_without_g(x, ps->m);
		if (x->p[p].state == P_RUNNING)
			p_stop(x, ps->m);
		break;
	}
	x->c->made++;
}

/* m has p, and no call has it. */
static void m_with_p(struct model *x, uint32_t m, int p)
{
	if (x->m[m]->p == p && x->p[p].state == P_RUNNING)
		return;
	if (x->m[m]->p == NO_P && x->p[p].state == P_NONE) {
		p_status(x, p, P_RUNNING, m);
		return;
	}
	if (x->m[m]->p != NO_P)
		p_idle(x, x->m[m]->p, m);
	if (x->p[p].state != P_NONE && x->p[p].state != P_IDLE)
		p_idle(x, p, m);
	else
		x->c->made++;
	if (x->p[p].state == P_NONE)
		p_status(x, p, P_IDLE, m);
	p_start(x, p, m);
}

static void g_runnable(struct model *x, struct gstate *g, uint32_t m)
{
	switch (g->state) {
	case G_NONE:
		g_status(x, g, G_RUNNABLE, m, m);
		return;
	case G_RUNNABLE:
		return;
	case G_WAITING:
		g_unblock(x, g, m, 0, 0);
		break;
	case G_RUNNING:
	case G_SYSCALL:
		m_without_g(x, g->m);
		return;
	}
	x->c->made++;
}

/* g runs on m: its own event says so.  False: it cannot, for no P is known. */
static bool g_running(struct model *x, struct gstate *g, uint32_t m, uint16_t p)
{
	if (g->state == G_RUNNING && g->m == m && x->m[m]->p != NO_P)
		return true;
	if (p == TRACE_NOP) {
		if (x->m[m]->p == NO_P)
			return false;
		p = (uint16_t)x->m[m]->p;
	}
	if (x->m[m]->g)
		m_without_g(x, m);
	m_with_p(x, m, p);
	if (g->state == G_NONE) {
		g_status(x, g, G_RUNNING, m, m);
		return true;
	}
	g_runnable(x, g, m);
	g_start(x, g, m);
	x->c->made++;
	return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_pstart(struct model *x, uint32_t m, int p)
{
	uint64_t resume = x->m[m]->resume;

	x->m[m]->resume = 0;
	if (x->m[m]->p == p && x->p[p].state == P_RUNNING)
		return;
	if (x->m[m]->p != NO_P)
		p_idle(x, x->m[m]->p, m);
	p_idle(x, p, m);
	p_start(x, p, m);
	if (resume && g_of(x, resume)->state == G_RUNNABLE)
		g_start(x, g_of(x, resume), m);
}

static void on_pstop(struct model *x, uint32_t m, int p)
{
	struct gstate *g;

	if (x->m[m]->p == NO_P && x->p[p].state == P_NONE)
		p_status(x, p, P_RUNNING, m);
	if (x->m[m]->p != p)
		return;
	g = x->m[m]->g ? g_of(x, x->m[m]->g) : NULL;
	/* It changes its P for one of its own. */
	if (g && g->state == G_RUNNING) {
		g_stop(x, g, STOP_OTHER, 0);
		x->m[m]->resume = g->id;
	}
	p_stop(x, m);
}

static void on_run(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);

	x->m[m]->resume = 0;
	if ((g->state == G_RUNNING && g->m == m) || e->p == TRACE_NOP)
		return;
	m_without_g(x, m);
	m_with_p(x, m, e->p);
	g_runnable(x, g, m);
	g_start(x, g, m);
}

static void on_park(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);

	if (!g_running(x, g, m, e->p))
		return;
	g->state = G_WAITING;
	tell(x, (struct step){ .kind = STEP_BLOCK, .g = g->id, .reason = e->reason, .arg = e->arg, .stack = e->stack },
	     m);
	x->m[m]->g = 0;
	x->c->block++;
	if (!g->pending)
		return;
	g->pending = false;
	g_unblock(x, g, g->pendingm, g->pendingby, g->pendingstack);
}

static void on_ready(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);

	x->c->unblock++;
	switch (g->state) {
	case G_NONE:
		g_status(x, g, G_WAITING, m, m);
		/* fall through */
	case G_WAITING:
		g_unblock(x, g, m, e->arg, e->stack);
		break;
	case G_RUNNING:
		g->pending = true;
		g->pendingm = m;
		g->pendingby = e->arg;
		g->pendingstack = e->stack;
		break;
	case G_RUNNABLE:
	case G_SYSCALL:
		x->c->made++;
		break;
	}
}

static void on_create(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);
	const struct mstate *ms = x->m[m];

	x->c->create++;
	if (g->state != G_NONE)
		return;
	if (ms->p == NO_P && e->p != TRACE_NOP && x->p[e->p].state == P_NONE)
		p_status(x, e->p, P_RUNNING, m);
	if (ms->p == NO_P || x->p[ms->p].state != P_RUNNING || (ms->g && g_of(x, ms->g)->state != G_RUNNING)) {
		g_status(x, g, G_RUNNABLE, m, m);
		return;
	}
	g->state = G_RUNNABLE;
	g->seq = 0;
	tell(x, (struct step){ .kind = STEP_CREATE, .g = e->g, .by = ms->g, .arg = e->arg, .stack = e->stack }, m);
}

static void on_end(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);

	x->c->destroy++;
	if (!g_running(x, g, m, e->p))
		return;
	tell(x, (struct step){ .kind = STEP_DESTROY, .g = g->id }, m);
	x->m[m]->g = 0;
	g->state = G_NONE;
	g->pending = false;
}

static void on_sysexit(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);

	if (g->state == G_SYSCALL && g->m == m && x->m[m]->p == e->p && x->p[e->p].state == P_SYSCALL) {
		g->state = G_RUNNING;
		x->p[e->p].state = P_RUNNING;
		tell(x, (struct step){ .kind = STEP_SYSEND, .g = g->id }, m);
		return;
	}
	g_running(x, g, m, e->p);
}

static void on_syslost(struct model *x, uint32_t m, const struct trace_event *e)
{
	struct gstate *g = g_of(x, e->g);

	if (g->state == G_NONE) {
		g_status(x, g, G_RUNNABLE, m, m);
		return;
	}
	if (g->m != m || (g->state != G_RUNNING && g->state != G_SYSCALL))
		return;
	if (g->state == G_RUNNING && x->m[m]->p != NO_P)
		sys_begin(x, g, 0);
	sys_lost(x, g);
}

static void on_handoff(struct model *x, uint32_t m, const struct trace_event *e)
{
	uint32_t from = m_of(x, (uint32_t)e->arg);

	x->c->handoff++;
	if (from == NO_M)
		return;
	if (x->p[e->p].state == P_NONE)
		p_status(x, e->p, P_IDLE, m);
	else if (x->m[from]->p == e->p && x->p[e->p].state == P_SYSCALL)
		p_steal(x, e->p, m);
}

static void on_unseen(struct model *x, uint32_t m, const struct trace_event *e)
{
	uint32_t from = m_of(x, (uint32_t)e->arg);
	struct gstate *g = g_of(x, e->g);

	x->c->unseen++;
	if (from == NO_M)
		return;
	if (x->m[from]->p == e->p && x->m[from]->g == e->g && g->state == G_RUNNING) {
		sys_begin(x, g, 0);
		p_steal(x, e->p, m);
	} else if (g->state == G_NONE && !x->m[from]->g && x->m[from]->p == NO_P) {
		if (x->p[e->p].state == P_NONE)
			p_status(x, e->p, P_IDLE, m);
		g_status(x, g, G_SYSCALL, from, from);
	}
}

static void on_event(struct model *x, const struct logged *l)
{
	const struct trace_event *e = &l->e;
	uint32_t m = m_of(x, l->writer);

	if (m == NO_M)
		return;
	if (e->time > x->now)
		x->now = e->time;
	switch (e->kind) {
	case TRACE_CREATE:
		on_create(x, m, e);
		break;
	case TRACE_RUN:
		on_run(x, m, e);
		break;
	case TRACE_PARK:
		on_park(x, m, e);
		break;
	case TRACE_READY:
		on_ready(x, m, e);
		break;
	case TRACE_PREEMPT:
		x->c->preempt++;
		/* fall through */
	case TRACE_YIELD:
		if (g_running(x, g_of(x, e->g), m, e->p))
			g_stop(x, g_of(x, e->g), e->kind == TRACE_PREEMPT ? STOP_PREEMPT : STOP_YIELD, e->stack);
		break;
	case TRACE_EXIT:
		on_end(x, m, e);
		break;
	case TRACE_SYSCALL:
	case TRACE_SYSBLOCK:
		x->c->syscalls++;
		if (g_running(x, g_of(x, e->g), m, e->p))
			sys_begin(x, g_of(x, e->g), e->stack);
		break;
	case TRACE_SYSEXIT:
		if (e->p != TRACE_NOP)
			on_sysexit(x, m, e);
		break;
	case TRACE_SYSLOST:
		on_syslost(x, m, e);
		break;
	case TRACE_HANDOFF:
		if (e->p != TRACE_NOP)
			on_handoff(x, m, e);
		break;
	case TRACE_UNSEEN:
		if (e->p != TRACE_NOP)
			on_unseen(x, m, e);
		break;
	case TRACE_PSTART:
		if (e->p != TRACE_NOP)
			on_pstart(x, m, e->p);
		break;
	case TRACE_PSTOP:
		if (e->p != TRACE_NOP)
			on_pstop(x, m, e->p);
		break;
	case TRACE_STEAL:
		x->c->steal++;
		break;
	}
}

bool model_run(const struct tracelog *log, void (*fn)(const struct step *s, void *arg), void *arg,
	       struct model_counts *c)
{
	struct model *x = calloc(1, sizeof(*x));
	bool good;

	*c = (struct model_counts){ 0 };
	if (!x)
		return false;
	x->fn = fn;
	x->arg = arg;
	x->c = c;
	for (size_t i = 0; i < log->n && !x->failed; i++)
		on_event(x, &log->ev[i]);
	good = !x->failed;
	idmap_free(&x->g);
	idmap_free(&x->ms);
	free(x->m);
	free(x);
	return good;
}
