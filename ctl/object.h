/*
 * object: what a parked G waits for, in words, and which G holds it.
 *
 * The object is glibc's struct in the process's memory, read as glibc of this build lays it out.  Owners are the ids
 * that libc stores (proc_g's tid).
 */
#ifndef WEFT_CTL_OBJECT_H
#define WEFT_CTL_OBJECT_H

#include "ctl/process.h"

/* Also the words of WaitXxx. */
enum reason {
#define REASON(name, text, whom) Wait##name,
#include "runtime/sched/waitreason.def"
#undef REASON
	NREASON
};

struct object {
	uint64_t addr;              /* of what the program calls it: the mutex, not the word in it */
	uint32_t owner;             /* libc's id of the holder, 0: none, or nothing tells */
	uint64_t joins;             /* address of the G that it joins; 0: it joins none */
	int fd;                     /* -1: no descriptor */
	char text[160];             /* "mutex 0x1234", "join of G5" */
};

struct gindex;

/* All living Gs, for finding them by libc's id or by their thread; NULL: no memory. */
struct gindex *gindex_make(const struct proc *p);
void gindex_free(struct gindex *x);
const struct proc_g *gindex_by_tid(const struct gindex *x, uint32_t tid);
const struct proc_g *gindex_by_thread(const struct gindex *x, uint64_t inside); /* an address in its struct */
const struct proc_g *gindex_by_addr(const struct gindex *x, uint64_t addr);
size_t gindex_count(const struct gindex *x);
const struct proc_g *gindex_at(const struct gindex *x, size_t i); /* in the order of the table */

/* False: it waits for nothing that has a name. */
bool object_of(const struct proc *p, const struct gindex *x, const struct proc_g *g, struct object *o);

struct stacks;
/* cycles.c: prints the circles of threads that wait for each other; nothing where there are none. */
void cycles_print(const struct proc *p, const struct gindex *x, struct stacks *s);

#endif
