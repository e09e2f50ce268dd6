/*
 * idmap: things that are found by a number.  A thing's address never changes: others may come while one is held.
 */
#ifndef WEFT_CTL_IDMAP_H
#define WEFT_CTL_IDMAP_H

#include <stddef.h>
#include <stdint.h>

/* Begins as zeros. */
struct idmap {
	void **all;                  /* the things, in the order in which they came */
	size_t n;
	struct idplace {
		uint64_t id;
		void *thing;         /* NULL: the place is free */
	} *place;
	size_t room;                 /* places: a power of two, or 0; all has half as many */
};

/* The thing of that number; at first it is size bytes of zeros.  NULL: no memory. */
void *idmap_at(struct idmap *x, uint64_t id, size_t size);
/* With all things. */
void idmap_free(struct idmap *x);

#endif
