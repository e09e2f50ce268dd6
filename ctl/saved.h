/*
 * saved: a profile that a process wrote itself, from its start on: the option `profile`.
 */
#ifndef WEFT_CTL_SAVED_H
#define WEFT_CTL_SAVED_H

#include "ctl/pprof.h"
#include "runtime/sched/tracefile.h"

struct saved;

/* NULL: why says why not. */
struct saved *saved_open(const char *path, char *why, size_t n);
void saved_close(struct saved *s);
int saved_pid(const struct saved *s);
/* When it began, ns of CLOCK_REALTIME; how long it is, ns, 0: the process has not come to its end, or was killed. */
int64_t saved_began(const struct saved *s);
uint64_t saved_lasted(const struct saved *s);
/* All that has a stack; the rest, in ns. */
uint64_t saved_add(struct saved *s, enum profile_value v, struct pprof *pp);
void saved_modules(struct saved *s, struct pprof *pp);
/* For pprof_write(). */
void saved_place(void *s, uint64_t pc, struct pprof_place *to);

#endif
