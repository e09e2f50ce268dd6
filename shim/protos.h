/*
 * protos: the libc types that symbols.def speaks of.  Never built with _FORTIFY_SOURCE or
 * _FILE_OFFSET_BITS: both rename the very functions that are defined here.
 */
#ifndef WEFT_SHIM_PROTOS_H
#define WEFT_SHIM_PROTOS_H

#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
/* Newer headers declare these with structures that older ones lack. */
#define openat2 openat2_of_the_header
#define sched_setattr sched_setattr_of_the_header
#define sched_getattr sched_getattr_of_the_header
#include <fcntl.h>
#include <sched.h>
#undef openat2
#undef sched_setattr
#undef sched_getattr
#include <grp.h>
#include <link.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <semaphore.h>
#include <shadow.h>
/*
 * <signal.h> gives the C name sigpause the linker name __xpg_sigpause (X/Open's: one signal); the
 * linker name sigpause is BSD's (a mask).  Both are exported here under their linker names, so
 * the header's declaration is moved out of the way.
 */
#define sigpause sigpause_of_the_header
#include <signal.h>
#undef sigpause
#include <spawn.h>
/*
 * The same with scanf: the headers give its names to the linker names of the compiled-for standard.
 */
#define fscanf fscanf_of_the_header
#define scanf scanf_of_the_header
#define vfscanf vfscanf_of_the_header
#define vscanf vscanf_of_the_header
#define fwscanf fwscanf_of_the_header
#define wscanf wscanf_of_the_header
#define vfwscanf vfwscanf_of_the_header
#define vwscanf vwscanf_of_the_header
#include <stdio.h>
#include <wchar.h>
#undef fread_unlocked /* macros of the optimising header */
#undef fwrite_unlocked
#undef fscanf
#undef scanf
#undef vfscanf
#undef vscanf
#undef fwscanf
#undef wscanf
#undef vfwscanf
#undef vwscanf
#include <malloc.h> /* includes stdio.h */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* <resolv.h> is not used: it renames functions with macros.  Its state is only passed through. */
struct __res_state;

#endif
