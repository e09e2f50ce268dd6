/*
 * gfree: free Gs, by the shape of their stacks.
 *
 * A dead G keeps its stack and its thread block; the next thread of the same shape takes all three
 * over.  The first shapes that a program asks for are classes, each with a list of free Gs in each P
 * (at 64, half goes to the class's common list; refilled by 32): what the first thread asked for is
 * worth no more than what the second did.  A program with more shapes than classes has its other
 * stacks in one list, of which the first few are looked at.
 *
 * A G without a stack is bare (g.c): its struct and its area are for any shape.
 */
#include "runtime/sched/gmp.h"

enum { ODD = NCLASS - 1, ODD_LOOKS = 64 };

static _Atomic uint32_t nodd; /* length of the odd list, a hint */

/* ---- classes --------------------------------------------------------------------------------- */

static bool same(const struct gclass *c, const struct shape *s)
{
	return c->size == s->size && c->guard == s->guard;
}

static uint32_t find(const struct shape *s, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < n; i++)
		if (same(&sched.gclass[i], s))
			return i;
	return ODD;
}

/* The user's own stacks are a class like others: of no size. */
uint32_t gfree_class(const struct shape *s)
{
	/* Acquire: a class is complete before it is counted. */
	uint32_t n = atomic_load_explicit(&sched.ngclass, memory_order_acquire);
	uint32_t i = find(s, 0, n), now;

	if (likely(i != ODD) || n == ODD)
		return i;
	lock(&sched.gfreelock);
	now = atomic_load(&sched.ngclass);
	i = find(s, n, now);
	if (i == ODD && now < ODD) {
		i = now;
		sched.gclass[i].size = s->size;
		sched.gclass[i].guard = s->guard;
		atomic_store_explicit(&sched.ngclass, now + 1, memory_order_release);
	}
	unlock(&sched.gfreelock);
	return i;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* From a class's common list, whose shortest length since the last look scavenge.c wants to know. */
static struct g *pop_common(struct gclass *c)
{
	struct g *gp = gfree_pop(&c->free);

	if (c->free.n < c->low)
		c->low = c->free.n;
	return gp;
}

static void push_common(struct gclass *c, struct g *gp)
{
	if (!c->free.head)
		c->tail = gp;
	gfree_push(&c->free, gp);
	c->settled = false;
}

/* For one that has not been used for a while: it comes last. */
static void append_common(struct gclass *c, struct g *gp)
{
	if (!c->free.head) {
		push_common(c, gp);
		return;
	}
	c->settled = false;
	gp->schedlink = NULL;
	c->tail->schedlink = gp;
	c->tail = gp;
	c->free.n++;
}

/* Moves Gs between a P's list and the common one until the P holds want. */
static void balance(struct p *pp, uint32_t class, int want)
{
	struct gfreelist *own = &pp->gfree[class];
	struct gclass *c = &sched.gclass[class];

	lock(&sched.gfreelock);
	while (own->n > want)
		push_common(c, gfree_pop(own));
	while (own->n < want && c->free.head)
		gfree_push(own, pop_common(c));
	unlock(&sched.gfreelock);
}

/* To the end of the common lists: next time the P takes others, and in turn all go past scavenge.c. */
void g_cachefree(struct p *pp)
{
	atomic_store_explicit(&pp->giveup, false, memory_order_relaxed);
	for (uint32_t i = 0; i < ODD; i++) {
		struct gfreelist *own = &pp->gfree[i];

		if (!own->n)
			continue;
		lock(&sched.gfreelock);
		while (own->head)
			append_common(&sched.gclass[i], gfree_pop(own));
		unlock(&sched.gfreelock);
	}
}

int32_t g_cached(const struct p *pp)
{
	int32_t n = 0;

	for (uint32_t i = 0; i < ODD; i++)
		n += __atomic_load_n(&pp->gfree[i].n, __ATOMIC_RELAXED);
	return n;
}

static inline bool scarce(void)
{
	return atomic_load_explicit(&sched.scarce, memory_order_relaxed);
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
		if (!own->head && __atomic_load_n(&c->free.head, __ATOMIC_RELAXED))
			balance(pp, class, scarce() ? 1 : GFREE_REFILL);
		gp = gfree_pop(own);
		unpin();
		return gp;
	}
	unpin();
	lock(&sched.gfreelock);
	gp = pop_common(c);
	unlock(&sched.gfreelock);
	return gp;
}

static struct g *take_odd(const struct shape *s)
{
	struct gclass *c = &sched.gclass[ODD];
	struct g **link, *gp = NULL;
	int looks = 0;

	if (atomic_load_explicit(&nodd, memory_order_relaxed) == 0)
		return NULL;
	lock(&sched.gfreelock);
	for (link = &c->free.head; *link && looks < ODD_LOOKS; link = &(*link)->schedlink, looks++) {
		if ((*link)->stack.size != s->size || (*link)->stack.guard != s->guard)
			continue;
		gp = *link;
		*link = gp->schedlink; /* (nothing is ever appended here) */
		atomic_store(&nodd, (uint32_t)--c->free.n);
		if (c->free.n < c->low)
			c->low = c->free.n;
		break;
	}
	unlock(&sched.gfreelock);
	return gp;
}

struct g *g_take(const struct gattr *a)
{
	struct g *gp = a->class == ODD ? take_odd(&a->shape) : take_regular(a->class);

	if (likely(gp))
		return gp;
	gp = g_make();
	if (gp)
		gp->class = a->class;
	return gp;
}

void g_free(struct g *gp)
{
	uint32_t class = gp->class;
	struct p *pp;

	pin();
	pp = getp();
	if (class != ODD && pp && likely(!scarce())) {
		gfree_push(&pp->gfree[class], gp);
		if (pp->gfree[class].n >= GFREE_HIGH)
			balance(pp, class, GFREE_LOW);
		if (unlikely(atomic_load_explicit(&pp->giveup, memory_order_relaxed)))
			g_cachefree(pp);
		unpin();
		return;
	}
	if (pp && atomic_load_explicit(&pp->giveup, memory_order_relaxed))
		g_cachefree(pp);
	unpin();
	lock(&sched.gfreelock);
	push_common(&sched.gclass[class], gp);
	if (class == ODD)
		atomic_store(&nodd, (uint32_t)sched.gclass[ODD].free.n);
	unlock(&sched.gfreelock);
}

/* ---- for scavenge.c -------------------------------------------------------------------------- */

bool gfree_has(uint32_t class)
{
	return __atomic_load_n(&sched.gclass[class].free.head, __ATOMIC_RELAXED) != NULL;
}

struct g *gfree_take_any(void)
{
	struct g *gp = NULL;

	lock(&sched.gfreelock);
	for (uint32_t i = 0; i < NCLASS && !gp; i++)
		if (i == ODD || sched.gclass[i].size)
			gp = pop_common(&sched.gclass[i]);
	atomic_store(&nodd, (uint32_t)sched.gclass[ODD].free.n);
	unlock(&sched.gfreelock);
	return gp;
}

bool gfree_unsettled(void)
{
	for (uint32_t i = 0; i < NCLASS; i++) {
		struct gclass *c = &sched.gclass[i];

		if (__atomic_load_n(&c->free.n, __ATOMIC_RELAXED) &&
		    !__atomic_load_n(&c->settled, __ATOMIC_RELAXED))
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
		any |= c->cold > 0 && !c->settled;
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
	while (c->cold > 0 && to->n < most && !c->settled) {
		struct g *gp = gfree_pop(&c->free);

		if (!gp)
			break;
		c->cold--;
		gfree_push(to, gp);
	}
	if (class == ODD)
		atomic_store(&nodd, (uint32_t)c->free.n);
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
		push_common(c, gp);
	/* Nothing has come since, and of what there is nothing is in use. */
	c->settled = c->cold == 0 && c->free.n == all;
	if (class == ODD)
		atomic_store(&nodd, (uint32_t)c->free.n);
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
	atomic_store(&nodd, 0);
}
