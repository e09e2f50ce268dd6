/*
 * mutex_robust: mutexes whose lock word names its owner, so that others can tell that the owner
 * died.
 *
 *	private robust      the word holds the G's id, inheriting or not; waiters on the lot; when a
 *	                    G ends, robust_exit() does what the kernel does for a thread
 *	shared robust       the word holds a kernel id, and the kernel walks the list of these, for
 *	                    the whole process may die; waiters in the kernel
 *	shared inheriting   the kernel's own lock: FUTEX_LOCK_PI
 *
 * The kernel knows kernel threads, so a G that holds a shared one is locked to its M until it
 * unlocks, and while it holds any the M's robust list is the G's (the M's own is put back after).
 * The words are libc's in every bit: processes without weft share these mutexes.  A native thread
 * uses libc's functions for the shared kinds, its ids are true; for the private kinds it works as a
 * G does, and a key's destructor notices its end.
 *
 * libc's way of giving the kernel the id in the thread block cannot be used: on a G it is no kernel
 * id, and two listed blocks with one kernel id make setuid wait for ever.
 *
 * A shared robust inheriting mutex that has a waiter can be passed on as a dead owner's only by the
 * kernel, when its owner, a kernel thread, ends.  A G that ends with one therefore takes its M with
 * it.  Not exact: M0 cannot end, so main's pthread_exit passes such a mutex on without the news.
 */
#include <linux/futex.h>

#include "shim/sync/inherit.h"
#include "shim/sync/robustheld.h"

/* The caller holds it already: the answer, or -1 when it has to wait for itself as POSIX says. */
static int lock_again(pthread_mutex_t *mu, int kind)
{
	switch (kind & MUTEX_TYPE) {
	case MUTEX_ERRORCHECK:
		return EDEADLK;
	case MUTEX_RECURSIVE:
		if (mu->__data.__count + 1 == 0)
			return EAGAIN;
		mu->__data.__count++;
		return 0;
	}
	return -1;
}

static int lock_native(pthread_mutex_t *mu, const struct until *u, bool try)
{
	if (try)
		return real.pthread_mutex_trylock(mu);
	if (u)
		return real.pthread_mutex_clocklock(mu, u->clock, u->abs);
	return real.pthread_mutex_lock(mu);
}

static int lock_first(struct robustheld *h, pthread_mutex_t *mu, int kind, const struct until *u,
		      bool try)
{
	int id = robust_id(kind), err;

	h->list.pending = kind & MUTEX_ROBUST ? robust_link(mu) | robust_in_kernel(kind) : 0;
	err = robust_take(mu, id, kind, u, try);
	if (err == 0 && kind & MUTEX_ROBUST &&
	    load_relaxed(&mu->__data.__owner) == NOTRECOVERABLE) {
		mu->__data.__count = 0;
		robust_release(mu, kind, id);
		err = ENOTRECOVERABLE;
	}
	if (err == 0 || err == EOWNERDEAD) {
		mu->__data.__count = 1;
		store_relaxed(&mu->__data.__owner, err ? INCONSISTENT : id);
		/* The dead owner was counted and never left: we take its place. */
		mu->__data.__nusers += !err;
		if (kind & MUTEX_ROBUST)
			robust_add(h, mu, robust_in_kernel(kind));
	}
	h->list.pending = 0;
	return err;
}

int robust_lock(pthread_mutex_t *mu, const struct until *u, bool try)
{
	int kind = load_relaxed(&mu->__data.__kind);
	struct robustheld *h;
	int err;

	if (kind & MUTEX_SHARED && !on_g())
		return lock_native(mu, u, try);
	if (robust_held(mu)) {
		err = lock_again(mu, kind);
		if (err >= 0)
			return err;
	}
	runtime_checkyield();
	h = robust_mine();
	if (kind & MUTEX_SHARED) {
		int v = load_relaxed(&mu->__data.__lock);

		if (try && v && !(v & FUTEX_OWNER_DIED))
			return EBUSY;
		if (!try)
			mutex_yield_while_held(mu);
		robust_share(h, robust_in_kernel(kind) && kind & MUTEX_ROBUST, futexword_deadline(u, try));
	}
	if (kind & MUTEX_INHERIT)
		inherit_begin();
	err = lock_first(h, mu, kind, u, try);
	if (kind & MUTEX_SHARED && err && err != EOWNERDEAD)
		robust_unshare(h);
	if (kind & MUTEX_INHERIT) {
		fence_seqcst(); /* seq_cst: between the word and inherit_claims */
		if (!err || err == EOWNERDEAD)
			inherit_taken();
		else
			inherit_released(false);
	}
	if (unlikely(!on_g()) && (!err || err == EOWNERDEAD))
		robust_watch_native();
	return err;
}

int robust_unlock(pthread_mutex_t *mu, bool leave)
{
	int kind = load_relaxed(&mu->__data.__kind);
	bool dead = load_relaxed(&mu->__data.__owner) == INCONSISTENT;
	struct robustheld *h = robust_mine();

	if (kind & MUTEX_SHARED && !on_g())
		return real.pthread_mutex_unlock(mu);
	if (!robust_held(mu))
		return EPERM;
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE && --mu->__data.__count != 0)
		return dead ? ENOTRECOVERABLE : 0;
	store_relaxed(&mu->__data.__owner, dead ? NOTRECOVERABLE : 0);
	if (kind & MUTEX_ROBUST) {
		h->list.pending = robust_link(mu) | robust_in_kernel(kind);
		robust_del(mu);
	}
	mu->__data.__nusers -= leave;
	robust_release(mu, kind, robust_id(kind));
	h->list.pending = 0;
	if (kind & MUTEX_SHARED)
		robust_unshare(h);
	if (kind & MUTEX_INHERIT) {
		fence_seqcst(); /* seq_cst: between the word and inherit_heir.listed */
		inherit_released(!leave);
	}
	return 0;
}

bool robust_held(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);

	/* A G that holds no shared one may move between the two reads, and another lock the mutex on the M it left. */
	if (kind & MUTEX_SHARED && on_g() && !robust_list.shared)
		return false;
	return (load_relaxed(&mu->__data.__lock) & FUTEX_TID_MASK) == robust_id(kind);
}

int robust_consistent(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);

	if (!(kind & MUTEX_ROBUST) || load_relaxed(&mu->__data.__owner) != INCONSISTENT)
		return EINVAL;
	store_relaxed(&mu->__data.__owner, robust_id(kind));
	return 0;
}
