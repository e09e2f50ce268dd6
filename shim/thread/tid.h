/* tid: see tid.c. */
#ifndef WEFT_SHIM_TID_H
#define WEFT_SHIM_TID_H

#include "shim/syscall/rawsyscall.h"
#include "shim/thread/thread.h"

enum { G_ID_MIN = 0x10000000 };

/* For a call that names a process: the id of any of its threads does. */
pid_t tid_process(pid_t id) hidden;

/* The live thread of that id, main's process id included; NULL: no G's. */
struct thread *thread_by_id(long id) hidden;
enum { KERNEL_SIGINFO = 48 }; /* bytes that the kernel uses of a siginfo_t */

/*
 * Does the kernel let the caller send this to id?  With a code that only the kernel itself gives, to none but
 * oneself.
 */
bool tid_may_send(long id, const siginfo_t *si) hidden;
/* The signal calls that name a thread, by number.  True: it was a G, *r is the result or -errno. */
bool tid_kill(long nr, long a, long b, long c, long d, long *r) hidden;
/*
 * threadstate.c.  The caller is locked to its kernel thread for good; passes: so are the threads that it
 * makes, to kernel threads that its own makes.
 */
void threadstate_own(bool passes) hidden;
/* A system call that changes the calling kernel thread: the same around it; result or -errno. */
struct call;
long threadstate_change(bool passes, const struct call *x) hidden;
void threadstate_born(struct thread *th) hidden; /* a thread of one that passes on */
void threadstate_shared(void) hidden;  /* perhaps they have: before it is asked what the caller owns */
void threadstate_disown(void) hidden;  /* all Ms have by now what the caller owned */
void threadstate_fork_child(void) hidden;
/* threadname.c: main's name becomes the process's */
void threadname_init(void) hidden;
/* threadname.c: the calling G's name becomes that of its kernel thread (main, after fork) */
void threadname_show(void) hidden;
/* threadname.c: prctl's name, cut to what there is room for.  0 */
long sets_name(const char *name) hidden;
/* rusage.c: ns of CPU time; ostid, used: as in struct gsystime. */
void thread_usage(struct thread *th, int ostid, uint64_t used, uint64_t *user, uint64_t *system) hidden;
void rusage_fork_child(void) hidden;
/* A reading of a thread's CPU clock.  False: not one of ours; else *r is 0 or -errno. */
bool cpuclock_call(clockid_t clock, struct timespec *ts, long *r) hidden;
/*
 * clock_nanosleep() on the CPU clock of another thread.  False: not one of ours.  cp: it is a
 * cancellation point.
 */
bool clock_sleep(clockid_t clock, int flags, const struct timespec *req, struct timespec *rem, bool cp,
		 int *err) hidden;
/* The thread whose CPU time the clock shows, if it is a G; else NULL. */
struct thread *clock_thread(clockid_t clock) hidden;
void cpuclock_init(void) hidden;

#endif
