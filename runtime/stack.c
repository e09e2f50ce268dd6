/*
 * stack: memory for Gs, as runtime/shape.c lays it out.
 *
 * Slots of the standard size are cut from reservations of 64 (one mapping each); other sizes get a
 * mapping of their own.  Where guards are cheap (os_guard_is_cheap) a million stacks are a few
 * thousand mappings.  On the program's own stack only the thread block is memory of ours.
 *
 * Slots are pooled with their Gs and never unmapped while a thread block in them is listed.
 *
 * Stacks become executable when an object asks for it (trampolines of nested functions), all of
 * them and for good, as libc's own; but never memory of the user.  A cheap guard stays through it,
 * so a whole slot is one range.
 */
#include "runtime/gmp.h"

enum { SLOTS = 64 };

static struct lock stacklock = LOCK_INIT(Stack);
static char *slab;       /* (stacklock) rest of the current reservation of standard slots */
static int slabslots;    /* (stacklock) */
static _Atomic bool executable; /* once true, for ever; see runtime_stacks_executable */

static bool standard(const struct stack *s)
{
	return !s->user && s->size == sched.stdstack;
}

static char *slot(const struct stack *s)
{
	size_t n = s->size;
	char *p = NULL;

	if (!standard(s))
		return os_reserve(n);
	lock(&stacklock);
	if (slabslots == 0) {
		slab = os_reserve(n * SLOTS);
		slabslots = slab ? SLOTS : 0;
	}
	if (slabslots) {
		p = slab;
		slab += n;
		slabslots--;
	}
	unlock(&stacklock);
	return p;
}

static void unslot(const struct stack *s)
{
	if (!standard(s)) {
		os_free(s->slot, s->size);
		return;
	}
	/*
	 * Only right after slot(): the guard could not be set.  Put back if nobody came in between.
	 */
	lock(&stacklock);
	if (slab == s->slot + s->size) {
		slab = s->slot;
		slabslots++;
	}
	unlock(&stacklock);
}

static void make_executable(const struct stack *s)
{
	size_t skip = os_guard_is_cheap() ? 0 : s->guard;

	if (s->slot && !s->user && s->size > skip)
		os_executable(s->slot + skip, s->size - skip);
}

/*
 * Pairs with stack_alloc: the new stack is in its G before the flag is read there, and the flag set
 * before Gs are read here.
 */
void runtime_stacks_executable(void)
{
	struct g *gp;

	atomic_store(&executable, true);
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < atomic_load(&sched.nallgs) && (gp = g_at(i)); i++)
		make_executable(&gp->stack);
}

/* The part of s that a life may ask for: on what it has, or on the program's own stack. */
void stack_fit(struct stack *s, const struct gattr *a, const struct shape *shape)
{
	s->base = a->stack ? a->stack : s->slot;
	s->top = a->stack ? s->base + a->stacksize : s->base + shape->top;
}

bool stack_alloc(struct stack *s, const struct gattr *a, const struct shape *shape)
{
	struct stack fresh = { .size = shape->size, .guard = shape->guard, .user = a->stack != NULL };

	*s = (struct stack){ 0 }; /* its G is kept, and must not think that it has one */
	fresh.slot = slot(&fresh);
	if (!fresh.slot)
		return false;
	if (os_guard(fresh.slot, fresh.guard)) {
		unslot(&fresh);
		return false;
	}
	fresh.area = shape_area(a, fresh.slot, fresh.size);
	stack_fit(&fresh, a, shape);
	*s = fresh;
	atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&executable, memory_order_relaxed)))
		make_executable(s);
	return true;
}

/* Only for stacks whose thread block is gone. */
void stack_free(struct stack *s)
{
	unslot(s);
	*s = (struct stack){ 0 };
}

void stack_fork_child(void)
{
	lock_init(&stacklock, Stack);
	slab = NULL;
	slabslots = 0;
}
