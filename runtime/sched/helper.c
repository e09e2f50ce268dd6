/*
 * helper: kernel threads of weft's own that are no Ms: sysmon, the spawner, the /proc reader, the dump
 * thread.  (The signal thread begins in shim/signal/sigroute.c.)
 *
 *	sysmon, spawner	g_start(), with the first thread
 *	signal thread	sigroute_start(), with it too; in a fork child with the first park
 *	/proc reader	procfs_make_wanted(), once sysmon has asked something
 *	dump thread	dumpsig_start(), with the first thread if the option is there
 *
 * Each is one thread at a time, made with the first need of it, and after a fork again.  Its stack is
 * kept for the next.  A caller that comes while another one makes it does not wait: what a helper has to
 * do is in words that it reads when it runs.
 *
 * Must never: be called with a runtime lock held (libc makes and joins threads under locks of its own).
 */
#include "runtime/sched/gmp.h"

_Atomic int helpers;

/* Where memory has a limit: four times the least that libc grants a thread's stack. */
enum { TIGHT_STACK = 64 * 1024 };

size_t ostack_tight(size_t net)
{
	return sched.tight && net > TIGHT_STACK ? TIGHT_STACK : net;
}

/* libc takes some of it for itself: its block and the static TLS. */
size_t runtime_ostack(size_t net)
{
	size_t page = os_pagesize(), taken = hooks.stacktaken ? hooks.stacktaken() : 0;

	return ostack_tight(net) + ((taken + page - 1) & -page);
}

enum helper_is helper_make(struct helper *h, void *(*fn)(void *), size_t net)
{
	size_t size = runtime_ostack(net);

	if (exchange_seqcst(&h->started, true)) /* seq_cst: see the field */
		return HELPER_THERE;
	if (!h->stack && !(h->name && os_fault(h->name)))
		h->stack = os_reserve(size);
	if (h->stack && !hooks.newosproc(fn, NULL, h->stack, size, &h->os)) {
		fetch_add_relaxed(&helpers, 1);
		h->counted = true;
		return HELPER_MADE;
	}
	helper_forget(h);
	return HELPER_NONE;
}

void helper_join(struct helper *h)
{
	hooks.joinosproc(h->os);
	helper_forget(h);
}
