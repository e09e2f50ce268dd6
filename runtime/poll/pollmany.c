/*
 * pollmany: waiting for several descriptors at once (poll, select).
 *
 * The waiter is linked into the registration of each, and every edge that has to do with what it asks
 * wakes it (polldesc_fire()).  It does not count edges: it asks the kernel about all of them again.
 *
 * Must never: be left linked; the links are on the waiter's stack.
 */
#include "runtime/poll/polldesc.h"

static void link_in(struct polllink *l)
{
	bool once;

	lock(&l->pd->lock);
	list_put(&l->pd->links, &l->link);
	once = load_relaxed(&l->pd->once);
	unlock(&l->pd->lock);
	if (unlikely(once))
		pd_arm_for_links(l->pd);
	pd_hear(l->pd);
}

static void unlink_from(struct polllink *l)
{
	lock(&l->pd->lock);
	list_take(&l->link);
	unlock(&l->pd->lock);
}

static void drop_links(struct polllink *l, unsigned n)
{
	while (n-- > 0)
		if (l[n].pd) {
			unlink_from(&l[n]);
			pd_drop(l[n].pd);
		}
}

bool netpoll_holdset(struct pollset *set, struct polllink *l, unsigned n)
{
	pin();
	for (unsigned i = 0; i < n; i++) {
		l[i].pd = NULL;
		if (!l[i].slot)
			continue;
		l[i].pd = pd_hold(l[i].slot, l[i].fd);
		if (!l[i].pd) {
			drop_links(l, i);
			unpin();
			return false;
		}
		l[i].set = set;
		link_in(&l[i]);
	}
	return true;
}

void netpoll_releaseset(struct polllink *l, unsigned n)
{
	drop_links(l, n);
	unpin();
}
