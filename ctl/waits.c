/*
 * waits: the waits of an execution trace, for profiles (waits.h).
 *
 * Must never: charge a wait that had begun before the trace, or that has not ended in it.
 */
#include "ctl/waits.h"

#include "ctl/object.h"
#include "ctl/stack.h"
#include "ctl/trace.h"
#include "ctl/verbs.h"

#include <stdlib.h>

enum { TRACE_BYTES = 64 << 20 };

/* Of one G: its wait that has not ended yet. */
struct wait {
	uint64_t g, since;
	uint32_t stack;
	unsigned reason;
};

struct waits {
	struct wait *at;            /* by g; a power of two; g 0: free */
	size_t n, room;
};

static struct wait *wait_of(struct waits *w, uint64_t g)
{
	size_t i = (size_t)(g * 0x9e3779b97f4a7c15ULL >> 20) & (w->room - 1);

	while (w->at[i].g && w->at[i].g != g)
		i = (i + 1) & (w->room - 1);
	return &w->at[i];
}

static bool room_for_one(struct waits *w)
{
	struct waits more = { NULL, w->n, w->room ? w->room * 2 : 1024 };

	if (2 * w->n < w->room)
		return true;
	more.at = calloc(more.room, sizeof(*more.at));
	if (!more.at)
		return false;
	for (size_t i = 0; i < w->room; i++)
		if (w->at[i].g)
			*wait_of(&more, w->at[i].g) = w->at[i];
	free(w->at);
	*w = more;
	return true;
}

static bool counts(bool mutexes, unsigned reason)
{
	static const uint8_t whom_of[] = {
#define REASON(name, text, whom) WHOM_##whom,
#include "runtime/sched/waitreason.def"
#undef REASON
	};
	unsigned whom = reason < sizeof(whom_of) ? whom_of[reason] : WHOM_ANY;

	return mutexes ? whom == WHOM_HOLDER : whom != WHOM_NOBODY;
}

static void charge(struct pprof *pp, struct tracestacks *t, uint32_t stack, uint64_t ns)
{
	const struct frame *frame;
	int64_t value[PPROF_VALUES] = { 1, (int64_t)ns };
	uint64_t pc[STACK_DEPTH];
	int n = tracestacks_frames(t, tracestacks_of(t, stack), &frame);

	n = n < STACK_DEPTH ? n : STACK_DEPTH;
	for (int i = 0; i < n; i++)
		pc[i] = frame[i].pc;
	if (n)
		pprof_add(pp, pc, n, NULL, NULL, value);
}

static bool charge_all(struct pprof *pp, bool mutexes, const struct tracelog *log, struct tracestacks *t)
{
	struct waits w = { 0 };
	bool good = true;

	for (size_t i = 0; i < log->n && (good = room_for_one(&w)); i++) {
		const struct trace_event *e = &log->ev[i].e;
		struct wait *at;

		if (!e->g || (e->kind != TRACE_PARK && e->kind != TRACE_READY))
			continue;
		at = wait_of(&w, e->g);
		if (e->kind == TRACE_PARK) {
			w.n += !at->g;
			*at = (struct wait){ e->g, e->time, e->stack, e->reason };
		} else if (at->g && at->since) {
			if (counts(mutexes, at->reason))
				charge(pp, t, mutexes ? e->stack : at->stack, e->time - at->since);
			at->since = 0;
		}
	}
	free(w.at);
	return good;
}

bool waits_gather(struct proc *p, uint64_t ns, bool mutexes, struct pprof *pp, uint64_t *lost)
{
	struct tracelog log = { 0 };
	struct gnames names = { 0 };
	struct tracestacks *t = NULL;
	bool good = trace_process(p, ns, TRACE_BYTES, &log, &names);

	if (good) {
		log_sort(&log);
		t = tracestacks_open(&log);
		good = !log.failed && t && charge_all(pp, mutexes, &log, t);
		if (!good)
			say("no memory for so many events (profile for a shorter time)");
	}
	*lost = log.lost;
	tracestacks_close(t);
	free(names.at);
	log_free(&log);
	return good;
}
