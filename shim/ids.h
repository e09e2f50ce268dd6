/* ids: see ids.c. */
#ifndef WEFT_SHIM_IDS_H
#define WEFT_SHIM_IDS_H

#include "shim/direct.h"
#include "shim/thread.h"

enum { G_ID_MIN = 0x10000000 };

/* The live thread of that id, main's process id included; NULL: no G's. */
struct thread *thread_by_id(long id) hidden;
/* The signal calls that name a thread, by number.  True: it was a G, *r is the result or -errno. */
bool ids_kill(long nr, long a, long b, long c, long d, long *r) hidden;
/* prctl(2) with the names of Gs; result or -errno. */
long osthread_prctl(long op, long a, long b, long c, long d) hidden;
/* The system calls that change what the kernel keeps per thread: nr is wired for. */
long osthread_call(long nr, long a, long b, long c, long d, long e, long f) hidden;
/* The calling G's name becomes that of its kernel thread (main, after fork). */
void osthread_showname(void) hidden;
/* A reading of a thread's CPU clock.  False: not one of ours; else *r is 0 or -errno. */
bool clock_call(clockid_t clock, struct timespec *ts, long *r) hidden;
void clock_init(void) hidden;
/* Main's name is the process's. */
void osthread_init(void) hidden;

#endif
