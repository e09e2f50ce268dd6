/*
 * selftest: the last proof, run on a block of ours by a child that shares our memory but nothing
 * that a crash of its would hurt.
 */
#ifndef WEFT_COMPAT_SELFTEST_H
#define WEFT_COMPAT_SELFTEST_H

#include "compat/tcb.h"

/* NULL, or what the child could not do. */
const char *smoke_run(struct tcb *t) __attribute__((visibility("hidden")));

#endif
