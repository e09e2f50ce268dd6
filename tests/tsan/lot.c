/*
 * lot: plain threads take turns with a lock that is handed over in the lot, under time-outs and moves from one address
 * to another.  What the lock guards is plain; that it was handed over is the waiter's result alone.
 */
#include "tests/tsan/drive.h"
#include "runtime/park.h"

enum { ROUNDS = 1500, HANDED = 7 };

static bool taken;            /* under the bucket of the lock's address */
static unsigned long guarded; /* by the lock */
static int word, other;       /* addresses */

static int take_or_wait(void *arg)
{
	bool *got = arg;

	if (taken)
		return 0;
	taken = true;
	*got = true;
	return 1;
}

static int leave_moved(void *arg, unsigned woken, bool more)
{
	(void)arg, (void)woken, (void)more;
	return 0;
}

static int hand_over(void *arg, unsigned woken, bool more)
{
	(void)arg, (void)more;
	if (!woken)
		taken = false;
	return HANDED;
}

static bool take(struct driver *d)
{
	bool got = false;
	struct park pk = { .addr = &word, .refuse = take_or_wait, .arg = &got };

	if (chance(d, 2))
		pk.deadline = nanotime() + chance(d, 20000);
	return lot_park(&pk) == HANDED || got;
}

static void worker(struct driver *d)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		pace(d);
		if (take(d)) {
			guarded++;
			lot_wake(&word, 1, 0, READY_TAIL, hand_over, NULL);
		}
	}
}

/* Some wait at the other address and are moved to the lock, as a broadcast does. */
static void mover(struct driver *d)
{
	unsigned moved;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct park pk = { .addr = &other, .deadline = nanotime() + 1 + chance(d, 30000) };

		lot_requeue(&other, &word, 0, 1, NULL, NULL, NULL, &moved);
		lot_do(&word, leave_moved, NULL);
		if (lot_park(&pk) == HANDED) {
			guarded++;
			lot_wake(&word, 1, 0, READY_TAIL, hand_over, NULL);
		}
	}
}

int main(void)
{
	drive_world(1);
	drive((void (*[])(struct driver *)){ worker, worker, mover, mover });
	must(guarded > 0 && !taken, "the lock is free in the end");
	puts("1 passed, 0 failed");
}
