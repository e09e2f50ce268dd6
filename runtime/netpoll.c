/*
 * netpoll: where one idle M, the poller, sleeps until the next timer.
 *
 * sched.lastpoll is 0 while somebody polls; sched.polluntil is its deadline.  Whoever adds an earlier
 * timer breaks the sleep.  No descriptor is watched here yet: blocking calls hand their P off instead.
 */
#include "runtime/gmp.h"

void netpoll_wait(uint64_t deadline)
{
	/* A break that came before the sleep has set pollbreak: the wait returns at once. */
	if (atomic_load(&sched.pollbreak) == 0)
		os_futex_wait((uint32_t *)&sched.pollbreak, 0, deadline);
	atomic_store(&sched.pollbreak, 0);
}

void netpoll_break(void)
{
	/* The exchange deduplicates: one wake-up until the poller has cleared the word. */
	if (atomic_exchange(&sched.pollbreak, 1) == 0)
		os_futex_wake((uint32_t *)&sched.pollbreak, 1);
}

void netpoll_wake_for(uint64_t when)
{
	/*
	 * Pairs with findrunnable: the poller publishes lastpoll = 0 and polluntil, then reads every heap;
	 * we changed a heap, then read lastpoll and polluntil.  One of us sees the other.
	 */
	if (atomic_load(&sched.lastpoll) == 0) {
		uint64_t until = atomic_load(&sched.polluntil);

		if (until == 0 || until > when)
			netpoll_break();
	}
}
