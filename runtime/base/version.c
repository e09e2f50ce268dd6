/*
 * version: the one place that turns the configured version into code, for weft.h and for `weft
 * --version` to agree on.  Must never say anything about the program or the machine: that is the
 * dump's work.
 */
#define WEFT_IMPLEMENTATION
#include "weft.h"

const char *weft_version(void)
{
	return PACKAGE_VERSION;
}
