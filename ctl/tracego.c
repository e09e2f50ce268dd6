/*
 * tracego: writes Go's execution trace, format 2, as `go tool trace` of Go 1.22 and later reads it.
 *
 * One generation: batches of each M's events, then the tables of stacks and strings.  Go's words stand for Go's things:
 * G, M and P are weft's, a block that weft does not see is a system call that sysmon took the P from.  Times are
 * nanoseconds.
 *
 * Must never: write a step that the parser would refuse (tracemodel.c sees to that); a batch, string or stack that is
 * larger than the format allows.
 */
#include "ctl/trace.h"

#include "ctl/idmap.h"

#include <stdlib.h>
#include <string.h>

/* The format's numbers. */
enum {
	EV_BATCH = 1, EV_STACKS, EV_STACK, EV_STRINGS, EV_STRING, EV_CPU_SAMPLES, EV_CPU_SAMPLE, EV_FREQUENCY,
	EV_PROCS_CHANGE, EV_PROC_START, EV_PROC_STOP, EV_PROC_STEAL, EV_PROC_STATUS,
	EV_GO_CREATE, EV_GO_CREATE_SYSCALL, EV_GO_START, EV_GO_DESTROY, EV_GO_DESTROY_SYSCALL, EV_GO_STOP, EV_GO_BLOCK,
	EV_GO_UNBLOCK, EV_GO_SYSCALL_BEGIN, EV_GO_SYSCALL_END, EV_GO_SYSCALL_END_BLOCKED, EV_GO_STATUS,
	GENERATION = 1, BATCH_MOST = 64 << 10, EVENT_MOST = 64, FRAMES_MOST = 128, STRING_MOST = 1 << 10,
};

static const char header[16] = "go 1.22 trace\0\0";

struct stream {
	uint32_t m;
	uint64_t begun, last;
	struct pb b;
};

struct go {
	FILE *to;
	struct tracestacks *t;
	struct idmap streams;        /* struct stream by its M */
	bool failed;
};

static void put_batch(struct go *go, uint64_t m, uint64_t time, const struct pb *data)
{
	struct pb b = { 0 };

	pb_varint(&b, EV_BATCH);
	pb_varint(&b, GENERATION);
	pb_varint(&b, m);
	pb_varint(&b, time);
	pb_varint(&b, data->n);
	if (b.failed || data->failed || fwrite(b.at, 1, b.n, go->to) != b.n ||
	    fwrite(data->at, 1, data->n, go->to) != data->n)
		go->failed = true;
	pb_free(&b);
}

static struct stream *stream_of(struct go *go, uint32_t m)
{
	struct stream *s = idmap_at(&go->streams, m, sizeof(*s));

	if (s)
		s->m = m;
	else
		go->failed = true;
	return s;
}

static void flush(struct go *go, struct stream *s)
{
	if (s->b.n)
		put_batch(go, s->m, s->begun, &s->b);
	s->b.n = 0;
}

static void put(struct go *go, const struct step *st, unsigned ev, int n, const uint64_t *arg)
{
	struct stream *s = stream_of(go, st->m);

	if (!s)
		return;
	if (s->b.n + EVENT_MOST > BATCH_MOST)
		flush(go, s);
	if (!s->b.n)
		s->begun = s->last = st->time;
	pb_varint(&s->b, ev);
	pb_varint(&s->b, st->time - s->last);
	s->last = st->time;
	for (int i = 0; i < n; i++)
		pb_varint(&s->b, arg[i]);
}

#define PUT(ev, ...) \
	put(go, s, ev, sizeof((uint64_t[]){ 0, __VA_ARGS__ }) / sizeof(uint64_t) - 1, \
	    (uint64_t[]){ 0, __VA_ARGS__ } + 1)

static uint64_t why(struct go *go, const char *text)
{
	return tracestacks_string(go->t, text);
}

/* Go's tools sort waits into their profiles by the words in which Go says them: "network", "sleep", "sync". */
static uint64_t why_waits(struct go *go, unsigned reason)
{
	enum {
#define REASON(name, text, whom) WAITS_##name,
#include "runtime/sched/waitreason.def"
#undef REASON
	};
	char text[64];

	switch (reason) {
	case WAITS_IO:
	case WAITS_Poll:
		return why(go, "network");
	case WAITS_None:
	case WAITS_Sleep:
	case WAITS_Signal:
	case WAITS_Fork:
	case WAITS_MainExit:
		return why(go, proc_reason(reason));
	default:
		snprintf(text, sizeof(text), "sync: %s", proc_reason(reason));
		return why(go, text);
	}
}

static void on_step(const struct step *s, void *arg)
{
	static const char *const stops[] = { "yielded", "preempted", "changed its kernel thread" };
	struct go *go = arg;
	uint64_t stack = s->stack ? tracestacks_of(go->t, s->stack) : 0;
	const uint64_t none = UINT64_MAX;

	switch (s->kind) {
	case STEP_PSTATUS:
		PUT(EV_PROC_STATUS, (uint64_t)s->p, (uint64_t)s->state);
		break;
	case STEP_PSTART:
		PUT(EV_PROC_START, (uint64_t)s->p, s->seq);
		break;
	case STEP_PSTOP:
		PUT(EV_PROC_STOP);
		break;
	case STEP_PSTEAL:
		PUT(EV_PROC_STEAL, (uint64_t)s->p, s->seq, s->m2);
		break;
	case STEP_GSTATUS:
		PUT(EV_GO_STATUS, s->g, s->state == G_RUNNING || s->state == G_SYSCALL ? s->m2 : none,
		    (uint64_t)s->state);
		break;
	case STEP_CREATE:
		PUT(EV_GO_CREATE, s->g, tracestacks_place(go->t, s->arg), stack);
		break;
	case STEP_START:
		PUT(EV_GO_START, s->g, s->seq);
		break;
	case STEP_DESTROY:
		PUT(EV_GO_DESTROY);
		break;
	case STEP_STOP:
		PUT(EV_GO_STOP, why(go, stops[s->reason]), stack);
		break;
	case STEP_BLOCK:
		PUT(EV_GO_BLOCK, why_waits(go, s->reason), stack);
		break;
	case STEP_UNBLOCK:
		PUT(EV_GO_UNBLOCK, s->g, s->seq, stack);
		break;
	case STEP_SYSBEGIN:
		PUT(EV_GO_SYSCALL_BEGIN, s->seq, stack);
		break;
	case STEP_SYSEND:
		PUT(EV_GO_SYSCALL_END);
		break;
	case STEP_SYSENDBLOCKED:
		PUT(EV_GO_SYSCALL_END_BLOCKED);
		break;
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_frequency(struct go *go)
{
	struct pb b = { 0 };

	pb_varint(&b, EV_FREQUENCY);
	pb_varint(&b, 1000000000);
	put_batch(go, UINT64_MAX, 0, &b);
	pb_free(&b);
}

/* A new batch where the next entry, of at most n bytes, may not fit. */
static void table_room(struct go *go, struct pb *b, unsigned kind, size_t n)
{
	if (b->n + n > BATCH_MOST) {
		put_batch(go, UINT64_MAX, 0, b);
		b->n = 0;
	}
	if (!b->n)
		pb_varint(b, kind);
}

static void put_stacks(struct go *go)
{
	struct pb b = { 0 };

	for (uint32_t id = 1; id <= tracestacks_count(go->t); id++) {
		const struct frame *f;
		int n = tracestacks_frames(go->t, id, &f);

		n = n < FRAMES_MOST ? n : FRAMES_MOST;
		table_room(go, &b, EV_STACKS, 32 + (size_t)n * 40);
		pb_varint(&b, EV_STACK);
		pb_varint(&b, id);
		pb_varint(&b, (uint64_t)n);
		for (int i = 0; i < n; i++) {
			pb_varint(&b, f[i].pc);
			pb_varint(&b, f[i].function);
			pb_varint(&b, f[i].file);
			pb_varint(&b, (uint64_t)f[i].line);
		}
	}
	if (b.n)
		put_batch(go, UINT64_MAX, 0, &b);
	pb_free(&b);
}

static void put_strings(struct go *go)
{
	struct pb b = { 0 };

	for (uint32_t id = 1; id <= tracestacks_strings(go->t); id++) {
		const char *text = tracestacks_text(go->t, id);
		size_t n = strnlen(text, STRING_MOST);

		table_room(go, &b, EV_STRINGS, n + 32);
		pb_varint(&b, EV_STRING);
		pb_varint(&b, id);
		pb_varint(&b, n);
		pb_raw(&b, text, n);
	}
	if (b.n)
		put_batch(go, UINT64_MAX, 0, &b);
	pb_free(&b);
}

bool go_write(const struct tracelog *log, struct tracestacks *t, FILE *to, struct model_counts *c)
{
	struct go go = { .to = to, .t = t };

	if (fwrite(header, 1, sizeof(header), to) != sizeof(header))
		return false;
	put_frequency(&go);
	if (!model_run(log, on_step, &go, c))
		go.failed = true;
	for (size_t i = 0; i < go.streams.n; i++) {
		struct stream *s = go.streams.all[i];

		flush(&go, s);
		pb_free(&s->b);
	}
	idmap_free(&go.streams);
	put_stacks(&go);
	put_strings(&go);
	return !go.failed;
}
