/*
 * traceperfetto: writes a trace as Perfetto's protobuf, which ui.perfetto.dev and trace_processor read.
 *
 * Under the process three groups of tracks: each P and each M has a slice for every G that ran there, each G has a slice
 * for every state.  A wake-up is an arrow from an instant on the waker's track to where the G runs.  The numbers are the
 * fields of trace_packet.proto, track_descriptor.proto and track_event.proto.
 *
 * Must never: end a slice that was not begun.
 */
#include "ctl/trace.h"

#include <stdlib.h>
#include <string.h>

enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_TRACK = 60,
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT = 5,
	PROCESS_PID = 1, PROCESS_NAME = 6,
	EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, EVENT_FLOW = 47, EVENT_FLOW_END = 48,
	ANNOTATION_STRING = 6, ANNOTATION_NAME = 10,
	TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3,
	SEQUENCE = 1,
	UUID_PROCESS = 1, UUID_PS, UUID_MS, UUID_GS,
	MS = 1 << 17, TEXT = 512,
};

static const uint64_t uuid_p = 1ULL << 60, uuid_m = 2ULL << 60, uuid_g = 3ULL << 60;

struct perfetto {
	FILE *to;
	struct tracestacks *t;
	const struct gnames *names;
	struct pb b;
	uint8_t p[1 << 16], m[MS + 1]; /* open slices and 1; 0: has no track yet */
	bool failed;
};

static size_t begin_packet(struct perfetto *f)
{
	return pb_begin(&f->b, TRACE_PACKET);
}

static void end_packet(struct perfetto *f, size_t begun)
{
	pb_number(&f->b, PACKET_SEQUENCE, SEQUENCE);
	pb_end(&f->b, begun);
	if (f->b.failed || fwrite(f->b.at, 1, f->b.n, f->to) != f->b.n)
		f->failed = true;
	f->b.n = 0;
}

static void put_track(struct perfetto *f, uint64_t uuid, uint64_t parent, const char *name, uint32_t pid)
{
	size_t packet = begin_packet(f), track = pb_begin(&f->b, PACKET_TRACK);

	pb_number(&f->b, TRACK_UUID, uuid);
	if (pid) {
		size_t process = pb_begin(&f->b, TRACK_PROCESS);

		pb_number(&f->b, PROCESS_PID, pid);
		pb_string(&f->b, PROCESS_NAME, name);
		pb_end(&f->b, process);
	} else {
		pb_number(&f->b, TRACK_PARENT, parent);
		pb_string(&f->b, TRACK_NAME, name);
	}
	pb_end(&f->b, track);
	end_packet(f, packet);
}

struct mark {
	uint64_t track, flow, flowend;
	unsigned type;
	const char *name, *stack;
};

static void put(struct perfetto *f, uint64_t time, const struct mark *k)
{
	size_t packet = begin_packet(f), event;

	pb_number(&f->b, PACKET_TIMESTAMP, time);
	event = pb_begin(&f->b, PACKET_EVENT);
	pb_number(&f->b, EVENT_TYPE, k->type);
	pb_number(&f->b, EVENT_TRACK, k->track);
	if (k->name)
		pb_string(&f->b, EVENT_NAME, k->name);
	if (k->stack && k->stack[0]) {
		size_t note = pb_begin(&f->b, EVENT_ANNOTATION);

		pb_string(&f->b, ANNOTATION_NAME, "stack");
		pb_string(&f->b, ANNOTATION_STRING, k->stack);
		pb_end(&f->b, note);
	}
	if (k->flow)
		pb_fixed64(&f->b, EVENT_FLOW, k->flow);
	if (k->flowend)
		pb_fixed64(&f->b, EVENT_FLOW_END, k->flowend);
	pb_end(&f->b, event);
	end_packet(f, packet);
}

/* ---- tracks ---------------------------------------------------------------------------------- */

static uint64_t track_p(struct perfetto *f, int p)
{
	char name[32];

	if (!f->p[p]) {
		f->p[p] = 1;
		snprintf(name, sizeof(name), "P%d", p);
		put_track(f, uuid_p + (uint64_t)p, UUID_PS, name, 0);
	}
	return uuid_p + (uint64_t)p;
}

static uint32_t m_index(uint32_t m)
{
	return m < MS ? m : MS;
}

static uint64_t track_m(struct perfetto *f, uint32_t m)
{
	char name[48];
	uint32_t i = m_index(m);

	if (!f->m[i]) {
		f->m[i] = 1;
		snprintf(name, sizeof(name), i == MS ? "sysmon and others" : "M%u", m);
		put_track(f, uuid_m + i, UUID_MS, name, 0);
	}
	return uuid_m + i;
}

/* "G12 name" */
static void g_text(const struct perfetto *f, uint64_t g, char *text, size_t n)
{
	const char *name = gnames_find(f->names, g);

	snprintf(text, n, name && *name ? "G%lu %s" : "G%lu", (unsigned long)g, name);
}

/* G's own, at its first step. */
static void new_g(struct perfetto *f, const struct step *s)
{
	const char *name = gnames_find(f->names, s->g);
	const struct frame *at;
	char text[TEXT];

	if ((!name || !*name) && s->kind == STEP_CREATE &&
	    tracestacks_frames(f->t, tracestacks_place(f->t, s->arg), &at))
		name = tracestacks_text(f->t, at->function);
	snprintf(text, sizeof(text), name && *name ? "G%lu %s" : "G%lu", (unsigned long)s->g, name);
	put_track(f, uuid_g + s->g, UUID_GS, text, 0);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void open_on(struct perfetto *f, uint64_t time, uint64_t track, uint8_t *depth, const char *name)
{
	put(f, time, &(struct mark){ .track = track, .type = TYPE_BEGIN, .name = name });
	++*depth;
}

/* All but so many. */
static void close_on(struct perfetto *f, uint64_t time, uint64_t track, uint8_t *depth, int left)
{
	for (; *depth > left + 1; --*depth)
		put(f, time, &(struct mark){ .track = track, .type = TYPE_END });
}

static void on_cpu(struct perfetto *f, const struct step *s, const char *name)
{
	if (s->p != NO_P)
		open_on(f, s->time, track_p(f, s->p), &f->p[s->p], name);
	open_on(f, s->time, track_m(f, s->m), &f->m[m_index(s->m)], name);
}

static void off_cpu(struct perfetto *f, const struct step *s, int left)
{
	if (s->p != NO_P)
		close_on(f, s->time, track_p(f, s->p), &f->p[s->p], left);
	close_on(f, s->time, track_m(f, s->m), &f->m[m_index(s->m)], left);
}

static void stack_text(struct perfetto *f, uint32_t stack, char *text, size_t n)
{
	const struct frame *at = NULL;
	int frames = tracestacks_frames(f->t, tracestacks_of(f->t, stack), &at);
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < frames && used + 1 < n; i++) {
		int r = snprintf(text + used, n - used, "%s%s", i ? " < " : "",
				 tracestacks_text(f->t, at[i].function));

		used += r > 0 ? (size_t)r : 0;
	}
}

static void g_state(struct perfetto *f, const struct step *s, const char *name, bool arrow)
{
	char stack[4 * TEXT];

	if (s->before != G_NONE)
		put(f, s->time, &(struct mark){ .track = uuid_g + s->g, .type = TYPE_END });
	if (!name)
		return;
	stack_text(f, s->kind == STEP_UNBLOCK ? 0 : s->stack, stack, sizeof(stack));
	put(f, s->time, &(struct mark){ .track = uuid_g + s->g, .type = TYPE_BEGIN, .name = name, .stack = stack,
					.flowend = arrow && s->before == G_RUNNABLE ? s->flow : 0 });
}

static void woke(struct perfetto *f, const struct step *s)
{
	char text[TEXT], stack[4 * TEXT];

	snprintf(text, sizeof(text), "wakes G%lu", (unsigned long)s->g);
	stack_text(f, s->stack, stack, sizeof(stack));
	put(f, s->time, &(struct mark){ .track = s->by ? uuid_g + s->by : track_m(f, s->m), .type = TYPE_INSTANT,
					.name = text, .stack = stack, .flow = s->flow });
}

static void on_step(const struct step *s, void *arg)
{
	static const char *const states[] = { NULL, "runnable", "running", "system call", "waiting" };
	struct perfetto *f = arg;
	char text[TEXT];

	if (s->g && s->before == G_NONE)
		new_g(f, s);
	g_text(f, s->g, text, sizeof(text));
	switch (s->kind) {
	case STEP_PSTATUS:
	case STEP_PSTART:
		track_p(f, s->p);
		break;
	case STEP_PSTOP:
	case STEP_PSTEAL:
		close_on(f, s->time, track_p(f, s->p), &f->p[s->p], 0);
		break;
	case STEP_GSTATUS:
		g_state(f, s, states[s->state], false);
		if (s->state == G_RUNNING)
			on_cpu(f, s, text);
		break;
	case STEP_CREATE:
		g_state(f, s, "runnable", false);
		break;
	case STEP_START:
		g_state(f, s, "running", true);
		on_cpu(f, s, text);
		break;
	case STEP_BLOCK:
		off_cpu(f, s, 0);
		snprintf(text, sizeof(text), "waiting: %s", proc_reason(s->reason));
		g_state(f, s, text, false);
		break;
	case STEP_STOP:
		off_cpu(f, s, 0);
		g_state(f, s, s->reason == STOP_PREEMPT ? "runnable: preempted" : "runnable", false);
		break;
	case STEP_DESTROY:
		off_cpu(f, s, 0);
		g_state(f, s, NULL, false);
		break;
	case STEP_UNBLOCK:
		woke(f, s);
		g_state(f, s, "runnable", false);
		break;
	case STEP_SYSBEGIN:
		on_cpu(f, s, "system call");
		g_state(f, s, "system call", false);
		break;
	case STEP_SYSEND:
		off_cpu(f, s, 1);
		g_state(f, s, "running", false);
		break;
	case STEP_SYSENDBLOCKED:
		close_on(f, s->time, track_m(f, s->m), &f->m[m_index(s->m)], 0);
		g_state(f, s, "runnable", false);
		break;
	}
}

bool perfetto_write(const struct tracelog *log, struct tracestacks *t, const struct gnames *names, FILE *to,
		    struct model_counts *c)
{
	struct perfetto *f = calloc(1, sizeof(*f));
	char name[64];
	bool good;

	if (!f)
		return false;
	f->to = to;
	f->t = t;
	f->names = names;
	snprintf(name, sizeof(name), "weft %u", log->head.pid);
	put_track(f, UUID_PROCESS, 0, name, log->head.pid);
	put_track(f, UUID_PS, UUID_PROCESS, "Ps", 0);
	put_track(f, UUID_MS, UUID_PROCESS, "Ms", 0);
	put_track(f, UUID_GS, UUID_PROCESS, "Gs", 0);
	good = model_run(log, on_step, f, c) && !f->failed;
	pb_free(&f->b);
	free(f);
	return good;
}
