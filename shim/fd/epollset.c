/*
 * epollset: what the program puts into its epolls, as far as it decides whether a G may park for
 * one.
 *
 * A G that waits in epoll_wait() parks, and weft's own epoll watches the program's.  To look at an
 * epoll the kernel asks each file in it that has something to say.  Where asking takes the event
 * away (/proc/self/mountinfo, pressure triggers, perf events: a kind that we do not know, FDK_FILE)
 * the program's own question would find nothing any more.  An epoll with such a file in it is
 * barred: its waiters wait in the kernel, each on a kernel thread, as natively.
 *
 * EPOLLEXCLUSIVE asks that of several epolls with the same file only one is told of an event: one in which a
 * thread waits.  Weft's own epoll, which watches them all, is no such thread, and each would be told.  So an
 * epoll with such an entry is barred, too.
 *
 * The kernel allows epolls in epolls four deep, and ours would be one more: where it refuses for
 * that, all are barred, and the program's call is made again.
 *
 * One epoll may have several numbers, and be inside another.  Once the program has done either, one
 * that must be barred is not told from others by its number any more: then all are.
 */
#include "shim/fd/epollset.h"

/* seq_cst with the kinds of slots: set before the sets are barred, read before one is used */
static _Atomic bool entangled; /* an epoll is in another, or has two numbers */
static _Atomic bool all_barred; /* seq_cst with the slots' barred: set after those, read before a set is used */

static void leave_to_kernel(struct fdslot *s, int fd)
{
	if (fdslot_kindnow(s) == FDK_EPOLL)
		fdslot_bar(s, fd);
}

/* Those that come later are files from the first. */
static void bar_all(void)
{
	if (load_seqcst(&all_barred))
		return;
	fdtable_epolls_barred();
	fdtable_each(leave_to_kernel);
	store_seqcst(&all_barred, true);
}

/* True: it was not barred before. */
static bool bar(struct fdslot *s, int ep)
{
	if (fdslot_kind(s, ep) != FDK_EPOLL || load_seqcst(&entangled)) {
		bar_all();
		return false;
	}
	fdslot_bar(s, ep);
	return true;
}

void epollset_copied(int fd)
{
	struct fdslot *s = fdslot_of(fd);

	if (s && fdslot_kindnow(s) == FDK_EPOLL)
		store_seqcst(&entangled, true);
}

/* Before the call: afterwards the first event may be gone already. */
static bool adding(struct fdslot *s, int ep, int fd)
{
	struct fdslot *in = fdslot_of(fd);
	enum fdkind kind = in ? fdslot_kind(in, fd) : FDK_FILE;

	if (kind == FDK_EPOLL) {
		store_seqcst(&entangled, true);
		if (fdslot_is_barred(in))
			return bar(s, ep);
	}
	return kind == FDK_FILE && bar(s, ep);
}

long epollset_ctl(int ep, int op, int fd, void *event)
{
	struct fdslot *s = op == EPOLL_CTL_ADD ? fdslot_of(ep) : NULL;
	bool barred = s && adding(s, ep, fd);
	long r = direct4(SYS_epoll_ctl, ep, op, fd, event);

	/* A file that cannot be waited for: nothing was put in. */
	if (r < 0 && barred)
		fdslot_unbar(s);
	if (r == -ELOOP && s && fdslot_of(fd) && fdslot_kind(fdslot_of(fd), fd) == FDK_EPOLL) {
		bar_all();
		r = direct4(SYS_epoll_ctl, ep, op, fd, event);
	}
	/* The kernel has read it. */
	if (r == 0 && s && !barred && ((const struct epoll_event *)event)->events & EPOLLEXCLUSIVE)
		bar(s, ep);
	return r;
}
