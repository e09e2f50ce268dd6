/*
 * bare: a scheduler that runs nothing: Go's rules, n Ps, and no thread that could be made (newosproc refuses).
 *
 * For unit tests (world.h) and for the drivers of check-tsan (tests/tsan/drive.h), which add an M of their own.
 */
#ifndef WEFT_TESTS_UNIT_BARE_H
#define WEFT_TESTS_UNIT_BARE_H

#include <errno.h>

#include "runtime/sched/sched_inline.h"

static int refused_threads; /* how often the runtime asked for a kernel thread */

static inline int bare_newosproc(void *(*fn)(void *), void *arg, void *stack, size_t size, uintptr_t *os)
{
	(void)fn, (void)arg, (void)stack, (void)size, (void)os;
	fetch_add_relaxed(&refused_threads, 1);
	return -EAGAIN;
}

/* All Ps are idle.  0 or -errno. */
static inline int bare_world(unsigned n)
{
	weft_options_default(&weft_opt);
	weft_opt.stealage = 0;
	hooks.newosproc = bare_newosproc;
	lot_init();
	os_time_init();
	os_guard_init();
	sched.maxm = 100;
	sched.defstack = 256 * 1024;
	store_seqcst(&sched.lastpoll, 1);
	m_init(&m0);
	return procresize(n, (int)os_ncpu());
}

#endif
