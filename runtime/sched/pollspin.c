/*
 * pollspin: how long the poller looks at the descriptors before it sleeps.
 *
 * A server that is asked for one thing at a time sleeps and wakes for each, and where its CPU is idle meanwhile the
 * wake-up takes longer than all the rest of a request.  Where the CPU is not idle, a wake-up takes next to nothing, and
 * to look only keeps the client from running.  So neither is known before: both ways are tried, and compared by how
 * long a wait lasts until its event.  What a sleep adds to that is the price of sleeping and waking up.  To
 * look is worth it where that price is not less than the time that is spent looking: ski rental, with a price
 * that is measured.
 *
 * Where several events end a wait each has its part of it: on a busy server a poller that sleeps wakes to many, and one
 * that looks goes for each.
 *
 * Now and then some waits in a row go the other way (a trial): a single one would meet the CPUs as the other way has
 * left them.  A trial is rarer after each one that finds nothing better, and there is none where waits that sleep
 * last so long that no look would have caught their end: a process that is idle, or asked seldom, looks never.
 *
 * All here belongs to the poller, and goes from one to the next with its role (sched.lastpoll, seq_cst).
 *
 * Rejected: the price from the lateness of sysmon's sleeps: its CPU is another than the poller's, and as idle as it
 * likes.
 *
 * Must never: look for longer than POLL_SPIN_MAX; count what a timer or a waker ended, for that says nothing of events.
 */
#include "runtime/sched/gmp.h"

enum { SLEEPS, LOOKS };

static struct {
	/*
	 * ns, mean, from the beginning of a wait to its events, for each of these, for each of the two ways; 0:
	 * not known
	 */
	uint64_t gap[2];
	uint64_t spent;   /* ns, mean, of those that look: how long they did, for each event */
	uint32_t usual;   /* the better way */
	uint32_t trial;   /* so many of the next waits go the other way */
	uint32_t since;   /* waits since the last trial */
	uint32_t rare;    /* waits until the next one; 0: SPIN_TRIAL_FIRST */
	uint32_t way;     /* of this wait */
	uint64_t began;
} spin;

static uint64_t mean(uint64_t of, uint64_t with)
{
	return of ? of - of / SPIN_MEAN + with / SPIN_MEAN : with;
}

/* What a sleep adds is not less than what looking takes. */
static bool pays(void)
{
	return spin.gap[SLEEPS] >= spin.gap[LOOKS] + spin.spent;
}

uint64_t pollspin_begins(uint64_t now)
{
	spin.began = now;
	spin.way = spin.trial ? !spin.usual : spin.usual;
	if (unlikely(weft_opt.chaos))
		spin.way = nextrand(&weft_tls.m->rng) % 2 ? LOOKS : SLEEPS;
	if (!weft_opt.spin)
		spin.way = SLEEPS;
	return spin.way == LOOKS ? now + POLL_SPIN_MAX : 0;
}

static void begin_trial(void)
{
	spin.trial = SPIN_TRIAL;
	/* What it was long ago says nothing. */
	spin.gap[!spin.usual] = 0;
	if (spin.usual == SLEEPS)
		spin.spent = 0;
}

/* The better way is tried against again later each time that it was found the better one. */
static void settle(void)
{
	uint32_t was = spin.usual;

	spin.usual = pays() ? LOOKS : SLEEPS;
	if (spin.usual != was)
		spin.rare = SPIN_TRIAL_FIRST;
	else if (spin.rare < SPIN_TRIAL_LAST)
		spin.rare = 2 * (spin.rare ? spin.rare : SPIN_TRIAL_FIRST);
	spin.since = 0;
}

void pollspin_ends(uint64_t now, unsigned events)
{
	uint64_t gap = since(spin.began, now), looked = gap < POLL_SPIN_MAX ? gap : POLL_SPIN_MAX;

	if (!events && (spin.way == SLEEPS || gap < POLL_SPIN_MAX))
		return;
	gap = gap < SPIN_FAR ? gap : SPIN_FAR;
	if (events > 1) {
		gap = gap / events + 1;
		looked /= events;
	}
	spin.gap[spin.way] = mean(spin.gap[spin.way], gap);
	if (spin.way == LOOKS)
		spin.spent = mean(spin.spent, looked);
	if (spin.trial) {
		if (--spin.trial == 0)
			settle();
	} else if (spin.usual == LOOKS && !pays()) {
		settle();
	} else if (spin.usual == SLEEPS && spin.gap[SLEEPS] >= SPIN_FAR - SPIN_FAR / SPIN_MEAN) {
		/* Nearly all of them are long. */
	} else if (++spin.since >= (spin.rare ? spin.rare : SPIN_TRIAL_FIRST)) {
		begin_trial();
	}
}

/* The child's descriptors are asked for by others. */
void pollspin_fork_child(void)
{
	__builtin_memset(&spin, 0, sizeof(spin));
}
