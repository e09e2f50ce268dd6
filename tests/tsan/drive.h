/*
 * drive: what the drivers of check-tsan share.  A driver is plain threads on the runtime's own objects, compiled
 * with -fsanitize=thread: what they hand to one another is plain memory, so that an order that is missing is a
 * report.  tests/tsan/weakenings lists orders whose loss must be reported, run says how.
 *
 * Must never: hand anything over by an access of the driver's own that is an order, which would hide the one that is
 * looked for; so a driver's own words are relaxed, and its pauses are raw system calls.
 */
#ifndef WEFT_TESTS_TSAN_DRIVE_H
#define WEFT_TESTS_TSAN_DRIVE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/bare.h"

enum { DRIVERS = 4 }; /* threads */

static inline void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("not ok: %s\n", what);
	fflush(stdout);
	_exit(1);
}

static inline void drive_world(unsigned n)
{
	must(bare_world(n) == 0, "Ps");
}

struct driver {
	pthread_t thread;
	unsigned id;
	uint64_t rng;
	void (*fn)(struct driver *d);
	struct m m;
};
static struct driver drivers[DRIVERS];

static inline uint64_t chance(struct driver *d, uint64_t below)
{
	return nextrand(&d->rng) % below;
}

/* Now and then another thread's turn, where there are fewer CPUs than threads. */
static inline void pace(struct driver *d)
{
	if (!chance(d, 8))
		os_osyield();
}

static _Atomic unsigned arrived;

static inline void *drive_thread(void *arg)
{
	struct driver *d = arg;

	fetch_add_relaxed(&arrived, 1);
	while (load_relaxed(&arrived) < DRIVERS)
		os_osyield();
	d->fn(d);
	return NULL;
}

/* Thread i runs fns[i]; returns when all have. */
static inline void drive(void (*const fns[DRIVERS])(struct driver *d))
{
	store_relaxed(&arrived, 0);
	for (unsigned i = 0; i < DRIVERS; i++) {
		drivers[i].id = i;
		drivers[i].rng = 88172645463325252u + i;
		drivers[i].fn = fns[i];
		must(!pthread_create(&drivers[i].thread, NULL, drive_thread, &drivers[i]), "threads");
	}
	for (unsigned i = 0; i < DRIVERS; i++)
		pthread_join(drivers[i].thread, NULL);
}

/* The calling thread is an M that owns P number id. */
static inline struct p *drive_as_m(struct driver *d)
{
	struct p *pp = allp[d->id];

	d->m.id = (int32_t)d->id + 1;
	d->m.rng = d->rng;
	d->m.p = pp;
	pp->m = &d->m;
	weft_tls.m = &d->m;
	return pp;
}

#endif
