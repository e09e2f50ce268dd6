/*
 * gfree: free Gs, by the shape of their stacks.
 *
 * A dead G keeps its stack and its thread block; the next thread of the same shape takes all three
 * over.  The first shapes that a program asks for are classes, each with a list of free Gs in each P
 * (at 64, half goes to the class's global list; refilled by 32): what the first thread asked for is
 * worth no more than what the second did.  A program with more shapes than classes has its other
 * stacks in one list, of which the first few are looked at.
 *
 * A G without a stack is bare (g.c): its struct and its area are for any shape.
 */
#include "runtime/sched/gmp.h"

enum { CLASS_OTHER = NCLASS - 1 };

static _Atomic uint32_t nother; /* length of the list of other shapes, a hint */

/* ---- classes --------------------------------------------------------------------------------- */

static bool same_shape(const struct gclass *c, const struct shape *s)
{
	return c->size == s->size && c->guard == s->guard;
}

static uint32_t find_class(const struct shape *s, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < n; i++)
		if (same_shape(&sched.gclass[i], s))
			return i;
	return CLASS_OTHER;
}

/* The user's own stacks are a class like others: of no size. */
uint32_t gfree_class(const struct shape *s)
{
	/* Acquire: a class is complete before it is counted. */
	uint32_t n = load_acquire(&sched.ngclass);
	uint32_t i = find_class(s, 0, n), now;

	if (likely(i != CLASS_OTHER) || n == CLASS_OTHER)
		return i;
	lock(&sched.gfreelock);
	now = load_acquire(&sched.ngclass);
	i = find_class(s, n, now);
	if (i == CLASS_OTHER && now < CLASS_OTHER) {
		i = now;
		sched.gclass[i].size = s->size;
		sched.gclass[i].guard = s->guard;
		store_release(&sched.ngclass, now + 1);
	}
	unlock(&sched.gfreelock);
	return i;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* From a class's global list, whose shortest length since the last look scavenge.c wants to know. */
static struct g *pop_global(struct gclass *c)
{
	struct g *gp = gfree_pop(&c->free);

	if (c->free.n < c->low)
		c->low = c->free.n;
	return gp;
}

static void push_global(struct gclass *c, struct g *gp)
{
	if (!c->free.head)
		c->tail = gp;
	gfree_push(&c->free, gp);
	c->scavenged = false;
}

/* For one that has not been used for a while: it comes last. */
static void append_global(struct gclass *c, struct g *gp)
{
	if (!c->free.head) {
		push_global(c, gp);
		return;
	}
	c->scavenged = false;
	gp->schedlink = NULL;
	c->tail->schedlink = gp;
	c->tail = gp;
	c->free.n++;
}

/* Moves Gs between a P's list and the global one until the P holds want. */
static void balance(struct p *pp, uint32_t class, int want)
{
	struct gfreelist *own = &pp->gfree[class];
	struct gclass *c = &sched.gclass[class];

	lock(&sched.gfreelock);
	while (own->n > want)
		push_global(c, gfree_pop(own));
	while (own->n < want && c->free.head)
		gfree_push(own, pop_global(c));
	unlock(&sched.gfreelock);
}

/* To the end of the global lists: next time the P takes others, and in turn all go past scavenge.c. */
void g_cachefree(struct p *pp)
{
	store_relaxed(&pp->gfreeflush, false);
	for (uint32_t i = 0; i < CLASS_OTHER; i++) {
		struct gfreelist *own = &pp->gfree[i];

		if (!own->n)
			continue;
		lock(&sched.gfreelock);
		while (own->head)
			append_global(&sched.gclass[i], gfree_pop(own));
		unlock(&sched.gfreelock);
	}
}

int32_t g_cached(const struct p *pp)
{
	int32_t n = 0;

	for (uint32_t i = 0; i < CLASS_OTHER; i++)
		n += load_relaxed(&pp->gfree[i].n);
	return n;
}

static inline bool scarce(void)
{
	return load_relaxed(&sched.scarce);
}

static inline struct g *take_regular(uint32_t class)
{
	struct gclass *c = &sched.gclass[class];
	struct p *pp;
	struct g *gp;

	pin();
	pp = getp();
	if (pp) {
		struct gfreelist *own = &pp->gfree[class];

		/* Of scarce ones no more than is needed: the taker may go on with another P. */
		if (!own->head && load_relaxed(&c->free.head))
			balance(pp, class, scarce() ? 1 : GFREE_REFILL);
		gp = gfree_pop(own);
		unpin();
		return gp;
	}
	unpin();
	lock(&sched.gfreelock);
	gp = pop_global(c);
	unlock(&sched.gfreelock);
	return gp;
}

static struct g *take_other(const struct shape *s)
{
	struct gclass *c = &sched.gclass[CLASS_OTHER];
	struct g **link, *gp = NULL;
	int looks = 0;

	if (load_relaxed(&nother) == 0)
		return NULL;
	lock(&sched.gfreelock);
	for (link = &c->free.head; *link && looks < OTHER_LOOKS; link = &(*link)->schedlink, looks++) {
		if ((*link)->stack.size != s->size || (*link)->stack.guard != s->guard)
			continue;
		gp = *link;
		*link = gp->schedlink; /* (nothing is ever appended here) */
		store_relaxed(&nother, (uint32_t)--c->free.n);
		if (c->free.n < c->low)
			c->low = c->free.n;
		break;
	}
	unlock(&sched.gfreelock);
	return gp;
}

struct g *g_take(const struct gattr *a)
{
	struct g *gp = a->class == CLASS_OTHER ? take_other(&a->shape) : take_regular(a->class);

	if (likely(gp))
		return gp;
	gp = g_make();
	lot_grow(g_count());
	if (gp)
		gp->class = a->class;
	return gp;
}

void g_free(struct g *gp)
{
	uint32_t class = gp->class;
	struct p *pp;

	if (unlikely(load_acquire(&gp->m)))
		g_await_off(gp);
	pin();
	pp = getp();
	if (class != CLASS_OTHER && pp && likely(!scarce())) {
		gfree_push(&pp->gfree[class], gp);
		if (pp->gfree[class].n >= GFREE_HIGH)
			balance(pp, class, GFREE_LOW);
		if (unlikely(load_relaxed(&pp->gfreeflush)))
			g_cachefree(pp);
		unpin();
		return;
	}
	if (pp && load_relaxed(&pp->gfreeflush))
		g_cachefree(pp);
	unpin();
	lock(&sched.gfreelock);
	push_global(&sched.gclass[class], gp);
	if (class == CLASS_OTHER)
		store_relaxed(&nother, (uint32_t)sched.gclass[CLASS_OTHER].free.n);
	unlock(&sched.gfreelock);
}

/* ---- for scavenge.c -------------------------------------------------------------------------- */

bool gfree_has(uint32_t class)
{
	return load_relaxed(&sched.gclass[class].free.head) != NULL;
}

struct g *gfree_take_any(void)
{
	struct g *gp = NULL;

	lock(&sched.gfreelock);
	for (uint32_t i = 0; i < NCLASS && !gp; i++)
		if (i == CLASS_OTHER || sched.gclass[i].size)
			gp = pop_global(&sched.gclass[i]);
	store_relaxed(&nother, (uint32_t)sched.gclass[CLASS_OTHER].free.n);
	unlock(&sched.gfreelock);
	return gp;
}

bool gfree_unscavenged(void)
{
	for (uint32_t i = 0; i < NCLASS; i++) {
		struct gclass *c = &sched.gclass[i];

		if (load_relaxed(&c->free.n) &&
		    !load_relaxed(&c->scavenged))
			return true;
	}
	return false;
}

bool gfree_cool(void)
{
	bool any = false;

	lock(&sched.gfreelock);
	for (uint32_t i = 0; i < NCLASS; i++) {
		struct gclass *c = &sched.gclass[i];

		c->cold = c->low < c->free.n ? c->low : c->free.n;
		c->low = c->free.n;
		any |= c->cold > 0 && !c->scavenged;
	}
	unlock(&sched.gfreelock);
	return any;
}

int32_t gfree_take_cold(uint32_t class, int32_t most, struct gfreelist *to)
{
	struct gclass *c = &sched.gclass[class];
	int32_t n;

	lock(&sched.gfreelock);
	n = c->free.n;
	while (c->cold > 0 && to->n < most && !c->scavenged) {
		struct g *gp = gfree_pop(&c->free);

		if (!gp)
			break;
		c->cold--;
		gfree_push(to, gp);
	}
	if (class == CLASS_OTHER)
		store_relaxed(&nother, (uint32_t)c->free.n);
	unlock(&sched.gfreelock);
	return n;
}

void gfree_put_cold(uint32_t class, struct gfreelist *from)
{
	struct gclass *c = &sched.gclass[class];
	int32_t all = from->n;
	struct g *gp;

	lock(&sched.gfreelock);
	while ((gp = gfree_pop(from)))
		push_global(c, gp);
	/* Nothing has come since, and of what there is nothing is in use. */
	c->scavenged = c->cold == 0 && c->free.n == all;
	if (class == CLASS_OTHER)
		store_relaxed(&nother, (uint32_t)c->free.n);
	unlock(&sched.gfreelock);
}

void gfree_fork_child(void)
{
	/* Another P's lists may have been half moved when the copy was made. */
	lock_init(&sched.gfreelock, Gfree);
	for (uint32_t i = 0; i < NCLASS; i++) {
		sched.gclass[i].free = (struct gfreelist){ 0 };
		sched.gclass[i].low = sched.gclass[i].cold = 0;
	}
	store_relaxed(&nother, 0);
}
