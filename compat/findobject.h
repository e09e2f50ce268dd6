/*
 * findobject: what the loader says of the object that holds an address, without a lock.
 *
 * _dl_find_object() and struct dl_find_object of <dlfcn.h> came with glibc 2.35 (its manual: "Dynamic Linker
 * Introspection").  weft looks the function up as it starts, for what is built with 2.34 runs on later ones as well:
 * so the struct stands here, under a name of weft's own, whatever the header has.
 */
#ifndef WEFT_COMPAT_FINDOBJECT_H
#define WEFT_COMPAT_FINDOBJECT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>

#include "compat/symbol.h"

/* As 64-bit CPUs have it. */
struct found_object {
	unsigned long long flags; /* always 0 so far */
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

#if __GLIBC_PREREQ(2, 35)
_Static_assert(sizeof(struct found_object) == sizeof(struct dl_find_object), "struct dl_find_object has another size");
_Static_assert(offsetof(struct found_object, map_start) == offsetof(struct dl_find_object, dlfo_map_start) &&
		       offsetof(struct found_object, link_map) == offsetof(struct dl_find_object, dlfo_link_map),
	       "struct dl_find_object has another layout");
#endif

/* 0: found; -1: no object is there. */
typedef int find_object_fn(void *pc, struct found_object *);

/* NULL: a libc before 2.35. */
static inline find_object_fn *find_object_libc(void)
{
	return (find_object_fn *)symbol_libc("_dl_find_object", NULL, NULL);
}

#endif
