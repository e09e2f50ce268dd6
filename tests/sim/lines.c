/*
 * lines: which CPU has which cache line, and what an access takes by that; and how long one lock was held.
 *
 * A line is in the caches of those CPUs that have read it since it was written last.  A load of one that
 * another CPU wrote waits for it, and so does a locked instruction on one that any other CPU has; a store does
 * not: it waits in its CPU's buffer.  Caches have room for all.  Memory that no CPU has touched is as near as
 * the own cache: the runs are short, and what they touch first is not what is measured.
 *
 * Must never: be asked unless opt.measured.
 */
#include "tests/sim/cost.h"

enum { LINES = 1 << 18, WORDS = MAXCPUS / 64 };

static struct line {
	uintptr_t at;          /* 0: free */
	uint64_t has[WORDS];   /* a bit for each CPU */
} *lines;
static unsigned nlines;

static struct line *line_of(const volatile void *p)
{
	uintptr_t at = (uintptr_t)p >> 6;
	unsigned i = (unsigned)((at * 0x9e3779b97f4a7c15) >> 46) % LINES;

	if (!lines)
		lines = arena_alloc(LINES * sizeof(*lines), 64);
	for (; lines[i].at != at; i = (i + 1) % LINES) {
		if (lines[i].at)
			continue;
		if (nlines >= LINES / 2)
			return NULL;
		nlines++;
		lines[i].at = at;
		break;
	}
	return &lines[i];
}

/* Is the line elsewhere, so that the access waits?  After it, it is here. */
static bool moved(const volatile void *p, bool write)
{
	struct line *l = line_of(p);
	int cpu = sim.cur->cpu;
	bool here, others = false, any = false;

	if (!l || cpu < 0)
		return false;
	here = l->has[cpu / 64] >> (cpu % 64) & 1;
	if (here && !write)
		return false;
	for (int w = 0; w < WORDS; w++) {
		uint64_t bits = l->has[w];

		any |= bits != 0;
		if (w == cpu / 64)
			bits &= ~(1ULL << (cpu % 64));
		others |= bits != 0;
		if (write)
			l->has[w] = 0;
	}
	l->has[cpu / 64] |= 1ULL << (cpu % 64);
	return any && (write ? others : !here);
}

/* Less than a nanosecond each: they are charged when they have come to one. */
static void charge(double ns)
{
	static double owed;
	uint64_t whole;

	owed += ns;
	whole = (uint64_t)owed;
	owed -= (double)whole;
	sim_charge(whole);
}

void line_plain(const void *p, bool write)
{
	charge(cost_access() + (moved(p, write) && !write ? cost_miss() : 0));
}

void line_atomic(const volatile void *p, bool write, bool locked)
{
	charge((locked ? cost_locked() : cost_access()) + (moved(p, write) && (!write || locked) ? cost_miss() : 0));
}

void line_call(void)
{
	charge(cost_access());
}

/* ---- the lock that is watched ---------------------------------------------------------------- */

static const volatile void *watched;
static uint64_t since, held;

void line_watch(const volatile void *lock)
{
	watched = lock;
}

void line_taken(const volatile void *lock)
{
	if (lock == watched)
		since = sim_now();
}

void line_left(const volatile void *lock)
{
	if (lock == watched && since) {
		held += sim_now() - since;
		since = 0;
	}
}

uint64_t line_held(void)
{
	return held;
}

void line_reset(void)
{
	held = 0;
}
