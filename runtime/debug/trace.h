/*
 * trace: what trace.c, proffile.c and tracestack.c share.
 */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

/* What is code is known from begin to end, which may be called once more than that. */
void trace_stack_begin(void) hidden;
void trace_stack_end(void) hidden;
struct trace_stack *trace_stack_at(struct trace_header *h, uint32_t i) hidden;
/* The program's call into weft that led to the frame fp; its number in h and 1, or 0. */
uint32_t trace_stack(struct trace_header *h, const void *fp) hidden;
/* The same where a signal has interrupted the program, or weft, at pc with these registers. */
uint32_t trace_stack_interrupted(struct trace_header *h, uintptr_t pc, uintptr_t sp, uintptr_t fp) hidden;

/* A header whose bytes are zero: for one with so many stacks and bytes, from now on. */
void trace_header_begin(struct trace_header *h, const char *magic, uint32_t stacks, size_t bytes) hidden;
void trace_header_maps(struct trace_header *h) hidden;
/* The file path, or path.PID where another process writes that one; NULL, and what it was for is not to be had. */
struct trace_header *trace_file(const char *what, const char *path, const char *magic, size_t bytes) hidden;

/* ---- proffile.c, called by trace.c while TRACE_PROFILE is set ---- */
void profile_park(struct g *gp, const void *fp) hidden;
void profile_ready(struct g *gp, const void *fp) hidden;
void profile_run(struct g *gp) hidden;
void profile_event(struct m *mp, enum trace_kind kind, const void *fp) hidden;
void profile_fork_child(void) hidden;

#endif
