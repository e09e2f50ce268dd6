/*
 * newer.h: what the headers of an older libc or kernel lack.  Include it after all others.
 */
#ifndef COMPARE_NEWER_H
#define COMPARE_NEWER_H

#include "../../../runtime/os/linux/newer.h"

#include <unistd.h>

#if !__GLIBC_PREREQ(2, 35) /* the function came with 2.35 */
#define epoll_pwait2(ep, events, n, timeout, mask) ((int)syscall(SYS_epoll_pwait2, ep, events, n, timeout, mask, 8L))
#endif

#endif
