/*
 * list: objects that are linked through a member of their own, the newest first; each can be taken out without
 * a search.
 *
 * The head is an atomic word, NULL when the list is empty, so that a thread can see without the lock whether there is
 * anything; what it must be ordered with is said where the head is declared.  All else is under the caller's lock.
 *
 * Must never: be walked without the lock under which it is changed.
 */
#ifndef WEFT_LIST_H
#define WEFT_LIST_H

#include <stddef.h>

#include "runtime/base/atomic.h"

struct listlink {
	struct listlink *_Atomic next;
	struct listlink *_Atomic *back; /* what points here: the head, or next of the one before */
};

typedef struct listlink *_Atomic listhead;

static inline void list_put(listhead *head, struct listlink *l)
{
	struct listlink *first = load_relaxed(head);

	store_relaxed(&l->next, first);
	l->back = head;
	if (first)
		first->back = &l->next;
	store_relaxed(head, l);
}

static inline void list_take(const struct listlink *l)
{
	struct listlink *next = load_relaxed(&l->next);

	store_relaxed(l->back, next);
	if (next)
		next->back = l->back;
}

/* The object whose member l is; NULL for NULL. */
#define LIST_OBJECT(l, type, member)                                                               \
	({                                                                                         \
		struct listlink *l_ = (l);                                                         \
		l_ ? (type *)(void *)((char *)l_ - offsetof(type, member)) : NULL;                 \
	})

/* The body may take the object out, but not give its memory back. */
#define LIST_EACH(type, object, head, member)                                                      \
	for (type *object = LIST_OBJECT(load_relaxed(head), type, member); object;                 \
	     object = LIST_OBJECT(load_relaxed(&object->member.next), type, member))

#endif
