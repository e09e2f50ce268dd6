/* single: main alone becomes the process's only kernel thread; see single.c. */
#ifndef WEFT_SHIM_SINGLE_H
#define WEFT_SHIM_SINGLE_H

#include "shim/shim.h"

/* The caller is main, alone: weft's own kernel threads end.  False: it is not, or they cannot. */
bool single_become(void) hidden;

void single_lists(void) hidden;       /* the list of the process's threads is about to be read */
void single_lists_again(void) hidden; /* a list is about to be read from its start, perhaps that one */

#endif
