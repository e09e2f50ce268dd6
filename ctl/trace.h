/*
 * trace: an execution trace on its way from the library's events to the files of other tools.
 *
 *	tracelog.c	takes the events out of a process that runs, or of a file, and counts what is missing
 *	tracemodel.c	plays them through the states of each G, M and P, and tells each transition in order
 *	tracestacks.c	unwinds the stacks, and has their names
 *	tracego.c	writes Go's format, v2 (Go 1.22)
 *	traceperfetto.c	writes Perfetto's
 *	traceask.c	asks a process for it
 *	traceverb.c	the verb
 *
 * Must never: trust what the log says of itself: each size and each number is checked.
 */
#ifndef WEFT_CTL_TRACE_H
#define WEFT_CTL_TRACE_H

#include "ctl/process.h"
#include "ctl/protobuf.h"
#include "runtime/sched/tracefile.h"

#include <stdio.h>

/* ---- the log --------------------------------------------------------------------------------- */

struct logged {
	struct trace_event e;
	uint32_t writer;
	uint32_t order;              /* among those of one time */
};

struct tracelog {
	struct trace_header head;
	char *maps;
	size_t mapsused;
	uint8_t *stacks;             /* as the library has them */
	struct logged *ev;           /* in the order of time, after log_sort() */
	size_t n, room;
	uint64_t since;              /* ns: what is older was before the request; 0: the trace begins with it */
	uint64_t lost;               /* events that were overwritten before they were read */
	bool failed;                 /* no memory */
	struct chunkseen *seen;
};

/* Of a header that was read, with TRACE_MAGIC or PROFILE_MAGIC: false, and it is none that this weftctl knows. */
bool log_begin(struct tracelog *log, const struct trace_header *h, const char *magic, char *why, size_t n);
enum taken { TOOK, TOOK_OVER, TOOK_GONE }; /* OVER: that trace has ended; GONE: it cannot be read any more */
/* What is new in the memory of p, whose header is at at, with the stacks of its events. */
enum taken log_take(struct tracelog *log, const struct proc *p, uint64_t at);
/* Stacks that were being written when their events were taken. */
void log_take_stacks(struct tracelog *log, const struct proc *p, uint64_t at);
/* Its mappings, for names. */
void log_maps(struct tracelog *log, const char *maps, size_t n);
/* The same, all of it, of a file. */
bool log_take_file(struct tracelog *log, const char *path, const char *magic, char *why, size_t n);
/* Of stack number i; it is aligned and as long as its kind. */
const struct trace_stack *log_stack(const struct tracelog *log, uint32_t i);
void log_sort(struct tracelog *log);
void log_free(struct tracelog *log);

/* ---- the model ------------------------------------------------------------------------------- */

enum step_kind {
	STEP_PSTATUS, STEP_PSTART, STEP_PSTOP, STEP_PSTEAL,
	STEP_GSTATUS, STEP_CREATE, STEP_START, STEP_BLOCK, STEP_STOP, STEP_DESTROY, STEP_UNBLOCK,
	STEP_SYSBEGIN, STEP_SYSEND, STEP_SYSENDBLOCKED,
};

/* As Go's format numbers them. */
enum g_state { G_NONE, G_RUNNABLE, G_RUNNING, G_SYSCALL, G_WAITING };
enum p_state { P_NONE, P_RUNNING, P_IDLE, P_SYSCALL };

enum { NO_P = -1, STOP_YIELD = 0, STOP_PREEMPT, STOP_OTHER };

struct step {
	enum step_kind kind;
	uint64_t time;               /* each later than the one before */
	uint32_t m;                  /* whose event it is */
	int p;                       /* NO_P: none */
	uint64_t g;
	uint64_t by;                 /* UNBLOCK: the G that woke it, or 0; CREATE: the maker */
	uint64_t seq;                /* Go's number: of the G or of the P */
	int state;                   /* of a STATUS */
	uint32_t m2;                 /* PSTEAL: from whom; GSTATUS of one in a call: where */
	unsigned reason;             /* BLOCK: enum waitreason; STOP: STOP_... */
	uint64_t arg;                /* BLOCK: the object; CREATE: where it begins */
	uint32_t stack;              /* the log's number */
	enum g_state before;         /* of g */
	uint64_t flow;               /* of g: number of its last wake-up */
};

struct model_counts {
	uint64_t made, create, destroy, block, unblock, start, preempt, handoff, unseen, steal, syscalls;
};

/* True: all was told.  c->made: transitions that no event told of. */
bool model_run(const struct tracelog *log, void (*fn)(const struct step *s, void *arg), void *arg,
	       struct model_counts *c);

/* ---- stacks ---------------------------------------------------------------------------------- */

struct frame {
	uint64_t pc;
	uint32_t function, file;     /* numbers of strings */
	int line;
};

struct tracestacks;

struct tracestacks *tracestacks_open(const struct tracelog *log);
void tracestacks_close(struct tracestacks *t);
/* The log's stack, or of one place alone: numbers from 1 on, the same for the same calls; 0: none. */
uint32_t tracestacks_of(struct tracestacks *t, uint32_t stack);
uint32_t tracestacks_place(struct tracestacks *t, uint64_t pc);
/* The same of a return address. */
uint32_t tracestacks_call(struct tracestacks *t, uint64_t pc);
int tracestacks_frames(struct tracestacks *t, uint32_t id, const struct frame **f);
uint32_t tracestacks_count(const struct tracestacks *t);
/* Strings, numbered from 1 on. */
uint32_t tracestacks_string(struct tracestacks *t, const char *s);
const char *tracestacks_text(const struct tracestacks *t, uint32_t id);
uint32_t tracestacks_strings(const struct tracestacks *t);

/* ---- names of Gs, if somebody knows them ------------------------------------------------------ */

struct gname {
	uint64_t goid;
	char name[PROC_NAME];
};

struct gnames {
	struct gname *at;            /* in the order of goid */
	size_t n;
};

const char *gnames_find(const struct gnames *names, uint64_t goid);

/* For ns, or until a signal ends it, with so many bytes of the process's memory; false: that was said. */
bool trace_process(struct proc *p, uint64_t ns, uint64_t bytes, struct tracelog *log, struct gnames *names);

/* Events alone, and nothing is said: for ns, if the process runs within that time. */
bool trace_glance(struct proc *p, uint64_t ns, uint64_t bytes, struct tracelog *log);

/* ---- writers --------------------------------------------------------------------------------- */

bool go_write(const struct tracelog *log, struct tracestacks *t, FILE *to, struct model_counts *c);
bool perfetto_write(const struct tracelog *log, struct tracestacks *t, const struct gnames *names, FILE *to,
		    struct model_counts *c);

#endif
