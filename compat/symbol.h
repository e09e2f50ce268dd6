/* symbol: see symbol.c. */
#ifndef WEFT_COMPAT_SYMBOL_H
#define WEFT_COMPAT_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

#ifndef hidden
#define hidden __attribute__((visibility("hidden")))
#endif

/* Another build of this library was loaded before this one, and the program's calls go there. */
bool symbol_is_second(void) hidden;

/* The file of one that was loaded behind this one, or NULL. */
const char *symbol_second(void) hidden;

/*
 * The definition that dlsym(RTLD_NEXT) or dlvsym(RTLD_NEXT) would give this library; version NULL
 * is the default version.  NULL: no object that came with the program has one.
 */
void *symbol_next(const char *name, const char *version) hidden;

struct symbol_name {
	const char *name, *version;
};

/* The same of n names, for less: found() gets the number of each and what it is. */
void symbol_next_all(unsigned n, struct symbol_name (*name)(unsigned), void *(*found)(unsigned, void *)) hidden;

/* The definition that the program itself is bound to, of the objects that came with it. */
void *symbol_first(const char *name) hidden;

/* The definition of libc itself or of the loader, whatever stands before it; size may be NULL. */
void *symbol_libc(const char *name, const char *version, size_t *size) hidden;

/* An address in the loader, however it was started. */
const void *symbol_loader(void) hidden;

#endif
