/*
 * robustheld: the list of what a thread holds, and what a G that holds a shared one needs of its M.
 */
#include "shim/sync/robustheld.h"

__thread struct robustheld robust_list;

struct robustheld *robust_mine(void)
{
	struct robustheld *h = &robust_list;

	if (unlikely(!h->list.first)) {
		self_thread.leaves_more = true;
		h->list.first = h->last = (uintptr_t)&h->list.first;
		h->list.word_offset = (long)offsetof(pthread_mutex_t, __data.__lock) -
				      (long)offsetof(pthread_mutex_t, __data.__list.__next);
	}
	return h;
}

/* The kernel may walk the list after any instruction (the process is killed): each store leaves
 * it whole. */
void robust_add(struct robustheld *h, pthread_mutex_t *mu, bool inherit)
{
	uintptr_t l = robust_link(mu), first = h->list.first;

	*robust_next(l) = first;
	*robust_prev(l) = (uintptr_t)&h->list.first;
	*robust_prev(first) = l;
	store_release(&h->list.first, l | inherit);
}

void robust_del(pthread_mutex_t *mu)
{
	uintptr_t l = robust_link(mu), next = *robust_next(l), prev = *robust_prev(l);

	*robust_prev(next) = prev;
	store_release(robust_next(prev), next);
	mu->__data.__list.__prev = NULL;
	mu->__data.__list.__next = NULL;
}

void robust_share(struct robustheld *h, bool own, uint64_t until)
{
	size_t size;

	lockosthread(own ? LOCK_OWN : LOCK_SHARED, until);
	if (h->shared++)
		return;
	if (plain_syscall(SYS_get_robust_list, 0, (long)&h->kernels, (long)&size) < 0)
		h->kernels = NULL;
	plain_syscall(SYS_set_robust_list, (long)&h->list, sizeof(h->list), 0);
}

void robust_unshare(struct robustheld *h)
{
	if (--h->shared == 0)
		plain_syscall(SYS_set_robust_list, (long)h->kernels, sizeof(h->list), 0);
	unlockosthread(false);
}

/*
 * The caller's id in mu's word.  A locked G's kernel id is constant.  That of a G that is not locked may be
 * another G's by the time it is compared: such a G holds no shared mutex, robust_held() asks for that first.
 */
int robust_id(int kind)
{
	if (kind & MUTEX_SHARED && on_g())
		return g_m(getg()).ostid;
	return self_id();
}
