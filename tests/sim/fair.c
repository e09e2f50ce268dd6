/*
 * fair: which task has a CPU when times are measured: a sketch of the kernel's EEVDF scheduler (Linux 6.6 and later).
 *
 * A task's virtual time is its CPU time.  A slice ends at its deadline, a slice after its virtual time when it
 * began; the task with the earliest deadline has the CPU.  A task that wakes is no further behind than the mean
 * of those that run, and takes a CPU from one whose deadline is later: so a task with a short slice (sysmon)
 * does not wait for a long one.  Unlike the kernel's there is one queue for all CPUs, and no task is moved for
 * balance: the kernel's is at times less fair.
 *
 * Must never: be asked unless opt.measured.
 */
#include "tests/sim/fair.h"

#include "tests/sim/cost.h"

static uint64_t slice_of(const struct task *t)
{
	return t->wants ? t->wants : cost_slice();
}

static uint64_t mean(struct task *const *on, unsigned cpus)
{
	uint64_t sum = 0, n = 0;
	static uint64_t last;

	for (unsigned c = 0; c < cpus; c++)
		if (on[c]) {
			sum += on[c]->vtime;
			n++;
		}
	if (n && sum / n > last)
		last = sum / n;
	return last;
}

void fair_awake(struct task *t, struct task *const *on, unsigned cpus)
{
	uint64_t least = mean(on, cpus);

	if (t->vtime < least)
		t->vtime = least;
	t->vdeadline = t->vtime + slice_of(t);
}

bool fair_over(struct task *t, const struct task *first)
{
	if (t->vtime >= t->vdeadline)
		t->vdeadline = t->vtime + slice_of(t);
	return first && first->vdeadline < t->vdeadline;
}

void fair_yield(struct task *t)
{
	t->vdeadline += slice_of(t);
}
