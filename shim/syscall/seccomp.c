/*
 * seccomp: filters of system calls (seccomp), which the program installs.
 *
 * Before the kernel has the filter, weft asks it about its own calls and gives up what it does not
 * allow (runtime/sched/filtered.c).  Whose filter it is:
 *
 *	all threads' (TSYNC)	every kernel thread has it, weft's helpers too
 *	of the only thread	the same, by TSYNC: natively each thread to come would have it, and so
 *				the G stays free to run on any M
 *	of one among several	the G is locked to its M, and what it makes (threadstate.c); its calls on
 *				descriptors are the kernel's alone
 *	before weft starts	of the process.  If the filter does not allow what weft starts with,
 *				weft starts now; if it refuses every thread, never: the process has the
 *				one that it has for good, and weft has nothing to do in it, nor to say
 *
 * Where the filter allows no more threads, all kernel threads that will ever be needed are made first.
 *
 * Not seen: a filter that is installed by a system call made in line.  One from before exec has no text
 * to ask: what it refuses by an error is found out, what it kills for is not.
 *
 * Must never: change what the kernel says of the filter.
 */
#include "shim/syscall/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "runtime/base/log.h"
#include "runtime/process.h"
#include "shim/fd/fdtable.h"
#include "shim/thread/tid.h"
#include "shim/signal/sigroute.h"
#include "shim/thread/thread.h"

#ifndef SECCOMP_FILTER_FLAG_TSYNC
#define SECCOMP_FILTER_FLAG_TSYNC 1
#endif
enum { NEW_LISTENER = 1 << 3 }; /* gives a descriptor: not with TSYNC */

/* The arguments of both ways to ask: flags, program. */
static bool is_filter(const struct call *x, long *flags, const void **program)
{
	if (x->nr == SYS_prctl && (int)x->a == PR_SET_SECCOMP && x->b == SECCOMP_MODE_FILTER) {
		*flags = 0;
		*program = (const void *)x->c;
		return true;
	}
	*flags = x->b;
	*program = (const void *)x->c;
	return x->nr == SYS_seccomp && (unsigned)x->a == SECCOMP_SET_MODE_FILTER;
}

/*
 * What weft gives up for a filter it never takes back, so the kernel is asked first by a filter whose text
 * cannot be read, for it lies in the kernel's part of the address space: of wrong flags and missing
 * privileges the kernel speaks before it looks there.  0, or its answer.
 */
static long not_taken(const struct call *x)
{
	struct sock_fprog nowhere = { .len = 1, .filter = (struct sock_filter *)-4096L };
	struct call dry = *x;
	long r;

	dry.c = (long)&nowhere;
	r = call_plain(&dry);
	return r == -EFAULT ? 0 : r;
}

static void say(const struct runtime_filter *f)
{
	if (f->all)
		weft_say("seccomp: the filter does not allow %s, which every thread needs (weft goes on as "
			 "if it did)", f->all);
}

/* Nothing is there yet that the filter could forbid, but what weft starts with. */
static void before_start(const struct runtime_filter *f)
{
	if (f->start && activate_later())
		activate();
	if (!weft_on)
		runtime_filter_obey(f, true);
}

/* No thread will ever be asked for with success: weft has no start before it, either. */
static long alone_for_good(const struct runtime_filter *f, const struct call *x)
{
	long r;

	runtime_filter_obey(f, true);
	r = call_plain(x);
	if (r >= 0)
		activate_never();
	return r;
}

/* no_new_privs, as far as it was asked for here. */
static bool has_privs(void)
{
	return load_relaxed(&g_shim(getg())->nonewprivs) || fromnow_holds(FROMNOW_NONEWPRIVS);
}

/* Every kernel thread will have it. */
static void upon_all(const struct runtime_filter *f)
{
	if (f->tries)
		fdtable_tries_end();
	runtime_filter_obey(f, true);
	if (f->tries && on_g())
		fdtable_await_asking();
}


void filter_born(struct thread *th)
{
	th->filtered = true;
	if (th == &self_thread)
		runtime_filter_behind(true);
}

static long upon_one(const struct runtime_filter *f, const struct call *x)
{
	bool owned = self_thread.owns_os, was = self_thread.filtered;
	long r;

	runtime_filter_obey(f, false);
	if (!f->tries || was)
		return threadstate_change(true, x);
	threadstate_own(true); /* first: what it does without is noted of its kernel thread, too */
	filter_born(&self_thread);
	r = threadstate_change(true, x);
	if (r < 0) {
		self_thread.filtered = false;
		runtime_filter_behind(false);
		if (!owned)
			threadstate_disown();
	}
	return r;
}

void filter_fork_child(void)
{
	if (on_g() && self_thread.filtered)
		fdtable_tries_end();
}

/* On a G.  With the filter the kernel gives the caller's no_new_privs to all. */
static long give_to_all(const struct call *x, long flags, const struct runtime_filter *f)
{
	long r;

	fetch_add_acq_rel(&privsyncs, 1);
	upon_all(f);
	r = call_plain(x);
	/* A listener is a descriptor; other numbers are the thread's that has another filter. */
	if ((r == 0 || (r > 0 && flags & NEW_LISTENER)) && has_privs())
		runtime_fromnow(FROMNOW_PRIVSGIVEN);
	fetch_sub_acq_rel(&privsyncs, 1);
	return r;
}

/* On a G, the only one: its filter as everybody's; false: it must be its own. */
static bool synced(const struct runtime_filter *f, long flags, const void *program, long *r)
{
	if (flags & NEW_LISTENER || !f->syncs ||
	    (self_thread.owns_os && !self_thread.owns_nnp))
		return false;
	*r = direct3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_TSYNC, program);
	/* TSYNC gives no_new_privs along, so the caller has nothing of its own any more. */
	if (*r == 0 && has_privs())
		runtime_fromnow(FROMNOW_PRIVSGIVEN);
	if (*r == 0 && self_thread.owns_nnp)
		threadstate_disown();
	/* An id: that thread has another filter.  The others: what came before allows prctl alone. */
	return *r <= 0 && *r != -ENOSYS && *r != -EPERM;
}

long installs_filter(const struct call *x)
{
	struct runtime_filter f = { 0 };
	const void *program = NULL;
	long flags, r;

	if (on_g() && strict_asked(x))
		return strict_enter(x);
	if (!is_filter(x, &flags, &program) || !program || !runtime_filter_ask(program, &f))
		return on_g() ? threadstate_change(true, x) : call_plain(x);
	r = not_taken(x);
	if (r)
		return r;
	if (!weft_on && f.never)
		return alone_for_good(&f, x);
	say(&f);
	own_uid(); /* while it may be asked */
	if (!on_g())
		before_start(&f);
	if (!on_g())
		return call_plain(x);
	if (flags & SECCOMP_FILTER_FLAG_TSYNC)
		return give_to_all(x, flags, &f);
	if (f.alone) {
		upon_all(&f);
		if (synced(&f, flags, program, &r))
			return r;
		return threadstate_change(true, x);
	}
	return upon_one(&f, x);
}
