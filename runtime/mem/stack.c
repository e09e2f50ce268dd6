/*
 * stack: slots for the stacks of Gs, as runtime/mem/stackshape.c divides them.
 *
 * A class (gfree.c) has a reservation from which its slots are cut, twice as many each time and 64 at
 * most: where guards are cheap (os_guard_is_cheap) a million stacks are a few thousand mappings, and
 * what is reserved is never more than twice what is used.  One slot at a time is reserved where
 * address space counts: with a limit of it, and while mlockall() fills whatever is mapped.  A slot is
 * unmapped by itself, in whatever reservation it was.
 *
 * Stacks become executable when an object asks for it (trampolines of nested functions), all of
 * them and for good, as libc's own; but never memory of the user.  A cheap guard stays through it,
 * so a whole slot is one range.
 */
#include "runtime/sched/gmp.h"

#include <errno.h>

enum { STACK_SLOTS = 64 }; /* of one reservation, at most */

static struct lock stacklock = LOCK_INIT(Stack); /* reservations; a slot, while others may use it */
static _Atomic bool filled;     /* mlockall(MCL_FUTURE): all that is mapped gets memory at once */

/* ---- reservations ---------------------------------------------------------------------------- */

uint32_t reserve_count(uint32_t next, size_t each)
{
	uint32_t n = next ? next : 1;

	if (load_acquire(&filled) || each > SIZE_MAX / STACK_SLOTS || os_memory_is_limited())
		return 1;
	return n < STACK_SLOTS ? n : STACK_SLOTS;
}

/* What is not cut yet goes back, and the next reservation is small again (L stack). */
static void trim(struct reservation *r)
{
	if (r->left)
		os_free(r->at, r->left * r->each);
	for (int i = 0; i < RESERVATION_READY; i++) {
		if (r->ready[i].n)
			os_free(r->ready[i].at, r->ready[i].n * r->each);
		r->ready[i].n = 0;
	}
	r->left = r->next = 0;
}

/*
 * A new reservation: as large as is fit now and as the kernel allows (L stack).  Shapes that share a class
 * come in turn, so of each only one is reserved, and nothing stays that another cannot be cut from.
 */
static void reserve(struct reservation *r, size_t each, size_t guard)
{
	uint32_t n;
	char *p = NULL;

	if (r->each != each || r->guard != guard)
		trim(r);
	n = reserve_count(r->next, each);
	while (n && !(p = os_reserve(n * each)))
		n /= 2;
	/* What others made ready meanwhile stays. */
	r->at = p;
	r->each = each;
	r->guard = guard;
	r->left = n;
	r->next = n * 2;
}

/* A piece that has its guard; NULL: there is none (L stack). */
static char *take_ready(struct reservation *r)
{
	for (int i = 0; i < RESERVATION_READY; i++) {
		char *p = r->ready[i].at;

		if (!r->ready[i].n)
			continue;
		r->ready[i].at += r->each;
		r->ready[i].n--;
		return p;
	}
	return NULL;
}

/* Pieces for which one system call makes guards, at least one: the caller's alone from now on (L stack). */
static char *take_row(struct reservation *r, uint32_t *n)
{
	char *p = r->at;

	_Static_assert(STACK_SLOTS / 4 <= OS_GUARDS_MAX, "a quarter is one call");
	if (!r->left)
		return NULL;
	/*
	 * A quarter: each guard costs a page of the kernel's tables, which a stack that is never made would not
	 * need.
	 */
	*n = r->guard ? r->next / 2 / 4 : 1;
	*n = *n < 1 ? 1 : *n < r->left ? *n : r->left;
	r->at += *n * r->each;
	r->left -= *n;
	return p;
}

/* n pieces from p on, of which all have guards.  They are for others, where they are still wanted. */
static void give_row(struct reservation *r, char *p, uint32_t n, size_t each, size_t guard)
{
	bool kept = false;

	lock(&stacklock);
	for (int i = 0; i < RESERVATION_READY && !kept && !load_acquire(&filled); i++) {
		if (r->each != each || r->guard != guard || r->ready[i].n)
			continue;
		r->ready[i].at = p;
		r->ready[i].n = n;
		kept = true;
	}
	unlock(&stacklock);
	if (!kept)
		os_free(p, n * each);
}

/* The first of n pieces that are the caller's alone. */
static char *guard_row(struct reservation *r, char *p, uint32_t n, size_t each, size_t guard)
{
	uint32_t done = n > 1 && os_guards(p, each, n, guard) ? n : 0;

	while (done < n && !os_guard(p + done * each, guard))
		done++;
	if (done < n)
		os_free(p + done * each, (n - done) * each);
	if (done > 1)
		give_row(r, p + each, done - 1, each, guard);
	return done ? p : NULL;
}

/*
 * No guard is made under the lock: where several Ms make threads, each waited for the other's system calls, and by a
 * sleep (figures: README.md).
 */
char *reservation_cut(struct reservation *r, size_t each, size_t guard)
{
	uint32_t n = 0;
	char *p;

	lock(&stacklock);
	p = r->each == each && r->guard == guard ? take_ready(r) : NULL;
	if (!p) {
		if (!r->left || r->each != each || r->guard != guard)
			reserve(r, each, guard);
		p = take_row(r, &n);
	}
	unlock(&stacklock);
	return n ? guard_row(r, p, n, each, guard) : p;
}

void reservation_trim(struct reservation *r)
{
	lock(&stacklock);
	trim(r);
	unlock(&stacklock);
}

bool runtime_memory_filled(bool future)
{
	/* What was reserved for stacks to come would be filled as well, here or by the caller. */
	for (uint32_t i = 0; i < NCLASS; i++)
		reservation_trim(&sched.gclass[i].slots);
	tlsarea_trim();
	return exchange_acq_rel(&filled, future);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void make_executable(const struct stack *s)
{
	size_t skip = os_guard_is_cheap() ? 0 : s->guard;

	if (s->slot && s->size > skip)
		os_executable(s->slot + skip, s->size - skip);
}

/*
 * seq_cst with the fence in stack_alloc(): the new stack is in its G before FROMNOW_EXECUTABLE is read there,
 * and that was set before Gs are read here.
 */
void stacks_make_executable(void)
{
	struct g *gp;

	fence_seqcst(); /* seq_cst with the fence in stack_alloc() */
	for (uint32_t i = 0; i < load_acquire(&sched.nallgs) && (gp = g_at(i)); i++) {
		lock(&stacklock); /* not what was unmapped meanwhile, and is another's memory now */
		make_executable(&gp->stack);
		unlock(&stacklock);
	}
}

/*
 * In the child of a fork: a stack of a G that the fork left behind.  The parent's threads ran while the
 * pages were copied, so a G may be half made: only a stack whose every field is right is one.  It is
 * mapped: it stood in its G after it was mapped, and no more before it was unmapped (stack_free).
 */
bool stack_is_whole(const struct stack *s)
{
	return s->slot && s->guard < s->size && s->base >= s->slot && s->top <= s->slot + s->size &&
	       s->base + s->guard < s->top;
}

bool stack_alloc(struct stack *s, const struct gattr *a)
{
	struct stack fresh = { .size = a->shape.size, .guard = a->shape.guard };

	if (!a->shape.user) {
		fresh.slot = reservation_cut(&sched.gclass[a->class].slots, fresh.size, fresh.guard);
		if (!fresh.slot)
			return false;
	}
	stack_fit(&fresh, a);
	*s = fresh;
	fence_seqcst(); /* seq_cst with the fence in stacks_make_executable() */
	if (unlikely(fromnow_holds(FROMNOW_EXECUTABLE)))
		make_executable(s);
	return true;
}

/*
 * to, which has not begun, gets the stack of from, which is over, if that has pages and its own has none; from gets
 * that.  Ten thousand threads that end without having waited then touch one stack, and not ten thousand.  Not what
 * the program was told the address of.
 *
 * A fork copies what the caller has done up to some moment: of all moments there is none at which both Gs have one
 * stack, and from, which may be dead, is whole only when it has the other (stack_is_whole).
 */
void stack_trade(struct g *to, struct g *from)
{
	struct stack *a = &to->stack, *b = &from->stack;
	char *cold = a->slot, *hot = b->slot;
	ptrdiff_t top = a->top - a->base;
	uintptr_t told = (uintptr_t)cold << 1 | 1;

	if (!hot || !b->used || a->size != b->size || a->guard != b->guard ||
	    !cas_acq_rel(&to->shim.stackat, &told, (uintptr_t)hot << 1 | 1))
		return;
	b->slot = NULL;
	fence_compiler();
	a->slot = a->base = hot;
	a->top = hot + top;
	a->used = true;
	fence_compiler();
	b->top = cold + (b->top - b->base);
	b->base = cold;
	b->used = false;
	fence_compiler();
	b->slot = cold;
	fence_seqcst(); /* seq_cst with the fence in stacks_make_executable() */
	if (likely(!fromnow_holds(FROMNOW_EXECUTABLE)))
		return;
	make_executable(a);
	make_executable(b);
}

/* The stacks of k dead Gs, which lie from there on.  False: the kernel will not unmap them (too many mappings). */
static bool unmap(struct g *const *gs, uint32_t k, char *from, size_t size)
{
	struct stack was[SCAVENGE_BATCH];
	bool done;

	lock(&stacklock);
	for (uint32_t i = 0; i < k; i++) {
		was[i] = gs[i]->stack;
		gs[i]->stack = (struct stack){ 0 }; /* first: for stack_is_whole() what stands in a G is mapped */
	}
	fence_compiler();
	done = !from || !os_free(from, size);
	for (uint32_t i = 0; i < k && !done; i++)
		gs[i]->stack = was[i];
	unlock(&stacklock);
	return done;
}

/*
 * Of the first of n dead Gs, and of those after it that lie beside one another: by one system call, and the kernel
 * cuts no mapping in pieces that go next.  How many; 0: the first one's stays, and its pages are gone.
 */
uint32_t stack_free(struct g *const *gs, uint32_t n)
{
	struct stack *first = &gs[0]->stack;
	char *from = first->slot, *to = from + first->size;
	uint32_t k = 1;

	for (; from && k < n && k < SCAVENGE_BATCH; k++) {
		const struct stack *s = &gs[k]->stack;

		if (s->slot == to)
			to += s->size;
		else if (s->slot && s->slot + s->size == from)
			from = s->slot;
		else
			break;
	}
	if (unmap(gs, k, from, (size_t)(to - from)))
		return k;
	if (k > 1 && unmap(gs, 1, first->slot, first->size))
		return 1;
	stack_discard(first);
	return 0;
}

/* The pages that a dead G's stack touched go back. */
void stack_discard(struct stack *s)
{
	if (s->slot && s->used)
		os_discard(s->slot + s->guard, s->size - s->guard);
	s->used = false;
}

void stack_fork_child(void)
{
	lock_init(&stacklock, Stack);
	for (uint32_t i = 0; i < NCLASS; i++)
		sched.gclass[i].slots = (struct reservation){ 0 };
	tlsarea_fork_child();
	store_relaxed(&filled, false); /* locks of memory are not inherited */
}
