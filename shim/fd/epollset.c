/*
 * epollset: what the program puts into its epolls, as far as it decides whether a G may park for
 * one.
 *
 * A G that waits in epoll_wait() parks, and weft's own epoll watches the program's.  To look at an
 * epoll the kernel asks each file in it that has something to say.  Where asking takes the event
 * away (/proc/self/mountinfo, pressure triggers, perf events: a kind that we do not know, NET_FILE)
 * the program's own question would find nothing any more.  An epoll with such a file in it is
 * barred: its waiters wait in the kernel, each on a kernel thread, as natively.
 *
 * The kernel allows epolls in epolls four deep, and ours would be one more: where it refuses for
 * that, all are barred, and the program's call is made again.
 *
 * One epoll may have several numbers, and be inside another.  Once the program has done either, one
 * that must be barred is not told from others by its number any more: then all are.
 */
#include "shim/fd/epollset.h"

static _Atomic bool entangled; /* an epoll is in another, or has two numbers */

static void leave_to_kernel(struct netfd *s, int fd)
{
	if (netfd_kindnow(s) == NET_EPOLL)
		netfd_bar(s, fd);
}

static void bar_all(void)
{
	netfd_epolls_barred();
	netfd_each(leave_to_kernel);
}

/* True: it was not barred before. */
static bool bar(struct netfd *s, int ep)
{
	if (netfd_kind(s, ep) != NET_EPOLL || atomic_load(&entangled)) {
		bar_all();
		return false;
	}
	netfd_bar(s, ep);
	return true;
}

void epollset_copied(int fd)
{
	struct netfd *s = netfd_of(fd);

	if (s && netfd_kindnow(s) == NET_EPOLL)
		atomic_store(&entangled, true);
}

/* Before the call: afterwards the first event may be gone already. */
static bool adding(struct netfd *s, int ep, int fd)
{
	struct netfd *in = netfd_of(fd);
	enum netkind kind = in ? netfd_kind(in, fd) : NET_FILE;

	if (kind == NET_EPOLL) {
		atomic_store(&entangled, true);
		if (netfd_is_barred(in))
			return bar(s, ep);
	}
	return kind == NET_FILE && bar(s, ep);
}

long epollset_ctl(int ep, int op, int fd, void *event)
{
	struct netfd *s = op == EPOLL_CTL_ADD ? netfd_of(ep) : NULL;
	bool barred = s && adding(s, ep, fd);
	long r = direct4(SYS_epoll_ctl, ep, op, fd, event);

	/* A file that cannot be waited for: nothing was put in. */
	if (r < 0 && barred)
		netfd_unbar(s);
	if (r == -ELOOP && s && netfd_of(fd) && netfd_kind(netfd_of(fd), fd) == NET_EPOLL) {
		bar_all();
		r = direct4(SYS_epoll_ctl, ep, op, fd, event);
	}
	return r;
}
