/*
 * trace: what trace.c and tracestack.c share.
 */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

void trace_stack_begin(void) hidden;
void trace_stack_end(void) hidden;
/* The program's call into weft that led to the frame fp; its number in h and 1, or 0. */
uint32_t trace_stack(struct trace_header *h, const void *fp) hidden;

#endif
