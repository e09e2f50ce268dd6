/*
 * hash: xxHash for the runtime, as a header with nothing to link.
 *
 * The runtime takes no memory of libc's.  The part of xxhash.h that would stands in an unoptimised object
 * though nothing calls it.  So malloc and free are defined away while xxhash.h is read.  stdlib.h comes
 * before, for xxhash.h includes it: this is the one file of the runtime that may.
 * Must never: offer a hash that keeps state in memory of its own.
 */
#ifndef WEFT_HASH_H
#define WEFT_HASH_H

#include <stdlib.h>

/* Our -D__NO_INLINE__ concerns libc's headers; xxhash.h would take it for the word to inline nothing. */
#define XXH_NO_INLINE_HINTS 0
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#define malloc(n) NULL
#define free(p) ((void)(p))
#include <xxhash.h>
#undef malloc
#undef free

#endif
