/*
 * saved: a profile that a process wrote itself (saved.h): the stacks of its file, unwound, with what they count.
 *
 * The process may write on meanwhile: what is read is a moment's.
 *
 * Must never: believe what the file says of itself.
 */
#include "ctl/saved.h"

#include "ctl/stack.h"
#include "ctl/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct saved {
	struct tracelog log;
	struct tracestacks *t;
};

struct saved *saved_open(const char *path, char *why, size_t n)
{
	struct saved *s = calloc(1, sizeof(*s));

	snprintf(why, n, "no memory");
	if (!s || !log_take_file(&s->log, path, PROFILE_MAGIC, why, n)) {
		saved_close(s);
		return NULL;
	}
	s->t = tracestacks_open(&s->log);
	if (!s->t) {
		saved_close(s);
		return NULL;
	}
	return s;
}

void saved_close(struct saved *s)
{
	if (!s)
		return;
	tracestacks_close(s->t);
	log_free(&s->log);
	free(s);
}

int saved_pid(const struct saved *s)
{
	return (int)s->log.head.pid;
}

int64_t saved_began(const struct saved *s)
{
	return (int64_t)s->log.head.realtime;
}

uint64_t saved_lasted(const struct saved *s)
{
	return s->log.head.end > s->log.head.start ? s->log.head.end - s->log.head.start : 0;
}

uint64_t saved_add(struct saved *s, enum profile_value v, struct pprof *pp)
{
	uint64_t rest = s->log.head.unknown[v].ns;

	for (uint32_t i = 0; i < s->log.head.stacks; i++) {
		const struct trace_stack *at = log_stack(&s->log, i);
		int64_t value[PPROF_VALUES];
		uint64_t pc[STACK_DEPTH];
		const struct frame *frame;
		int n;

		if (!at || !at->value[v].n)
			continue;
		value[0] = (int64_t)at->value[v].n;
		value[1] = (int64_t)at->value[v].ns;
		n = tracestacks_frames(s->t, tracestacks_of(s->t, i + 1), &frame);
		n = n < STACK_DEPTH ? n : STACK_DEPTH;
		for (int k = 0; k < n; k++)
			pc[k] = frame[k].pc;
		if (n)
			pprof_add(pp, pc, n, NULL, NULL, value);
		else
			rest += at->value[v].ns;
	}
	return rest;
}

/* A line of its mappings: proc_pid_maps(5).  *next: the line behind it, or NULL. */
static bool parse(const char *line, const char **next, struct pprof_map *map, bool *code)
{
	char copy[PPROF_TEXT + 128], rights[5] = "";
	const char *end = strchr(line, '\n');
	size_t n = end ? (size_t)(end - line) : strlen(line);

	*next = end ? end + 1 : NULL;
	*map = (struct pprof_map){ 0 };
	snprintf(copy, sizeof(copy), "%.*s", (int)(n < sizeof(copy) ? n : sizeof(copy) - 1), line);
	if (sscanf(copy, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511[^\n]", &map->start, &map->end, rights,
		   &map->offset, map->path) != 5)
		return false;
	*code = rights[2] == 'x';
	return true;
}

/* The program's own file is the last one below its heap. */
static void find_program(const struct saved *s, char *program, size_t n)
{
	struct pprof_map map;
	bool code, heap = false;
	char first[PPROF_TEXT] = "";

	program[0] = '\0';
	for (const char *line = s->log.maps, *next; line && *line && !heap; line = next) {
		if (!parse(line, &next, &map, &code))
			continue;
		heap = strcmp(map.path, "[heap]") == 0;
		if (map.path[0] != '/')
			continue;
		snprintf(program, n, "%s", map.path);
		if (!first[0])
			memcpy(first, map.path, sizeof(first));
	}
	if (!heap)
		snprintf(program, n, "%s", first);
}

void saved_modules(struct saved *s, struct pprof *pp)
{
	char program[PPROF_TEXT];
	struct pprof_map map;
	bool code;

	find_program(s, program, sizeof(program));
	for (int own = 1; own >= 0; own--)
		for (const char *line = s->log.maps, *next; line && *line; line = next)
			if (parse(line, &next, &map, &code) && code && own == (strcmp(map.path, program) == 0))
				pprof_map(pp, &map);
}

void saved_place(void *arg, uint64_t pc, struct pprof_place *to)
{
	struct saved *s = arg;
	const struct frame *frame;

	if (!tracestacks_frames(s->t, tracestacks_call(s->t, pc), &frame))
		return;
	snprintf(to->function, sizeof(to->function), "%s", tracestacks_text(s->t, frame->function));
	snprintf(to->file, sizeof(to->file), "%s", tracestacks_text(s->t, frame->file));
	to->line = frame->line;
}
