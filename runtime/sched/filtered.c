/*
 * filtered: the scheduler under a filter of the program's (seccomp).
 *
 * What the filter does not allow is given up before it is there (os/linux/filter.c).  If it allows no
 * more threads, there are natively as many as have been made, and each may block at the same moment: so
 * as many Ms are made beforehand, with one more for each P, and from then on none is made or ends.
 *
 * Must never: make a kernel thread after settle() has said so.
 */
#include "runtime/sched/gmp.h"

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
	f->alone = load_acquire(&sched.nglive) <= 1; /* none: weft has not started */
	f->syncs = os_has(OS_tsync);
	f->tries = !os_has(OS_tries);
	if (!prog)
		return true;
	if (!os_filter_ask(prog, out))
		return false;
	f->tries = out->features >> OS_tries & 1;
	f->start = out->start;
	f->threads = out->threads;
	f->never = out->never;
	f->all = out->all;
	return true;
}

/*
 * On a G: as many Ms as there may ever be.  An M that is made is counted under the lock, by a thread that
 * saw there that more may be made; so none of them is missed.
 */
static void settle(void)
{
	int want;

	entersyscall(); /* libc's locks: as spawner.c says */
	lock(&sched.lock);
	want = load_acquire(&sched.nglive) + load_acquire(&gomaxprocs) - sched.nm;
	unlock(&sched.lock);
	while (want-- > 0 && m_make_idle())
		;
	lock(&sched.lock);
	fromnow_set(FROMNOW_NOMORE);
	unlock(&sched.lock);
	/* Of those that others have begun to make. */
	for (struct moment w = { 0 }; load_acquire(&sched.nmstarting) > 0;)
		moment_wait(&w);
	exitsyscall();
}

void runtime_filter_obey(const struct runtime_filter *f, bool everywhere)
{
	if (everywhere && f->threads && weft_tls.g)
		settle();
	if (everywhere && f->tries) {
		netpoll_end(); /* before the calls are forbidden: it writes to the eventfd */
		os_membarrier(); /* pairs with fence_compiler() in fdask_begin() */
	}
	os_forbid((const struct os_forbidden *)f->answers, everywhere);
	if (weft_on && !handoff_still_possible())
		weft_say("seccomp: the filter allows neither other threads' CPU clocks nor membarrier with "
			 "/proc (a thread that blocks in a call of its own keeps others waiting)");
}

bool runtime_alone(void)
{
	return load_acquire(&sched.nglive) == 1;
}
