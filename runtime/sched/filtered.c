/*
 * filtered: the scheduler under a filter of the program's (seccomp).
 *
 * What the filter does not allow is given up before it is there (os/linux/filter.c).  If it allows no
 * more threads, there are natively as many as have been made, and each may block at the same moment: so
 * as many Ms are made beforehand, with one more for each P, and from then on none is made or ends.
 *
 * Must never: make a kernel thread after runtime_filter_settle() has said so.
 */
#include "runtime/sched/gmp.h"

static bool nomore; /* atomic; for good */

static bool is_unshared(void)
{
	return weft_tls.filtered;
}

/* The M ends with the G. */
void runtime_filter_behind(bool is)
{
	struct m *mp;

	os_isapart = is_unshared;
	weft_tls.filtered = is;
	pin_m();
	mp = getm();
	((struct weft_tls *)((char *)mp->fs + ((char *)&weft_tls - (char *)arch_getfs())))->filtered = is;
	unpin();
}

bool runtime_filter_ask(const void *prog, struct runtime_filter *f)
{
	struct os_forbidden *out = (struct os_forbidden *)f->answers;

	_Static_assert(sizeof(*out) <= sizeof(f->answers), "room for it");
	if (!os_filter_ask(prog, out))
		return false;
	f->tries = out->features >> OS_tries & 1;
	f->start = out->start;
	f->threads = out->threads;
	f->all = out->all;
	return true;
}

void runtime_filter_obey(const struct runtime_filter *f, bool everywhere)
{
	if (everywhere && f->tries)
		netpoll_end(); /* first: it writes to the eventfd */
	os_forbid((const struct os_forbidden *)f->answers, everywhere);
	if (weft_on && !handoff_still_possible())
		weft_say("seccomp: the filter allows neither other threads' CPU clocks nor membarrier with "
			 "/proc (a thread that blocks in a call of its own keeps others waiting)");
}

bool runtime_alone(void)
{
	return load_acquire(&sched.nglive) == 1;
}

bool runtime_filter_tries(void)
{
	return os_has(OS_tries);
}

bool runtime_filter_syncs(void)
{
	return os_has(OS_tsync);
}

bool runtime_nomore(void)
{
	return unlikely(load_relaxed(&nomore));
}

void runtime_filter_settle(void)
{
	int want;

	entersyscall(); /* libc's locks: as spawner.c says */
	lock(&sched.lock);
	want = load_acquire(&sched.nglive) + load_acquire(&gomaxprocs) - sched.nm;
	unlock(&sched.lock);
	while (want-- > 0 && m_make_idle())
		;
	store_seqcst(&nomore, true);
	/* Of those that others have begun to make. */
	while (load_acquire(&sched.nmstarting) > 0)
		os_usleep(FILTER_SLEEP_US);
	exitsyscall();
}
