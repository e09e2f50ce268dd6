/*
 * latency: from being woken to running, of the threads of a process, by a short execution trace (latency.h).
 *
 * Must never: count a wait that began before the trace.
 */
#include "ctl/latency.h"

#include "ctl/trace.h"

#include <stdlib.h>

enum { BYTES = 8 << 20 };

static int by_g(const void *a, const void *b)
{
	const struct trace_event *x = &((const struct logged *)a)->e, *y = &((const struct logged *)b)->e;

	if (x->g != y->g)
		return x->g < y->g ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* From each TRACE_READY to the next event of that G, if that is its TRACE_RUN. */
static size_t gather(const struct tracelog *log, uint64_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < log->n; i++) {
		const struct trace_event *e = &log->ev[i].e, *next = &log->ev[i + 1].e;

		if (e->kind == TRACE_READY && next->kind == TRACE_RUN && e->g == next->g)
			to[n++] = next->time - e->time;
	}
	return n;
}

bool latency_take(struct proc *p, uint64_t ns, struct latency *l)
{
	struct tracelog log = { 0 };
	uint64_t *waits = NULL;

	*l = (struct latency){ 0 };
	if (trace_glance(p, ns, BYTES, &log) && log.n)
		waits = calloc(log.n, sizeof(*waits));
	if (waits) {
		qsort(log.ev, log.n, sizeof(*log.ev), by_g);
		l->n = gather(&log, waits);
		qsort(waits, l->n, sizeof(*waits), by_size);
	}
	if (l->n) {
		l->p50 = waits[l->n / 2];
		l->p99 = waits[l->n - 1 - l->n / 100];
		l->most = waits[l->n - 1];
	}
	free(waits);
	log_free(&log);
	return l->n != 0;
}
