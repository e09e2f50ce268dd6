/*
 * shim: POSIX semantics on top of the runtime.
 *
 * Every exported libc name is one line in symbols.def and one function here.  The table makes: the
 * struct of libc's own functions (real.NAME, always callable: an unresolved slot binds itself at
 * first call), the declarations that make a wrong prototype a compile error, and the check that the
 * exports are exactly the table.  A wrapper has this shape:
 *
 *	EXPORT ssize_t read(int fd, void *buf, size_t n)
 *	{
 *		if (!on_g())
 *			return real.read(fd, buf, n);
 *		return syscall_ret(block3(SYS_read, fd, buf, n));
 *	}
 *
 * Must never: call an interposed name by its plain name (use real.NAME or the shim_ twin); include
 * the scheduler's insides.
 */
#ifndef WEFT_SHIM_H
#define WEFT_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "runtime/g.h"
#include "runtime/os/linux/newer.h"
#include "runtime/park.h"
#include "runtime/preempt.h"
#include "runtime/running.h"
#include "runtime/sigmask.h"
#include "shim/protos.h"

struct sched_attr; /* of glibc since 2.41 */

#define EXPORT __attribute__((visibility("default")))

/*
 * TAIL f(x); in a function that is JUMPING: f is jumped to and returns to this function's own caller.  A
 * gcc that knows no musttail (before 15) makes a jump of a last call only where it optimises.
 */
#if __has_attribute(musttail)
#define JUMPING
#define TAIL __attribute__((musttail)) return
#else
#define JUMPING __attribute__((optimize("O2")))
#define TAIL return
#endif

struct real {
#define SYM(ret, name, version, params) ret(*name) params;
#include "shim/symbols.def"
#undef SYM
};
extern struct real real hidden;

/* A wrong prototype of a wrapper is a compile error: these repeat the table's. */
#define SYM(ret, name, version, params) ret name params;
#include "shim/symbols.def"
#undef SYM

unsigned long __getauxval(unsigned long type); /* libc's, past the interposed name */

/*
 * The caller is a G: weft schedules it.  Otherwise libc's own function is right (native threads
 * share locks with Gs through the lot: see mutex.c and its like, which test weft_on alone).
 */
static inline bool on_g(void)
{
	return getg() != NULL;
}

/*
 * A blocking system call that is a cancellation point: gives the P away, acts on cancellation
 * exactly as POSIX says (never after the call had its effect), returns the result or -errno.  Only
 * on a G.
 */
long block_cp(long nr, long a, long b, long c, long d, long e, long f) hidden;
/* The same for a call that is no cancellation point. */
long block_nocp(long nr, long a, long b, long c, long d, long e, long f) hidden;

/*
 * The same two for a call that is known to wait, as a rule because it was just tried: the P goes to
 * others at once.
 */
long await_cp(long nr, long a, long b, long c, long d, long e, long f) hidden;
long await_nocp(long nr, long a, long b, long c, long d, long e, long f) hidden;

/* The same for a caller that gave its P up, by entersyscallwait(). */
long await_entered(long nr, long a, long b, long c, long d, long e, long f) hidden;

/* Before a call of timed.def: a signal of weft's own may interrupt it (sigcall.c).  Constants fold. */
void call_begins(void) hidden;
static inline void call_timed(long nr)
{
	switch (nr) {
#define TIMED(name, arg, kind) case SYS_##name:
#include "shim/syscall/timed.def"
#undef TIMED
		call_begins();
	}
}

#define block6(nr, a, b, c, d, e, f)                                                                \
	(call_timed(nr), block_cp(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))
#define block5(nr, a, b, c, d, e) block6(nr, a, b, c, d, e, 0)
#define block4(nr, a, b, c, d) block6(nr, a, b, c, d, 0, 0)
#define block3(nr, a, b, c) block6(nr, a, b, c, 0, 0, 0)
#define block2(nr, a, b) block6(nr, a, b, 0, 0, 0, 0)
#define block1(nr, a) block6(nr, a, 0, 0, 0, 0, 0)
#define await6(nr, a, b, c, d, e, f)                                                                \
	(call_timed(nr), await_cp(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))
#define await5(nr, a, b, c, d, e) await6(nr, a, b, c, d, e, 0)
#define await4(nr, a, b, c, d) await6(nr, a, b, c, d, 0, 0)
#define await3(nr, a, b, c) await6(nr, a, b, c, 0, 0, 0)

/* F_SETLKW or F_OFD_SETLKW; a cancellation point. */
long file_lockw(int fd, int cmd, void *lock) hidden;

/* -errno to the C convention. */
static inline long syscall_ret(long r)
{
	if (unlikely((unsigned long)r > -4096UL)) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

/*
 * Handoff: a libc function that may block (or run long in the kernel) as a whole.  The region ends
 * in a scope cleanup because such functions act on cancellation: the forced unwind passes through
 * here, and the handlers of the program must find a G that owns a P.
 */
enum handoff { HANDOFF_INSIDE, HANDOFF_DONE };

void handoff_unwound(void) hidden;
/* Before libc unwinds a thread of ours: the unwinder is loaded by then. */
void unwind_ready(void) hidden;

static inline void handoff_end(const enum handoff *state)
{
	if (unlikely(*state == HANDOFF_INSIDE))
		handoff_unwound();
	exitsyscall();
}

#define HANDOFF_REGION                                                                             \
	enum handoff region_ __attribute__((cleanup(handoff_end))) = (entersyscall(), HANDOFF_INSIDE)

#define HANDOFF(call)                                                                              \
	({                                                                                         \
		HANDOFF_REGION;                                                                    \
		__typeof__(call) r_ = (call);                                                      \
		region_ = HANDOFF_DONE;                                                            \
		r_;                                                                                \
	})
#define HANDOFF_VOID(call)                                                                         \
	({                                                                                         \
		HANDOFF_REGION;                                                                    \
		(call);                                                                            \
		region_ = HANDOFF_DONE;                                                            \
	})

/* pthread_testcancel() for a G that owns a P: runs the cancellation if one is due. */
void testcancel(void) hidden;

/*
 * An absolute time of some clock becomes the park's deadline.  0 or an errno value (EINVAL for a bad
 * clock or tv_nsec).  A wait on a clock that may be set follows it.
 */
struct timespec;
int park_until(int clock, const struct timespec *abs, struct park *pk) hidden;
/* The same, of a time of the clock that clock_gettime() shows to the program. */
int park_until_shown(int clock, const struct timespec *abs, struct park *pk) hidden;
/* Whether that is another clock than the kernel's: once, after bind_all(). */
void find_kernel_clock(void) hidden;
/* A relative time; overflow saturates to "never" (0). */
int deadline_in(const struct timespec *rel, uint64_t *deadline) hidden;

#endif
