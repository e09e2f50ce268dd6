/*
 * shape: the one place that knows how a stack, its guard and its thread block share memory.
 *
 *	base          + guard                    + top        area                 + size
 *	| guard pages | stack, as far as asked   | unused ... | thread block       |
 *
 * The stack holds what the program asked for, rounded down to the alignment of thread blocks as
 * libc rounds it, and pthread_getattr_np reports exactly these bytes.  The thread block lies above
 * and takes nothing from it.  guard and size are whole pages; the block ends with the slot's last
 * page, or, if it wants more than a page's alignment, at most that much before it.
 *
 * A size may be anything that fits a size_t: every sum is checked.
 *
 * Must never: be done again elsewhere.  (Two roundings of the same sum disagreed for sizes that are
 * no multiple of a page, and the stack then began inside the thread block.)
 */
#include "runtime/gmp.h"

#include <errno.h>

enum { ALIGN_MIN = 64 }; /* of a thread block, when nobody says more */

static size_t align_of(const struct gattr *a)
{
	return a->tlsalign > ALIGN_MIN ? a->tlsalign : ALIGN_MIN;
}

/* The next multiple of to, a power of two; false: there is none. */
static bool up(size_t *n, size_t to)
{
	return !__builtin_add_overflow(*n, to - 1, n) && ((*n &= -to), true);
}

/* Adds the thread block above n, which is where it may begin at the earliest. */
static int add_area(const struct gattr *a, size_t n, size_t *size)
{
	size_t page = os_pagesize(), align = align_of(a);

	/* The base is aligned to a page only: the rest is spent when the place is known. */
	if (!up(&n, align) || __builtin_add_overflow(n, a->tlsarea, &n) ||
	    (align > page && __builtin_add_overflow(n, align - page, &n)) || !up(&n, page))
		return -ENOMEM;
	*size = n;
	return 0;
}

int stack_shape(const struct gattr *a, struct shape *s)
{
	size_t usable = a->stacksize & -align_of(a);

	*s = (struct shape){ .guard = a->guardsize };
	if (a->stack) {
		s->guard = 0;
		return add_area(a, 0, &s->size);
	}
	/* As libc: what no stack of its own could have either is the caller's error. */
	if (!usable || !up(&s->guard, os_pagesize()) ||
	    __builtin_add_overflow(s->guard, usable, &s->top))
		return -EINVAL;
	return add_area(a, s->top, &s->size);
}

char *shape_area(const struct gattr *a, char *base, size_t size)
{
	return (char *)((uintptr_t)(base + size - a->tlsarea) & -align_of(a));
}
