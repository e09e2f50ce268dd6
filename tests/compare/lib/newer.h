/*
 * newer.h: what the headers of an older libc or kernel lack.  Include it after all others.
 */
#ifndef COMPARE_NEWER_H
#define COMPARE_NEWER_H

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2 /* 5.11 */
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_landlock_create_ruleset /* 5.13 */
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_memfd_secret /* 5.14 */
#define SYS_memfd_secret 447
#endif
#if !__GLIBC_PREREQ(2, 35) /* the function came with 2.35 */
#define epoll_pwait2(ep, events, n, timeout, mask) ((int)syscall(SYS_epoll_pwait2, ep, events, n, timeout, mask, 8L))
#endif

#endif
