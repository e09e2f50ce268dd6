/*
 * barrier: private ones on the lot, shared ones through libc with the P given away.
 *
 * libc's words, with libc's meaning: in counts arrivals since the start, round is the value of in
 * at which the last round was full, out counts the waiters that left.  All change only under the
 * lot's lock.  Arriving is one step with queueing: a waiter is counted if and only if it is queued,
 * or off the queue for a signal.  The last one closes the round there and wakes all waiters that
 * are queued for that round.  Waiters of the next round may arrive before it does that; a bit that
 * goes by the round's number tells them apart.
 *
 * A woken waiter does not touch the barrier any more, so the first that returns may destroy it.  A
 * waiter that was running a signal handler when the round was closed finds that out by looking.  So
 * pthread_barrier_destroy() waits for those (out has not reached round), as libc's waits for all.
 */
#include "shim/sync/eintr.h"
#include "shim/sync/sync.h"

struct barrier {
	uint32_t in, round, count;
	int shared;
	uint32_t out;
};

/* What an arrival comes to. */
enum step {
	WAIT = 0,
	LAST,     /* the round is full: wakes the others */
	LATE,     /* another round began meanwhile: once more */
	RELEASED, /* the round was closed while the caller ran a signal handler */
};

struct arrival {
	struct barrier *b;
	uint32_t round; /* the one the caller belongs to */
	bool counted;
	bool quiet; /* all have left: pthread_barrier_destroy() may go on */
	enum step step;
};

static uint32_t round_bit(const struct barrier *b, uint32_t round)
{
	return 1u << (round / b->count % 32);
}

static void leave(struct arrival *a, uint32_t n)
{
	a->b->out += n;
	a->quiet = a->b->out == a->b->round;
}

/* Under the lot's lock. */
static int arrive(void *arg)
{
	struct arrival *a = arg;
	struct barrier *b = a->b;

	a->step = WAIT;
	if (b->round != a->round) {
		a->step = a->counted ? RELEASED : LATE;
		if (a->counted)
			leave(a, 1);
	} else if (!a->counted) {
		a->counted = true;
		if (++b->in - b->round == b->count) {
			b->round = b->in;
			a->step = LAST;
		}
	}
	return a->step;
}

/* Under the lot's lock, for the last one: it leaves, and all it wakes. */
static int open_decide(void *arg, unsigned woken, bool more)
{
	struct arrival *a = arg;

	(void)more;
	leave(a, woken + 1);
	/* A destroyer may wait for quiet only if a waiter was off the queue. */
	a->quiet = a->quiet && woken + 1 != a->b->count;
	return 0;
}

static const void *quiet_key(const struct barrier *b)
{
	return lot_key(&b->out, KEY_OTHER);
}

static int wait_private(struct barrier *b)
{
	struct arrival a = {.b = b};
	struct park pk = park_wait(lot_key(b, KEY_OTHER), arrive, &a, WaitBarrier);
	int r;

	for (;;) {
		if (!a.counted) {
			a.round = load_relaxed(&b->round);
			pk.bitset = round_bit(b, a.round);
		}
		r = lot_park(&pk);
		if (r == -EINTR) {
			eintr_in_lock();
			continue;
		}
		if (r != -EAGAIN)
			return 0;
		if (a.step == LATE)
			continue;
		if (a.step == LAST)
			lot_wake(pk.addr, UINT_MAX, pk.bitset, READY_TAIL, open_decide, &a);
		/* By address: no waiter is left that keeps the barrier alive. */
		if (a.quiet)
			lot_wake(quiet_key(b), UINT_MAX, 0, READY_TAIL, NULL, NULL);
		return a.step == LAST ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
	}
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *bar)
{
	struct barrier *b = (struct barrier *)bar;

	if (unlikely(!weft_on))
		return real.pthread_barrier_wait(bar);
	if (b->shared)
		return HANDOFF(real.pthread_barrier_wait(bar));
	runtime_checkyield();
	return wait_private(b);
}

static int is_quiet(void *arg)
{
	struct barrier *b = arg;

	return load_relaxed(&b->out) == load_relaxed(&b->round);
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *bar)
{
	struct barrier *b = (struct barrier *)bar;
	struct park pk = park_wait(quiet_key(b), is_quiet, b, WaitBarrier);

	if (unlikely(!weft_on) || b->shared)
		return HANDOFF(real.pthread_barrier_destroy(bar));
	while (!is_quiet(b))
		if (lot_park(&pk) == -EINTR)
			eintr_in_lock();
	return 0;
}
