/*
 * broken: tests break one field of a block on purpose, to see that its check can fail.
 *
 * tcb_break names the field; it is NULL in every program.  The comparison costs one load of a
 * constant NULL on creation and nowhere hot.
 */
#ifndef WEFT_COMPAT_BROKEN_H
#define WEFT_COMPAT_BROKEN_H

#include "compat/tcb.h"

#include <stdbool.h>
#include <string.h>

static inline bool broken(const char *field)
{
	return __builtin_expect(tcb_break != NULL, 0) && !strcmp(tcb_break, field);
}

#endif
