/*
 * cycles: threads that wait for each other in a circle: of mutexes, rwlocks that are held for writing, and joins.
 *
 * Each waits for one other at most, so a walk along the holders ends or comes back.  What is read is not of one moment:
 * a circle is told only if a while later each of its members is in the same wait, for the same holder.  (The same wait,
 * not only one for the same object: threads that give up and try again would be in a circle each time one looks.)
 *
 * Must never: tell of a circle that is none.  One of timed waits is one, and ends by itself.
 */
#include "ctl/object.h"
#include "ctl/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { AGAIN_US = 20000, NOBODY = -1 };

struct cycles {
	const struct proc *p;
	const struct gindex *x;
	struct stacks *s;
	long *holder;               /* of each G's object: its place in the index, or NOBODY */
	uint64_t *turn;             /* the number of the wait that it is in */
	unsigned *walk;             /* the number of the walk that came by, 0: none */
};

static long place_of(const struct gindex *x, const struct proc_g *g)
{
	return g ? g - gindex_at(x, 0) : NOBODY;
}

static long holder_of(const struct cycles *c, const struct proc_g *g, struct object *o)
{
	if (!object_of(c->p, c->x, g, o))
		return NOBODY;
	if (o->joins)
		return place_of(c->x, gindex_by_addr(c->x, o->joins));
	return o->owner ? place_of(c->x, gindex_by_tid(c->x, o->owner)) : NOBODY;
}

/* Each wait in the lot has a number of its own. */
static uint64_t turn_of(const struct cycles *c, const struct proc_g *g)
{
	return g->parked ? proc_field(c->p, g->parked, LF_waiter_turn) : 0;
}

/* Each member still waits for the next. */
static bool stands(const struct cycles *c, long first)
{
	long i = first;

	do {
		const struct proc_g *was = gindex_at(c->x, (size_t)i);
		struct proc_g now;
		struct object o;

		if (!proc_g_at(c->p, was->addr, &now) || now.goid != was->goid || turn_of(c, &now) != c->turn[i] ||
		    holder_of(c, &now, &o) != c->holder[i])
			return false;
		i = c->holder[i];
	} while (i != first);
	return true;
}

static void print(const struct cycles *c, long first)
{
	long i = first, n = 0;

	do
		n++;
	while ((i = c->holder[i]) != first);
	printf("deadlock: %ld thread%s, which only a time-out or a signal's handler can end:\n", n,
	       n == 1 ? " waits for itself" : "s wait for each other in a circle");
	do {
		const struct proc_g *g = gindex_at(c->x, (size_t)i), *next = gindex_at(c->x, (size_t)c->holder[i]);
		char name[160], text[600] = "";
		struct object o;
		uint64_t pc[1];

		holder_of(c, g, &o);
		stacks_variable(c->s, o.addr, name, sizeof(name));
		if (stacks_of(c->s, g, pc, 1))
			stacks_text(c->s, pc[0], true, text, sizeof(text));
		printf("    G%lu \"%s\": %s: %s%s%s%s", g->goid, g->name, proc_reason(g->waitreason), o.text,
		       name[0] ? " (" : "", name, name[0] ? ")" : "");
		if (!o.joins)
			printf(", held by G%lu", next->goid);
		printf("%s%s\n", text[0] ? ", in " : "", text);
		i = c->holder[i];
	} while (i != first);
	putchar('\n');
}

/* Walks from each G along the holders; one of this walk that comes again closes a circle. */
static void look(struct cycles *c)
{
	size_t n = gindex_count(c->x);
	bool waited = false;

	for (size_t i = 0; i < n; i++) {
		unsigned walk = (unsigned)i + 1;
		long at = (long)i;

		while (at != NOBODY && !c->walk[at]) {
			c->walk[at] = walk;
			at = c->holder[at];
		}
		if (at == NOBODY || c->walk[at] != walk)
			continue;
		if (!waited)
			usleep(AGAIN_US);
		waited = true;
		if (stands(c, at))
			print(c, at);
	}
}

void cycles_print(const struct proc *p, const struct gindex *x, struct stacks *s)
{
	size_t n = gindex_count(x);
	struct cycles c = { p, x, s, calloc(n + 1, sizeof(long)), calloc(n + 1, sizeof(uint64_t)),
			    calloc(n + 1, sizeof(unsigned)) };
	struct object o;

	if (c.holder && c.turn && c.walk) {
		for (size_t i = 0; i < n; i++) {
			c.turn[i] = turn_of(&c, gindex_at(x, i));
			c.holder[i] = holder_of(&c, gindex_at(x, i), &o);
		}
		look(&c);
	}
	free(c.holder);
	free(c.turn);
	free(c.walk);
}
