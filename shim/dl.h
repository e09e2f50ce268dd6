/*
 * dl: the loader for the rest of the shim.
 */
#ifndef WEFT_SHIM_DL_H
#define WEFT_SHIM_DL_H

#include "shim/shim.h"

/* dlopen, past the program's RUNPATH. */
void *dl_open_gated(const char *file, int mode) hidden;
/* In a fork child, once getg() is the survivor: locks that other Gs held are free again. */
void dl_fork_child(void) hidden;

#endif
