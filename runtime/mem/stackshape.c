/*
 * stackshape: the one place that adds up what a stack and its guard take.
 *
 *	slot          + guard                    + top            + size
 *	| guard pages | stack, as far as asked   | unused, < page |
 *
 * The stack holds what the program asked for, rounded down to the alignment of thread blocks as
 * libc rounds it, and pthread_getattr_np reports exactly these bytes.  The thread block is
 * elsewhere (tlsarea.c) and takes nothing from it.  A size may be anything that fits a size_t: every
 * sum is checked.
 *
 * Must never: be done again elsewhere.  (Two roundings of the same sum disagreed for sizes that are
 * no multiple of a page, and the stack then began inside the thread block.)
 */
#include "runtime/sched/gmp.h"

#include <errno.h>

enum { ALIGN_MIN = 64 }; /* of a thread block, when the caller asks for no more */

/* The next multiple of a page; false: there is none. */
static inline bool whole_pages(size_t *n, size_t page)
{
	return !__builtin_add_overflow(*n, page - 1, n) && ((*n &= -page), true);
}

int stack_shape(const struct gattr *a, struct shape *s)
{
	size_t align = a->tlsalign > ALIGN_MIN ? a->tlsalign : ALIGN_MIN;
	size_t usable = a->stacksize & -align, page;

	*s = (struct shape){ .user = a->stack != NULL };
	if (s->user)
		return 0;
	s->guard = a->guardsize;
	page = os_pagesize();
	/* As libc: what no stack of its own could have either is the caller's error. */
	if (!usable || !whole_pages(&s->guard, page) || __builtin_add_overflow(s->guard, usable, &s->top))
		return -EINVAL;
	s->size = s->top;
	return whole_pages(&s->size, page) ? 0 : -ENOMEM;
}
