/*
 * robustcond: waiting for a condition variable that processes share, with a mutex that names its owner.
 */
#include "shim/sync/robustheld.h"

/*
 * libc's wait unlocks and locks the mutex by the id in the thread block, and links it into the
 * thread block's own list.  The G is locked to its M here, so for the length of the wait the block carries
 * the kernel's id; afterwards the mutex goes back to our list.  (A setuid call meanwhile would find
 * the kernel id in two blocks and wait until this call returns: the price of one function, not of
 * every hold.)
 */
struct lent {
	struct tcb *self;
	uint32_t id;
	pthread_mutex_t *mu;
};

static void lent_back(struct lent *l)
{
	int kind = load_relaxed(&l->mu->__data.__kind);
	struct robustheld *h = robust_mine();

	if (!l->self)
		return;
	tcb_set_tid(l->self, l->id);
	if (!robust_held(l->mu)) { /* not recoverable: libc did not take it */
		robust_unshare(h);
		return;
	}
	if (kind & MUTEX_ROBUST) {
		robust_del(l->mu);
		robust_add(h, l->mu, robust_in_kernel(kind));
	}
}

int robust_cond_wait(pthread_cond_t *c, pthread_mutex_t *mu, const struct until *u)
{
	struct tcb *self = tcb_self();
	struct lent lent __attribute__((cleanup(lent_back))) = {NULL, tcb_tid(self), mu};

	if (!robust_held(mu))
		return EPERM;
	lent.self = self;
	tcb_set_tid(self, (uint32_t)robust_id(MUTEX_SHARED));
	if (u)
		return HANDOFF_CP(real.pthread_cond_clockwait(c, mu, u->clock, u->abs));
	return HANDOFF_CP(real.pthread_cond_wait(c, mu));
}
