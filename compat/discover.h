/*
 * discover: from descriptors and donors to the layout.  Each function is one step of the order in
 * selftest.c, returns NULL or the check that failed, and writes nothing outside `layout`.
 */
#ifndef WEFT_COMPAT_DISCOVER_H
#define WEFT_COMPAT_DISCOVER_H

#include "compat/donor.h"

/* What the published descriptors say, and whether that is consistent.  Starts no thread. */
const char *discover_static(void) hidden;
/* The calling thread's own block agrees with it. */
const char *discover_self(struct donors *ds) hidden;
/* All three donors run: compares their blocks. */
const char *discover_compare(const struct donors *ds) hidden;
/* Offset in pthread_cond_t of its flag word; needs no thread. */
const char *discover_cond(void) hidden;
/* What a FILE's lock counts when it is held once; needs no thread. */
const char *discover_file(void) hidden;

#endif
