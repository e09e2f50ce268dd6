/*
 * newer: numbers of the kernel that headers may lack although the kernel has what they stand for; the oldest that weft
 * is built with are those of 5.10.  Include it after the headers that may have them.
 *
 * Here for two: the runtime's own calls, and the shim (shim/shim.h), whose tables name calls of the program's.
 */
#ifndef WEFT_OS_NEWER_H
#define WEFT_OS_NEWER_H

#include <sys/syscall.h>

#ifndef SYS_clone3 /* 5.3 */
#define SYS_clone3 435
#endif
#ifndef SYS_close_range /* 5.9 */
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef SYS_epoll_pwait2 /* 5.11 */
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_landlock_create_ruleset /* 5.13 */
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_memfd_secret /* 5.14 */
#define SYS_memfd_secret 447
#endif
#ifndef FUTEX_LOCK_PI2 /* 5.14 */
#define FUTEX_LOCK_PI2 13
#endif
#ifndef MADV_POPULATE_WRITE /* 5.14 */
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_GUARD_INSTALL /* 6.13 */
#define MADV_GUARD_INSTALL 102
#endif
#ifndef PIDFD_SELF_THREAD /* 6.15; that of the process has had two numbers */
#define PIDFD_SELF_THREAD (-10000)
#endif

#endif
