/*
 * dlopen: the loader for the rest of the shim.
 */
#ifndef WEFT_SHIM_DLOPEN_H
#define WEFT_SHIM_DLOPEN_H

#include <link.h>

#include "shim/shim.h"

/* dlopen, past the program's RUNPATH. */
void *dl_open_gated(const char *file, int mode) hidden;
/* False: another G is inside dl_iterate_phdr, and fn saw nothing. */
bool dl_each_object(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg) hidden;
/* The calling G is inside dl_iterate_phdr: it has ld.so's lock of the list of objects. */
bool dl_list_held(void) hidden;
bool dl_loading(void) hidden; /* a thread may be loading an object */
/*
 * execstack.c: objects have been loaded: do they want executable stacks?  False: could not look
 * (as dl_each_object).
 */
bool execstack_look(void) hidden;
/* In a fork child, once getg() is the survivor: locks that other Gs held are free again. */
void dl_fork_child(void) hidden;

#endif
