/* mainarena: see mainarena.c. */
#ifndef WEFT_COMPAT_MAINARENA_H
#define WEFT_COMPAT_MAINARENA_H

#include "compat/glibc.h"

/* On main; fresh is the block of a live thread that has not called malloc. */
void mainarena_find(const char *fresh) hidden;

/* On another thread that has not: proves it, or forgets it. */
void mainarena_prove(void) hidden;

/*
 * The calling thread, which is no G, allocates from main's arena until it returns it.  False: not
 * known, or the thread has an arena; then there is nothing to return.
 */
bool mainarena_borrow(void) hidden;
void mainarena_return(void) hidden;

/* Where the word is, from the thread pointer; false: not known. */
bool mainarena_word(ptrdiff_t *at) hidden;

#endif
