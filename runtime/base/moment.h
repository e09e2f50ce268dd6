/*
 * moment: how one kernel thread waits for a moment of another's.
 *
 * For what comes by itself, a CPU provided: an M that is about to leave a stack, a signal that was sent, a thread
 * that ends.  The waiter looks again and again, and between two looks pauses, then yields, then sleeps, ever longer.
 * (A yield alone lets only threads of the caller's own priority run; it may be a real-time one, on the CPU that the
 * other needs.)
 *
 *	for (struct moment w = { 0 }; !there() && !moment_over(&w, STANDSTILL_NS);)
 *		moment_step(&w);
 *
 * Every such wait is one of these.  Each function that waits so stands in check-spins with what it waits for.
 *
 * Must never: wait for a G that needs the caller's P, unless the caller gives way in between.
 */
#ifndef WEFT_MOMENT_H
#define WEFT_MOMENT_H

#include "runtime/arch/cpu.h"
#include "runtime/sched/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct moment {
	unsigned steps;
	unsigned yields;
	uint64_t slept; /* ns, in all: as asked for.  On a busy machine it was longer */
};

/* A yield to the kernel, or a sleep. */
void moment_wait(struct moment *w) __attribute__((visibility("hidden")));

/* A pause, or that.  True: the kernel was entered, so what it had for this thread has come. */
static inline bool moment_step(struct moment *w)
{
	if (++w->steps % MOMENT_PAUSES) {
		arch_pause();
		return false;
	}
	moment_wait(w);
	return true;
}

/* It slept for most ns. */
static inline bool moment_over(const struct moment *w, uint64_t most)
{
	return w->slept >= most;
}

#endif
