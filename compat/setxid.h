/*
 * setxid: which thread the calling kernel thread is to libc.
 */
#ifndef WEFT_COMPAT_SETXID_H
#define WEFT_COMPAT_SETXID_H

#include "compat/tcb.h"

/* What the runtime's registered() says, or NULL before compat_setxid_wrap(). */
struct tcb *compat_registered(void) __attribute__((visibility("hidden")));

#endif
