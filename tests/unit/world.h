/*
 * world: a scheduler with nobody in it, for unit tests of the runtime's own objects.
 *
 * The test's thread is an M that no other can join (newosproc refuses), so nothing runs but what
 * the test calls; Gs are structs that are queued and never executed.  Criterion forks for each
 * test: every one begins with an untouched runtime.
 */
#ifndef WEFT_TESTS_UNIT_WORLD_H
#define WEFT_TESTS_UNIT_WORLD_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/bare.h"

/* The caller owns P0, the others are idle. */
static inline void world(unsigned n)
{
	weft_tls.m = &m0;
	cr_assert_eq(bare_world(n), 0);
	/* P0 may be anywhere on the idle list; what is taken off before it goes back. */
	for (struct p **link = &sched.pidle; *link; link = &(*link)->link) {
		if (*link == allp[0]) {
			*link = allp[0]->link;
			allp[0]->link = NULL;
			fetch_sub_seqcst(&sched.npidle, 1);
			break;
		}
	}
	acquirep(&m0, allp[0]);
}

/* Runnable Gs numbered from 1, so that a queue can be compared with a sequence. */
static inline struct g *make_gs(unsigned n)
{
	struct g *gs = calloc(n, sizeof(*gs));

	cr_assert(gs);
	for (unsigned i = 0; i < n; i++) {
		gs[i].shim.goid = i + 1;
		store_seqcst(&gs[i].shim.status, Grunnable);
	}
	return gs;
}

/* The next of pp's queue, by number; 0: empty. */
static inline unsigned next_of(struct p *pp)
{
	bool inherit;
	struct g *gp = runqget(pp, &inherit);

	return gp ? (unsigned)gp->shim.goid : 0;
}

/* Removes the head of the global queue, by number; 0: empty. */
static inline unsigned next_global(void)
{
	struct g *gp = sched.runq.head;

	if (!gp)
		return 0;
	sched.runq.head = gp->schedlink;
	if (!sched.runq.head)
		sched.runq.tail = NULL;
	sched.runq.size--;
	store_seqcst(&sched.runqsize, sched.runq.size);
	return (unsigned)gp->shim.goid;
}

#endif
