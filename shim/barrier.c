/*
 * barrier: private ones on the lot, shared ones through libc with the P given away.
 *
 * libc's words, with libc's meaning: in counts arrivals since the start, round is the value of in at which
 * the last round was full.  Arriving happens under the lot's lock, in one step with queueing: a waiter is
 * counted if and only if it is queued.  The last one closes the round there and wakes as many as it takes,
 * the oldest first; whoever arrives meanwhile belongs to the next round and stands behind them.
 *
 * Nobody touches the barrier after its round is full, so it may be destroyed by the first who returns.
 */
#include "shim/sync.h"

struct barrier {
	uint32_t in, round, count;
	int shared;
	uint32_t out; /* libc's: leavers of shared barriers */
};

struct arrival {
	struct barrier *b;
	uint32_t others; /* how many the last one has to wake; valid once it closed the round */
};

/* Under the lot's lock. */
static int arrive(void *arg)
{
	struct arrival *a = arg;
	struct barrier *b = a->b;

	b->in++;
	if (b->in - b->round != b->count)
		return 0;
	b->round = b->in;
	a->others = b->count - 1;
	return 1;
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *bar)
{
	struct barrier *b = (struct barrier *)bar;
	struct arrival a = {.b = b};
	struct park pk = {
		.addr = lot_key(b, KEY_OTHER),
		.refuse = arrive,
		.arg = &a,
		.reason = WaitBarrier,
	};

	if (unlikely(!weft_on))
		return real.pthread_barrier_wait(bar);
	if (b->shared)
		return HANDOFF(real.pthread_barrier_wait(bar));
	runtime_checkyield();
	if (lot_park(&pk) != -EAGAIN)
		return 0;
	if (a.others)
		lot_wake(pk.addr, a.others, 0, READY_TAIL, NULL, NULL);
	return PTHREAD_BARRIER_SERIAL_THREAD;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *bar)
{
	/* libc waits for those who still leave; ours have left when their round is full. */
	if (weft_on && !((struct barrier *)bar)->shared)
		return 0;
	return HANDOFF(real.pthread_barrier_destroy(bar));
}
