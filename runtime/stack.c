/*
 * stack: memory for Gs: [ guard | stack, growing down | thread-block area ].
 *
 * The thread-block area lies directly above the stack's first byte and may share its page: a parked
 * thread then touches two or three pages instead of four.  Slots of the standard size are cut from
 * reservations of 64 (one mapping each); other sizes get a mapping of their own.  Where guards are
 * cheap (os_guard_is_cheap) a million stacks are a few thousand mappings.
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

static size_t up(size_t n, size_t a)
{
	return (n + a - 1) & ~(a - 1);
}

/* Bytes of the whole slot that a asks for; 0 for the program's own stack. */
size_t stack_class(const struct gattr *a)
{
	size_t page = os_pagesize();

	if (a->stack)
		return 0;
	return up(a->guardsize, page) + up(a->stacksize + a->tlsarea + 64, page);
}

static char *slot(size_t n)
{
	char *p = NULL;

	if (n != sched.stdstack)
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

static void unslot(char *p, size_t n)
{
	if (n != sched.stdstack) {
		os_free(p, n);
		return;
	}
	/*
	 * Only right after slot(): the guard could not be set.  Put back if nobody came in between.
	 */
	lock(&stacklock);
	if (slab == p + n) {
		slab = p;
		slabslots++;
	}
	unlock(&stacklock);
}

static void make_executable(const struct stack *s)
{
	size_t skip = os_guard_is_cheap() ? 0 : s->guard;

	if (s->base && !s->user && s->size > skip)
		os_executable(s->base + skip, s->size - skip);
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

bool stack_alloc(struct stack *s, const struct gattr *a)
{
	size_t page = os_pagesize(), n = stack_class(a);

	*s = (struct stack){ .areasize = a->tlsarea };
	if (a->stack) {
		s->user = true;
		s->base = a->stack;
		s->size = a->stacksize;
		s->guard = 0;
		s->top = s->base + s->size;
		s->area = os_reserve(up(a->tlsarea, page));
		return s->area != NULL;
	}
	s->base = slot(n);
	if (!s->base)
		return false;
	s->size = n;
	s->guard = up(a->guardsize, page);
	if (os_guard(s->base, s->guard)) {
		unslot(s->base, n);
		*s = (struct stack){ 0 }; /* its G is kept, and must not think that it has one */
		return false;
	}
	s->area = (char *)((uintptr_t)(s->base + n - a->tlsarea) & ~(uintptr_t)63);
	/*
	 * Whole pages of what was asked for, as libc would report it: what rounding left over stays
	 * unused.
	 */
	s->top = s->base + s->guard + up(a->stacksize, page);
	atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&executable, memory_order_relaxed)))
		make_executable(s);
	return true;
}

/* Only for stacks whose thread block is gone. */
void stack_free(struct stack *s)
{
	if (s->user)
		os_free(s->area, up(s->areasize, os_pagesize()));
	else
		unslot(s->base, s->size);
	*s = (struct stack){ 0 };
}

void stack_fork_child(void)
{
	lock_init(&stacklock, Stack);
	slab = NULL;
	slabslots = 0;
}
