/*
 * syscall: syscall(2) as a function, which some run-times use instead of pthreads and libc's
 * wrappers.
 *
 * What a G's call means is one line of syscalls.def.  Before weft runs, and on a thread that is no
 * G, a call is the kernel's, but for those about threads that may be Gs (futex, signals).  No
 * cancellation point, as in libc.  What a call does to descriptors is fdevents.def's, on any thread.
 *
 * Must never: make a clone with a stack of its own other than by libc's function: the child returns
 * on that stack.
 */
#include "shim/process/clone.h"
#include "shim/fd/fdevents.h"
#include "shim/syscall/seccomp.h"
#include "shim/thread/tid.h"
#include "shim/process/memlock.h"
#include "shim/thread/rseq.h"
#include "shim/signal/sigroute.h"
#include "shim/thread/schedparam.h"
#include "shim/syscall/syscall.h"

enum { NR_futex_waitv = 449, NR_futex_wake = 454, NR_futex_wait, NR_futex_requeue };

enum how { HOW_PLAIN, HOW_BLOCKS, HOW_NAMES, HOW_PASSES, HOW_CALL };

static const struct row {
	uint8_t how, arg;
	long (*call)(const struct call *x);
} table[] = {
#define PLAIN .how = HOW_PLAIN
#define BLOCKS .how = HOW_BLOCKS
#define FORKS .how = HOW_PLAIN /* never asked */
#define PASSES .how = HOW_PASSES
#define NAMES(n) .how = HOW_NAMES, .arg = n
#define CALL(f) .how = HOW_CALL, .call = f
#define SYSCALL(nr, name, how) [nr] = { how },
#include "shim/syscall/syscalls.def"
#undef SYSCALL
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

/* A number that is not a G's is the kernel's to judge. */
static long names(struct call *x, unsigned n)
{
	long *arg = &x->a + (n - 1);

	if (thread_by_id((int)*arg))
		*arg = direct3(SYS_getpid, 0, 0, 0);
	return call_plain(x);
}

long call_by_table(struct call *x)
{
	const struct row *row = (unsigned long)x->nr < ROWS ? &table[x->nr] : &table[SYS_getpid];

	switch (row->how) {
	case HOW_BLOCKS:
		return call_blocks(x);
	case HOW_NAMES:
		return names(x, row->arg);
	case HOW_PASSES:
		return threadstate_change(true, x);
	case HOW_CALL:
		return row->call(x);
	}
	return call_plain(x);
}

/* ---- what the table names, where a line or two is all --------------------------------------- */

long own_id(const struct call *x)
{
	return weft_tls.tid;
}

long yields(const struct call *x)
{
	gosched();
	return 0;
}

long by_priority(const struct call *x)
{
	long r;

	return schedparam_call(x->nr, x->a, x->b, x->c, x->d, &r) ? r : call_plain(x);
}

long kills_thread(const struct call *x)
{
	long r;

	return tid_kill(x->nr, x->a, x->b, x->c, x->d, &r) ? r : call_plain(x);
}

/* A thread that is not its process's first, which alone these two are for. */
static bool names_follower(long id)
{
	const struct thread *th = thread_by_id((int)id);

	return th && th->g != g_main();
}

long groups(const struct call *x)
{
	return names_follower(x->a) ? -EINVAL : call_plain(x);
}

/*
 * The kernel knows nothing of the G.  For the process as a whole it says no by a code that has changed
 * (EINVAL, then ENOENT), so it is asked about another thread that is not the first.  For the one thread
 * (PIDFD_THREAD) weft is a kernel that cannot do it yet.
 */
long opens_pidfd(const struct call *x)
{
	struct call y = *x;

	if (!names_follower(x->a))
		return call_plain(x);
	if (x->b || !sigroute_start())
		return -EINVAL;
	y.a = sigroute_tid();
	return call_plain(&y);
}

long kcmp_names(const struct call *x)
{
	struct call y = *x;

	if (thread_by_id((int)y.a))
		y.a = direct3(SYS_getpid, 0, 0, 0);
	return names(&y, 2);
}

long locks_memory(const struct call *x)
{
	return memlock_call(x->nr, x->a);
}

/* SECCOMP_GET_ACTION_AVAIL and its like ask. */
long by_seccomp(const struct call *x)
{
	return call_installs_filter(x->nr, x->a) ? installs_filter(x) : call_plain(x);
}

long registers_rseq(const struct call *x)
{
	return rseq_by_hand(x->a, x->b, x->c, x->d);
}

/* ---- syscall() ------------------------------------------------------------------------------- */

/* What is not the kernel's alone though the caller is no G.  False: it is. */
static bool off_g(const struct call *x, long *r)
{
	switch (x->nr) {
	case SYS_futex:
		*r = waits_futex(x);
		return true;
	case NR_futex_waitv:
	case NR_futex_wake:
	case NR_futex_wait:
	case NR_futex_requeue:
		*r = table[x->nr].call(x);
		return true;
	case SYS_mlockall:
	case SYS_munlockall:
		*r = locks_memory(x);
		return true;
	case SYS_rt_sigaction:
		*r = sets_action(x);
		return true;
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		*r = kills_thread(x);
		return true;
	}
	return false;
}

static long dispatch(struct call *x)
{
	long r;

	if (unlikely(x->nr == SYS_clone || x->nr == SYS_clone3 || x->nr == SYS_fork ||
		     x->nr == SYS_vfork)) {
		if (clone_by_hand(x->nr, x->a, x->b, x->c, x->d, x->e, &r))
			return syscall_ret(r);
	} else if (on_g()) {
		return syscall_ret(call_by_table(x));
	} else if (x->nr == SYS_execve || x->nr == SYS_execveat) {
		return syscall_ret(executes(x));
	} else if (call_installs_filter(x->nr, x->a)) {
		return syscall_ret(installs_filter(x));
	} else if (weft_on) {
		if (off_g(x, &r))
			return syscall_ret(r);
	} else if (x->nr == SYS_rseq) {
		return syscall_ret(registers_rseq(x));
	} else if (x->nr == SYS_mlockall || x->nr == SYS_munlockall) {
		return syscall_ret(locks_memory(x));
	}
	return real.syscall(x->nr, x->a, x->b, x->c, x->d, x->e, x->f);
}

/* What happens to descriptors is noted on both sides of the call. */
static long on_descriptors(struct call *x)
{
	if (x->nr == SYS_close_range)
		return shim_close_range((unsigned int)x->a, (unsigned int)x->b, (int)x->c);
	return FD_NOTED_NR(x->nr, dispatch(x), x->a, x->b, x->c, x->d, x->e, x->f);
}

EXPORT long syscall(long nr, ...)
{
	struct call x = { .nr = nr };
	va_list ap;

	/* However many the caller passed, six registers and stack words are readable. */
	va_start(ap, nr);
	x.a = va_arg(ap, long);
	x.b = va_arg(ap, long);
	x.c = va_arg(ap, long);
	x.d = va_arg(ap, long);
	x.e = va_arg(ap, long);
	x.f = va_arg(ap, long);
	va_end(ap);
	if (likely(weft_on) && nr == SYS_futex)
		return syscall_ret(waits_futex(&x));
	return fdcall_concerns(nr) ? on_descriptors(&x) : dispatch(&x);
}
