/*
 * chance: every number that the seed decides.
 *
 * Each answer may be recorded, and a run may be given answers instead (shorten.c).  Therefore 0 is always the
 * answer that makes least of a run: the least of anything, no fault, no preemption, the task that runs goes
 * on.  A run that was given too few answers gets 0 for the rest.
 *
 * Must never: be asked for what is not in the run: printing, say.
 */
#include "tests/sim/sim.h"

static uint64_t state;
struct sim_answers sim_record, sim_given;

void sim_chance_init(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15 + 12345;
	for (int i = 0; i < 4; i++)
		state += sim_mix(state);
	sim_record.n = 0;
	sim_given.next = 0;
}

uint64_t sim_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t given(uint64_t below)
{
	return sim_given.next < sim_given.n ? sim_given.at[sim_given.next++] % below : 0;
}

uint64_t sim_random(uint64_t below)
{
	uint64_t r;

	if (below <= 1)
		return 0;
	if (sim_given.at)
		r = given(below);
	else
		r = sim_mix(state += 0x9e3779b97f4a7c15) % below;
	if (sim_record.at && sim_record.n < SIM_ANSWERS)
		sim_record.at[sim_record.n++] = (uint32_t)r;
	return r;
}

bool sim_chance(uint64_t one_in)
{
	return sim_random(one_in) == 1;
}

uint64_t sim_some(uint64_t least, uint64_t most)
{
	return least + sim_random(most - least + 1);
}

uint64_t sim_gap(uint64_t mean)
{
	uint64_t r = sim_random(2 * mean + 1);

	return r ? r : SIM_LONG;
}
