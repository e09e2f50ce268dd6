/*
 * lists: the Gs, Ms and Ps of a process, read table by table (process.h).
 *
 * A chunk of Gs is read by one call; of what is beyond it nothing is asked.  Ms are a list that changes while it is
 * walked: a walk that leads out of it or too far simply ends.
 *
 * Must never: walk further than the process could have Gs, Ms or Ps.
 */
#include "ctl/process.h"

#include <stdlib.h>
#include <string.h>

enum { MS_MOST = 1 << 16, STRUCT_MOST = 1 << 16 };

static void fill_g(const struct proc *p, uint64_t addr, const char *raw, struct proc_g *g)
{
	*g = (struct proc_g){
		.addr = addr,
		.raw = raw,
		.goid = proc_member(p, raw, LF_g_goid),
		.tid = (uint32_t)proc_member(p, raw, LF_g_tid),
		.status = (uint32_t)proc_member(p, raw, LF_g_status),
		.waitreason = (unsigned)proc_member(p, raw, LF_g_waitreason),
		.waitaddr = proc_member(p, raw, LF_g_waitaddr),
		.parked = proc_member(p, raw, LF_g_parked),
		.waitsince = proc_member(p, raw, LF_g_waitsince),
		.sp = proc_member(p, raw, LF_g_sp),
		.syscallsp = proc_member(p, raw, LF_g_syscallsp),
		.intpc = proc_member(p, raw, LF_g_intpc),
		.intsp = proc_member(p, raw, LF_g_intsp),
		.m = proc_member(p, raw, LF_g_m),
		.lockedm = proc_member(p, raw, LF_g_lockedm),
		.stackbase = proc_member(p, raw, LF_g_stackbase),
		.stacktop = proc_member(p, raw, LF_g_stacktop),
		.thread = proc_member(p, raw, LF_g_thread),
		.label = proc_member(p, raw, LF_g_label),
		.fs = proc_member(p, raw, LF_g_fs),
		.cputime = proc_member(p, raw, LF_g_cputime),
	};
	memcpy(g->name, raw + p->layout.field[LF_g_name].at, PROC_NAME);
	g->name[PROC_NAME - 1] = '\0';
	printable(g->name);
}

static bool one_chunk(const struct proc *p, uint64_t at, char *copy, uint64_t n, bool *more,
		      bool (*fn)(const struct proc_g *, void *), void *arg)
{
	size_t size = proc_number(p, LF_g_size);
	size_t got = proc_read_some(p, at, copy, n * size) / size;
	struct proc_g g;

	for (size_t i = 0; *more && i < got; i++) {
		uint64_t s = proc_member(p, copy + i * size, LF_g_status);

		if (s == GIDLE || s >= GDEAD)
			continue;
		fill_g(p, at + i * size, copy + i * size, &g);
		*more = fn(&g, arg);
	}
	return got == n;
}

bool proc_each_g(const struct proc *p, bool (*fn)(const struct proc_g *g, void *arg), void *arg)
{
	uint64_t each = proc_number(p, LF_gchunk_gs), size = proc_number(p, LF_g_size);
	uint64_t left = proc_sched(p, LF_sched_nallgs), most = each * proc_number(p, LF_gchunks);
	uint64_t chunk = p->addr[LA_sched] + p->layout.field[LF_sched_gchunks].at;
	bool more = true, good = left > 0;
	char *copy;

	if (!p->on || size == 0 || size > STRUCT_MOST || each > STRUCT_MOST)
		return false;
	copy = malloc(each * size);
	if (left > most)
		left = most;
	for (; copy && more && left; chunk += proc_number(p, LF_gchunk_size)) {
		uint64_t at = proc_field(p, chunk, LF_gchunk_at), n = left < each ? left : each;

		if (!at)
			good = false;
		else
			good &= one_chunk(p, at, copy, n, &more, fn, arg);
		left -= n;
	}
	free(copy);
	return copy && good;
}

bool proc_g_at(const struct proc *p, uint64_t addr, struct proc_g *g)
{
	size_t size = proc_number(p, LF_g_size);
	char *copy = addr && size && size <= STRUCT_MOST ? malloc(size) : NULL;
	bool good = copy && proc_read(p, addr, copy, size);

	if (good) {
		fill_g(p, addr, copy, g);
		g->raw = NULL;
	}
	free(copy);
	return good;
}

bool proc_m_at(const struct proc *p, uint64_t addr, struct proc_m *m)
{
	size_t size = proc_number(p, LF_m_size);
	char *copy = addr && size && size <= STRUCT_MOST ? malloc(size) : NULL;
	bool good = copy && proc_read(p, addr, copy, size);

	if (good)
		*m = (struct proc_m){
			.addr = addr,
			.id = (int)proc_member(p, copy, LF_m_id),
			.ostid = (int)proc_member(p, copy, LF_m_ostid),
			.curg = proc_member(p, copy, LF_m_curg),
			.p = proc_member(p, copy, LF_m_p),
			.lockedg = proc_member(p, copy, LF_m_lockedg),
			.spinning = proc_member(p, copy, LF_m_spinning),
		};
	free(copy);
	return good;
}

bool proc_each_m(const struct proc *p, bool (*fn)(const struct proc_m *m, void *arg), void *arg)
{
	uint32_t in = p->layout.field[LF_m_all].at;
	uint64_t link = p->on ? proc_sched(p, LF_sched_allm) : 0;
	bool any = false;
	struct proc_m m;

	/* A link is the first word of the member: the next one's link. */
	for (int n = 0; link && n < MS_MOST; n++) {
		uint64_t next = 0;

		if (link <= in || !proc_m_at(p, link - in, &m) || !proc_read(p, link, &next, sizeof(next)))
			break;
		any = true;
		if (!fn(&m, arg))
			break;
		link = next;
	}
	return any;
}

bool proc_each_p(const struct proc *p, bool (*fn)(const struct proc_p *q, void *arg), void *arg)
{
	uint64_t most = proc_number(p, LF_maxprocs), size = proc_number(p, LF_p_size);
	char *copy = p->on && size <= STRUCT_MOST ? malloc(size) : NULL;
	bool any = false;

	for (uint64_t i = 0; copy && i < most; i++) {
		struct proc_p q = { 0 };

		if (!proc_read(p, p->addr[LA_allp] + i * sizeof(q.addr), &q.addr, sizeof(q.addr)) ||
		    !proc_read(p, q.addr, copy, size))
			break;
		any = true;
		q.id = (int)proc_member(p, copy, LF_p_id);
		q.status = (uint32_t)proc_member(p, copy, LF_p_status);
		q.m = proc_member(p, copy, LF_p_m);
		q.schedtick = (uint32_t)proc_member(p, copy, LF_p_schedtick);
		q.runs = (uint32_t)proc_member(p, copy, LF_p_runs);
		q.syscalltick = (uint32_t)proc_member(p, copy, LF_p_syscalltick);
		q.ntimers = (uint32_t)proc_member(p, copy, LF_p_ntimers);
		q.queued = (uint32_t)(proc_member(p, copy, LF_p_runqtail) - proc_member(p, copy, LF_p_runqhead)) +
			   (proc_member(p, copy, LF_p_runnext) != 0);
		if (q.status != PDEAD && !fn(&q, arg))
			break;
	}
	free(copy);
	return any;
}
