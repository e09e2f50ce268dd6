/*
 * timer: each thread is an M whose timers stand on its own stack and are due at once or soon; all run those of all Ps,
 * and one moves heaps, as when a P dies.  A timer's memory is plain, and used again as soon as timer_del() returns.
 */
#include "tests/tsan/drive.h"

enum { ROUNDS = 1500, TIMERS = 3 };

struct alarm {
	struct timer timer;
	unsigned long rang; /* by the thread that runs it, then its owner's */
};

static struct g *ring(void *arg)
{
	struct alarm *a = arg;

	a->rang++;
	return NULL;
}

static void run_due(void)
{
	bool ran;

	for (unsigned i = 0; i < DRIVERS; i++)
		timers_check(allp[i], nanotime(), &ran);
}

static void set(struct driver *d, struct alarm *a)
{
	*a = (struct alarm){ .timer = { .fn = ring, .arg = a } };
	timer_add(&a->timer, nanotime() + chance(d, 3000));
}

static void sleeper(struct driver *d)
{
	struct alarm alarms[TIMERS];

	drive_as_m(d);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 0; k < TIMERS; k++)
			set(d, &alarms[k]);
		pace(d);
		if (chance(d, 2))
			run_due();
		if (d->id == 3)
			timers_move(allp[chance(d, 3)], allp[3]);
		for (unsigned k = 0; k < TIMERS; k++)
			must(timer_del(&alarms[k].timer) == !alarms[k].rang, "a timer rings or is deleted");
	}
}

int main(void)
{
	drive_world(DRIVERS);
	drive((void (*[])(struct driver *)){ sleeper, sleeper, sleeper, sleeper });
	puts("1 passed, 0 failed");
}
