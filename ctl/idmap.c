/*
 * idmap: see idmap.h.
 *
 * A table of pointers, of which half the places are free.  It grows when a thing is put in, never when one is found.
 *
 * Must never: move a thing.
 */
#include "ctl/idmap.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

static struct idplace *place_of(struct idplace *at, size_t room, uint64_t id)
{
	size_t i = (size_t)(id * 0x9e3779b97f4a7c15ULL >> 20) & (room - 1);

	while (at[i].thing && at[i].id != id)
		i = (i + 1) & (room - 1);
	return &at[i];
}

static bool grow(struct idmap *x)
{
	size_t room = x->room ? x->room * 2 : FIRST_ROOM;
	struct idplace *more = calloc(room, sizeof(*more));
	void **all = more ? realloc(x->all, room / 2 * sizeof(*all)) : NULL;

	if (!all) {
		free(more);
		return false;
	}
	for (size_t i = 0; i < x->room; i++)
		if (x->place[i].thing)
			*place_of(more, room, x->place[i].id) = x->place[i];
	free(x->place);
	x->place = more;
	x->all = all;
	x->room = room;
	return true;
}

void *idmap_at(struct idmap *x, uint64_t id, size_t size)
{
	struct idplace *at = x->room ? place_of(x->place, x->room, id) : NULL;
	void *thing;

	if (at && at->thing)
		return at->thing;
	if (x->n == x->room / 2 && !grow(x))
		return NULL;
	thing = calloc(1, size);
	if (!thing)
		return NULL;
	*place_of(x->place, x->room, id) = (struct idplace){ id, thing };
	return x->all[x->n++] = thing;
}

void idmap_free(struct idmap *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->all[i]);
	free(x->all);
	free(x->place);
	*x = (struct idmap){ 0 };
}
