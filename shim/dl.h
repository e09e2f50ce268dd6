/*
 * dl: what fork must do about the loader's locks.
 */
#ifndef WEFT_SHIM_DL_H
#define WEFT_SHIM_DL_H

#include "shim/shim.h"

/* In a fork child, once getg() is the survivor: locks that other Gs held are free again. */
void dl_fork_child(void) hidden;

#endif
