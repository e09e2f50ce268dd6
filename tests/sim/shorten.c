/*
 * shorten: makes a run that finds a fault as small as it goes, before a person reads it.
 *
 * A run is the answers of chance.c, and 0 is always the answer that makes least of it.  So pieces of the
 * answers are made 0, or left out: large pieces first, then small ones (delta debugging; Zeller and
 * Hildebrandt, IEEE TSE 2002), then single answers are halved.  What still ends with the same words, and has
 * fewer steps or fewer answers that are not 0, is kept.  In this way CPUs, Ps, threads, rounds and preemptions
 * all become fewer.
 *
 * Must never: take longer than it was given; keep a run with another fault.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static uint32_t *best, *try, *used;
static uint64_t nbest, cost, tries;
static const char *fault;
static time_t end;
static const struct simopts *with;

static uint32_t *array(void)
{
	void *p = mmap(NULL, SIM_ANSWERS * sizeof(uint32_t), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("sim: answers");
		exit(2);
	}
	return p;
}

static uint64_t cost_of(const uint32_t *a, uint64_t n)
{
	uint64_t nonzero = 0;

	for (uint64_t i = 0; i < n; i++)
		nonzero += a[i] != 0;
	return sim_shared->steps_at_fault + 10 * nonzero;
}

/* Runs try[0..n); true: it is better, and what it used of it is the best now. */
static bool better(uint64_t n)
{
	uint64_t c;

	tries++;
	sim_given = (struct sim_answers){ .at = try, .n = n };
	sim_record = (struct sim_answers){ .at = used };
	if (run_quietly(with->seed, with) || sim_shared->fault != fault)
		return false;
	c = cost_of(used, sim_shared->nanswers);
	if (c >= cost)
		return false;
	cost = c;
	nbest = sim_shared->nanswers;
	memcpy(best, used, nbest * sizeof(*best));
	return true;
}

static bool in_time(void)
{
	return time(NULL) < end;
}

static bool is_zero(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		if (best[i])
			return false;
	return true;
}

/* Makes [from, to) 0, or leaves it out. */
static bool without(uint64_t from, uint64_t to, bool out)
{
	if (to > nbest)
		to = nbest;
	if (from >= to || (!out && is_zero(from, to)))
		return false;
	memcpy(try, best, nbest * sizeof(*try));
	if (!out) {
		memset(try + from, 0, (to - from) * sizeof(*try));
		return better(nbest);
	}
	memmove(try + from, try + to, (nbest - to) * sizeof(*try));
	return better(nbest - (to - from));
}

static bool pass(uint64_t size, bool out)
{
	bool any = false;

	for (uint64_t at = 0; at < nbest && in_time(); at += size)
		while (without(at, at + size, out) && in_time() && (any = true) && out)
			;
	return any;
}

static bool halve(void)
{
	bool any = false;

	for (uint64_t i = 0; i < nbest && in_time(); i++)
		while (i < nbest && best[i] && in_time()) {
			memcpy(try, best, nbest * sizeof(*try));
			try[i] /= 2;
			if (!better(nbest))
				break;
			any = true;
		}
	return any;
}

void shorten(const struct simopts *given, unsigned seconds)
{
	uint64_t steps, first;
	bool any;

	with = given;
	if (!best) {
		best = array();
		try = array();
		used = array();
	}
	end = time(NULL) + seconds;
	tries = 0;
	sim_given = (struct sim_answers){ 0 };
	sim_record = (struct sim_answers){ .at = used };
	if (run_quietly(given->seed, given))
		return;
	fault = sim_shared->fault;
	steps = sim_shared->steps_at_fault;
	first = nbest = sim_shared->nanswers;
	memcpy(best, used, nbest * sizeof(*best));
	cost = cost_of(best, nbest);
	do {
		any = false;
		for (uint64_t size = nbest / 2; size > 0 && in_time(); size /= 2) {
			any |= pass(size, false);
			if (size <= 16)
				any |= pass(size, true);
		}
		any |= halve();
	} while (any && in_time());
	printf("shortened: %lu steps, then ", steps);
	sim_given = (struct sim_answers){ .at = best, .n = nbest };
	sim_record = (struct sim_answers){ 0 };
	run_quietly(given->seed, given);
	printf("%lu; %lu answers, then %lu (%lu tries)\n", sim_shared->steps_at_fault, first, nbest, tries);
	run_shown(given->seed, given);
	sim_given = (struct sim_answers){ 0 };
}
