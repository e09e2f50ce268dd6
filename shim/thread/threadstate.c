/*
 * threadstate: what the kernel keeps of a thread and only the kernel can.
 *
 * Capabilities, namespaces, filters and their like are of the kernel thread that asks.  All Ms are
 * alike, so what is read is the same on each; the G that changes something is locked to its M for
 * good, and the M ends with it.  M0 cannot end, so a G that is not main leaves it first.
 *
 * Natively a new thread gets most of this from its maker.  So does it here: the threads of a G that
 * changed such a thing are locked as well, each to an M that the maker's own M makes
 * (g_start()).  What concerns the caller alone (KEEPS) is not passed on.
 *
 * In a child of fork(2) the M of the caller is all there is, and what will be made is like it: the
 * G is let go.
 *
 * A change that the kernel refuses leaves things as they were.
 */
#include <linux/capability.h>

#include "runtime/process.h"
#include "shim/syscall/seccomp.h"
#include "shim/sync/futex.h"
#include "shim/thread/tid.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

/* From here on the caller has a kernel thread of its own; again and again costs nothing more. */
void threadstate_own(bool passes)
{
	struct thread *th = &self_thread;

	/* For more than no_new_privs from now on; for that alone it may have been let go. */
	if (unlikely(th->owns_nnp)) {
		th->owns_nnp = false;
		if (!exchange_relaxed(&g_shim(th->g)->privlocked, false))
			th->owns_os = th->passes_os = false;
	}
	th->passes_os |= passes;
	if (th->owns_os)
		return;
	th->owns_os = true;
	lockosthread(LOCK_OWN, 0);
}

void threadstate_born(struct thread *th)
{
	th->owns_os = th->passes_os = true;
	/* Its kernel thread is made by the caller's, and has this, too. */
	th->owns_nnp = self_thread.owns_nnp;
	store_relaxed(&g_shim(th->g)->privlocked, th->owns_nnp);
	store_seqcst(&g_shim(th->g)->nonewprivs, load_relaxed(&g_shim(getg())->nonewprivs));
	if (unlikely(self_thread.filtered))
		filter_born(th);
}

void threadstate_disown(void)
{
	bool locked = !self_thread.owns_nnp || exchange_relaxed(&g_shim(getg())->privlocked, false);

	self_thread.owns_os = self_thread.owns_nnp = self_thread.passes_os = false;
	if (locked)
		unlockosthread(false);
}

/* What the caller has of its own all have by now: it is as they are. */
void threadstate_shared(void)
{
	if (unlikely(self_thread.owns_nnp) && fromnow_holds(FROMNOW_NONEWPRIVS))
		threadstate_disown();
}

void threadstate_fork_child(void)
{
	if (self_thread.owns_os)
		threadstate_disown();
}

long threadstate_change(bool passes, const struct call *x)
{
	struct thread *th = &self_thread;
	bool privs = x->nr == SYS_prctl && (int)x->a == PR_SET_NO_NEW_PRIVS, owned, nnp, passed;
	long r;

	threadstate_shared();
	if (privs && fromnow_holds(FROMNOW_NONEWPRIVS))
		return call_blocks(x);
	nnp = th->owns_nnp;
	owned = th->owns_os;
	passed = th->passes_os;
	threadstate_own(passes);
	r = call_blocks(x);
	if (unlikely(r < 0 && r > -4096)) {
		if (!owned)
			threadstate_disown();
		th->passes_os = passed;
		privs = nnp; /* as before */
	}
	th->owns_nnp = privs && (!owned || nnp);
	if (privs) {
		store_relaxed(&g_shim(th->g)->privlocked, th->owns_nnp);
		store_seqcst(&g_shim(th->g)->nonewprivs, true);
		runtime_fromnow(FROMNOW_NONEWPRIVS);
		threadstate_shared();
	}
	return r;
}

/* ---- prctl ----------------------------------------------------------------------------------- */

enum { PLAIN, KEEPS, PASSES, NAME, TID };

static int of_prctl(int op)
{
	switch (op) {
#define PRCTL(nr, name, how)                                                                       \
	case nr:                                                                                   \
		return how;
#include "shim/syscall/prctl.def"
#undef PRCTL
	}
	return PLAIN;
}

long sets_by_prctl(const struct call *x)
{
	int how = of_prctl((int)x->a);
	char name[16];

	if (call_installs_filter(SYS_prctl, x->a))
		return installs_filter(x);
	switch (how) {
	case NAME:
		if ((int)x->a == PR_SET_NAME)
			return sets_name((const char *)x->b);
		g_getname(getg(), name);
		return user_write((void *)x->b, name, sizeof(name)) ? 0 : -EFAULT;
	case TID:
		return reads_tid_address(x);
	case KEEPS:
	case PASSES:
		if ((int)x->a == PR_SET_TSC && x->b == PR_TSC_SIGSEGV)
			runtime_fromnow(FROMNOW_NOTSC);
		return threadstate_change(how == PASSES, x);
	}
	return call_plain(x);
}

EXPORT int prctl(int op, ...)
{
	long a, b, c, d;
	va_list ap;

	va_start(ap, op);
	a = va_arg(ap, long);
	b = va_arg(ap, long);
	c = va_arg(ap, long);
	d = va_arg(ap, long);
	va_end(ap);
	if (!on_g() && call_installs_filter(SYS_prctl, op))
		return (int)syscall_ret(installs_filter(&(struct call){ SYS_prctl, op, a, b, c, d, 0 }));
	if (!on_g())
		return real.prctl(op, a, b, c, d);
	return (int)syscall_ret(by_table6(SYS_prctl, op, a, b, c, d, 0));
}

/* ---- others whose arguments decide ----------------------------------------------------------- */

long sets_personality(const struct call *x)
{
	return (uint32_t)x->a == UINT32_MAX ? call_plain(x) : threadstate_change(true, x);
}

/* FS is the thread block's: code that uses it for something else gives it back before any call. */
long sets_registers(const struct call *x)
{
	switch ((int)x->a) {
	case ARCH_PRCTL_SETGS:
		return g_setgs((uintptr_t)x->b);
	case ARCH_PRCTL_CPUID:
		return threadstate_change(true, x);
	}
	return call_plain(x);
}

/* They cannot fail: the old id is the answer either way, and -1 only asks. */
long sets_fsid(const struct call *x)
{
	return (uint32_t)x->a == UINT32_MAX ? call_plain(x) : threadstate_change(true, x);
}

/* th, another thread perhaps, keeps a kernel thread for what it changed. */
static bool has_own(const struct thread *th)
{
	return th->owns_os && !(th->owns_nnp && fromnow_holds(FROMNOW_NONEWPRIVS));
}

/* The kernel's id for what it is asked about a G: one that changed nothing is as the signal thread. */
static long kernel_id(struct thread *th)
{
	if (th == &self_thread)
		return 0;
	return has_own(th) ? g_m(th->g).ostid : sigroute_tid();
}

/* Of both capget() and capset(). */
static long caps(const struct call *x, bool change)
{
	struct __user_cap_header_struct *h = (void *)x->a, mine;
	struct call y = *x;
	struct thread *th;
	long r;

	if (!h)
		return call_plain(x);
	if (!user_read(&mine, h, sizeof(mine)))
		return -EFAULT;
	th = thread_by_id(mine.pid);
	if (th)
		mine.pid = (int)kernel_id(th);
	y.a = (long)&mine;
	r = change ? threadstate_change(true, &y) : call_plain(&y);
	if (h->version != mine.version)
		h->version = mine.version; /* the kernel's own, when it did not know the caller's */
	return r;
}

long reads_caps(const struct call *x)
{
	return caps(x, false);
}

long sets_caps(const struct call *x)
{
	return caps(x, true);
}

long by_ioprio(const struct call *x)
{
	enum { WHO_PROCESS = 1 };
	bool change = x->nr == SYS_ioprio_set;
	struct call y = *x;
	struct thread *th = x->a == WHO_PROCESS && x->b ? thread_by_id((int)x->b) : NULL;

	if (x->a != WHO_PROCESS || (x->b && !th))
		return call_plain(x);
	if (th && th != &self_thread) {
		/* Not kept here until it runs, as schedparam.c keeps the rest. */
		if (change && !has_own(th))
			return -EPERM;
		y.b = kernel_id(th);
		return call_plain(&y);
	}
	y.b = 0;
	return change ? threadstate_change(true, &y) : call_plain(&y);
}

/*
 * The keyrings of a thread (-1), of a process (-2: of the threads that have its creator's
 * credentials) and of a session are parts of a thread's credentials.  A caller that names one of
 * the first two keyrings may be the first to do so, and makes it.
 */
long uses_keys(const struct call *x)
{
	enum { THREAD_KEYRING = -1, PROCESS_KEYRING = -2 };
	enum { JOIN_SESSION_KEYRING = 1, SET_REQKEY_KEYRING = 14 };
	const long all[] = { x->a, x->b, x->c, x->d, x->e };
	bool own = false, passes = false;
	int first = 1, last = 4;

	if (x->nr == SYS_add_key)
		first = 4;
	else if (x->nr == SYS_request_key)
		first = last = 3;
	else if (x->a == JOIN_SESSION_KEYRING || x->a == SET_REQKEY_KEYRING)
		return threadstate_change(true, x);
	for (int i = first; i <= last; i++) {
		own |= (int)all[i] == THREAD_KEYRING;
		passes |= (int)all[i] == PROCESS_KEYRING;
	}
	return own || passes ? threadstate_change(passes, x) : call_blocks(x);
}

/* Counted is a kernel thread: the caller's, from now on its alone. */
long counts_events(const struct call *x)
{
	struct call y = *x;
	struct thread *th = thread_by_id((int)x->b);

	if (x->b && !th)
		return call_plain(x);
	y.b = th && th != &self_thread ? g_m(th->g).ostid : 0;
	if (!y.b)
		return threadstate_change(false, &y);
	return has_own(th) ? call_plain(&y) : -ESRCH;
}

/* A ring that one thread alone may use, or that is known to one by a number. */
long makes_ring(const struct call *x)
{
	enum { SINGLE_ISSUER = 1 << 12 };
	struct {
		uint32_t sq, cq, flags;
	} params;

	if (!user_read(&params, (const void *)x->b, sizeof(params)))
		params.flags = 0;
	/* A caller that hands something in: it is ended with the kernel thread. */
	runtime_fromnow(FROMNOW_MS_STAY);
	return params.flags & SINGLE_ISSUER ? threadstate_change(false, x) : call_blocks(x);
}

long registers_ring(const struct call *x)
{
	enum { ENABLE_RINGS = 12, RING_FDS = 20 };
	int op = (int)x->b & INT32_MAX; /* the highest bit says how the ring is named */

	return op == ENABLE_RINGS || op == RING_FDS ? threadstate_change(false, x) : call_blocks(x);
}

/* The kernel lets a tracer's own kernel thread alone speak to what it traces. */
long traces(const struct call *x)
{
	return threadstate_change(false, x);
}
