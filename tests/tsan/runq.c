/*
 * runq: each thread is an M with a P, which takes Gs from its ring and from the others', and queues them again:
 * at first fewer than threads, which are stolen nearly always, then all by way of the global queue, then so
 * many that rings overflow.  One at a time, because each is an order that hides the loss of another.  The
 * thread that has a G counts in it, without any order of its own.
 */
#include "tests/tsan/drive.h"

enum { FEW = DRIVERS / 2, MANY = 700, ROUNDS = 1500, SELDOM = 64 };

struct work {
	struct g g;
	unsigned long runs; /* of the thread that took g */
};
static struct work works[MANY];
static enum { RINGS, GLOBAL, BOTH } by;

static struct g *take_global(struct p *pp)
{
	struct g *gp;

	lock(&sched.lock);
	gp = globrunqget(pp, runqring(pp) ? 1 : 0, true); /* a batch is for an empty ring */
	unlock(&sched.lock);
	return gp;
}

static struct g *take_local(struct driver *d, struct p *pp)
{
	bool inherit;
	struct g *gp = runqget(pp, &inherit);

	for (unsigned i = 0; !gp && i < DRIVERS; i++)
		if (i != d->id)
			gp = runqsteal(pp, allp[i], true, nanotime());
	return gp;
}

static struct g *take(struct driver *d, struct p *pp)
{
	struct g *gp = NULL;

	if (by == GLOBAL || (by == BOTH && !chance(d, SELDOM)))
		gp = take_global(pp);
	if (!gp)
		gp = take_local(d, pp);
	return gp || by == RINGS ? gp : take_global(pp);
}

static void put(struct driver *d, struct p *pp, struct g *gp)
{
	if (by == GLOBAL || (by == BOTH && !chance(d, SELDOM))) {
		lock(&sched.lock);
		if (chance(d, 2))
			globrunqput(gp, false);
		else
			globrunqwoken(gp);
		unlock(&sched.lock);
	} else if (!chance(d, 2)) {
		putnext(pp, gp);
	} else {
		runqput(pp, gp, !chance(d, 4));
	}
}

static void scheduler(struct driver *d)
{
	struct p *pp = drive_as_m(d);

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct g *gp;

		pace(d); /* what was just put may be stolen */
		gp = take(d, pp);
		if (!gp)
			continue;
		pace(d);
		((struct work *)gp)->runs++;
		put(d, pp, gp);
	}
}

static void drive_gs(unsigned gs)
{
	unsigned n = 0;
	bool inherit;

	for (unsigned i = 0; i < gs; i++)
		runqput(allp[i % DRIVERS], &works[i].g, false);
	drive((void (*[])(struct driver *)){ scheduler, scheduler, scheduler, scheduler });
	for (int i = 0; i < DRIVERS; i++)
		while (runqget(allp[i], &inherit))
			n++;
	while (take_global(allp[0]))
		n++;
	while (runqget(allp[0], &inherit))
		n++;
	must(n == gs, "no G is lost, none twice");
}

int main(void)
{
	drive_world(DRIVERS);
	weft_opt.wakeslice = 1000000;
	for (unsigned i = 0; i < MANY; i++) {
		works[i].g.shim.goid = i + 1;
		store_relaxed(&works[i].g.shim.status, Grunnable);
	}
	by = RINGS;
	drive_gs(FEW);
	by = GLOBAL;
	drive_gs(FEW);
	by = BOTH;
	drive_gs(MANY);
	puts("1 passed, 0 failed");
}
