/*
 * robust: mutexes whose lock word names its owner, so that somebody can tell that the owner died.
 *
 *	private robust      the word holds the G's id, inheriting or not; waiters on the lot; when a
 *	                    G ends, robust_exit() does what the kernel does for a thread
 *	shared robust       the word holds a kernel id, and the kernel walks the list of these, for
 *	                    the whole process may die; waiters in the kernel
 *	shared inheriting   the kernel's own lock: FUTEX_LOCK_PI
 *
 * The kernel knows kernel threads, so a G that holds a shared one is wired to its M until it
 * unlocks, and while it holds any the M's robust list is the G's (the M's own is put back after).
 * The words are libc's in every bit: processes without weft share these mutexes.  A foreign thread
 * uses libc's functions for the shared kinds, its ids are true; for the private kinds it works as a
 * G does, but nobody notices when it ends while holding one.
 *
 * libc's way of giving the kernel the id in the thread block cannot be used: on a G it is no kernel
 * id, and two listed blocks with one kernel id make setuid wait for ever.
 *
 * Not exact: a G that ends while it holds a shared robust inheriting mutex somebody waits for
 * passes it on without the news of its death, which the kernel tells only for kernel threads.
 */
#include <linux/futex.h>
#include <string.h>

#include "shim/mutex.h"

/* Values of owner after the last one died; libc's. */
enum { INCONSISTENT = INT_MAX, NOTRECOVERABLE = INT_MAX - 1 };

/* Next pointers lead to a next field, with bit 0 set for an inheriting mutex; prev stands right
 * before. */
struct kernel_list { /* what set_robust_list() registers */
	uintptr_t first;
	long word_offset;
	uintptr_t pending;
};

/* Per thread; all zero at the start of a life.  Only its thread touches it, or the kernel after
 * its end. */
struct held {
	uintptr_t last; /* stands before first as prev stands before next */
	struct kernel_list list;
	struct kernel_list *kernels; /* the M's own list, while ours is registered */
	unsigned shared;             /* shared mutexes held or being taken */
};
static __thread struct held held;

static inline uintptr_t link_of(pthread_mutex_t *mu)
{
	return (uintptr_t)&mu->__data.__list.__next;
}

static inline pthread_mutex_t *mutex_of(uintptr_t l)
{
	return (pthread_mutex_t *)((l & ~1UL) - offsetof(pthread_mutex_t, __data.__list.__next));
}

static inline uintptr_t *next_of(uintptr_t l)
{
	return (uintptr_t *)(l & ~1UL);
}

static inline uintptr_t *prev_of(uintptr_t l)
{
	return (uintptr_t *)(l & ~1UL) - 1;
}

static struct held *my_held(void)
{
	struct held *h = &held;

	if (unlikely(!h->list.first)) {
		h->list.first = h->last = (uintptr_t)&h->list.first;
		h->list.word_offset = (long)offsetof(pthread_mutex_t, __data.__lock) -
				      (long)offsetof(pthread_mutex_t, __data.__list.__next);
	}
	return h;
}

/* The kernel may walk the list after any instruction (the process is killed): each store leaves
 * it whole. */
static void list_add(struct held *h, pthread_mutex_t *mu, bool inherit)
{
	uintptr_t l = link_of(mu), first = h->list.first;

	*next_of(l) = first;
	*prev_of(l) = (uintptr_t)&h->list.first;
	*prev_of(first) = l;
	store_release(&h->list.first, l | inherit);
}

static void list_del(pthread_mutex_t *mu)
{
	uintptr_t l = link_of(mu), next = *next_of(l), prev = *prev_of(l);

	*prev_of(next) = prev;
	store_release(next_of(prev), next);
	mu->__data.__list.__prev = NULL;
	mu->__data.__list.__next = NULL;
}

/* ---- wiring ---------------------------------------------------------------------------------- */

static void share_enter(struct held *h)
{
	size_t size;

	lockosthread();
	if (h->shared++)
		return;
	if (plain_syscall(SYS_get_robust_list, 0, (long)&h->kernels, (long)&size) < 0)
		h->kernels = NULL;
	plain_syscall(SYS_set_robust_list, (long)&h->list, sizeof(h->list), 0);
}

static void share_leave(struct held *h)
{
	if (--h->shared == 0)
		plain_syscall(SYS_set_robust_list, (long)h->kernels, sizeof(h->list), 0);
	unlockosthread();
}

/* Who the caller is in mu's word.  A wired G's kernel id is constant; nobody runs on another's
 * wired M, so without being wired the answer may be stale but never be the owner's by mistake. */
static int word_id(int kind)
{
	if (kind & MUTEX_SHARED && on_g())
		return g_ostid(getg());
	return self_id();
}

/* ---- robust words ---------------------------------------------------------------------------- */

struct wordwait {
	int *word;
	int seen;
};

static int word_changed(void *arg)
{
	struct wordwait *w = arg;

	return load_relaxed(w->word) != w->seen;
}

/* Waits while the word is seen: 0 (look again) or an error. */
static int word_wait(pthread_mutex_t *mu, int seen, bool shared, const struct until *u)
{
	struct wordwait w = {&mu->__data.__lock, seen};
	struct park pk = {
		.addr = lot_key(mu, KEY_OTHER),
		.refuse = word_changed,
		.arg = &w,
		.reason = WaitMutexLock,
		.interruptible = true,
	};
	int op = FUTEX_WAIT_BITSET, err = until_ns(u, &pk.deadline);
	long r;

	if (err)
		return err;
	if (!shared) {
		r = lot_park(&pk);
		if (r == -EINTR)
			interrupt_in_lock();
		return r == -ETIMEDOUT ? ETIMEDOUT : 0;
	}
	if (u && u->clock == CLOCK_REALTIME)
		op |= FUTEX_CLOCK_REALTIME;
	r = block_nocp(SYS_futex, (long)w.word, op, seen, (long)(u ? u->abs : NULL), 0,
		       FUTEX_BITSET_MATCH_ANY);
	return r == -ETIMEDOUT ? ETIMEDOUT : 0;
}

static void word_wake(pthread_mutex_t *mu, bool shared)
{
	if (shared)
		plain_syscall(SYS_futex, (long)&mu->__data.__lock, FUTEX_WAKE, 1);
	else
		lot_wake(lot_key(mu, KEY_OTHER), 1, 0, READY_TAIL, NULL, NULL);
}

/* 0, EOWNERDEAD (taken as well), EBUSY, ETIMEDOUT, EINVAL. */
static int take_word(pthread_mutex_t *mu, int id, bool shared, const struct until *u, bool try)
{
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word);
	unsigned waiters = 0; /* having slept, we cannot know that nobody else does */
	int err;

	for (;;) {
		if (v == 0 || v & FUTEX_OWNER_DIED) {
			int mine = (int)((unsigned)id | (v & FUTEX_WAITERS) | waiters);
			bool died = v & FUTEX_OWNER_DIED;

			if (cas_acquire(word, &v, mine))
				return died ? EOWNERDEAD : 0;
			continue;
		}
		if (try)
			return EBUSY;
		if (!(v & FUTEX_WAITERS)) {
			if (!cas_acquire(word, &v, (int)(v | FUTEX_WAITERS)))
				continue;
			v = (int)(v | FUTEX_WAITERS);
		}
		err = word_wait(mu, v, shared, u);
		if (err)
			return err;
		waiters = FUTEX_WAITERS;
		v = load_relaxed(word);
	}
}

static void free_word(pthread_mutex_t *mu, bool shared)
{
	if (xchg_release(&mu->__data.__lock, 0) & FUTEX_WAITERS)
		word_wake(mu, shared);
}

/* ---- the kernel's inheriting lock ------------------------------------------------------------ */

static int take_inheriting(pthread_mutex_t *mu, int id, const struct until *u, bool try)
{
	int *word = &mu->__data.__lock;
	int op = FUTEX_LOCK_PI, v = 0, err;
	uint64_t deadline;
	long r;

	if (cas_acquire(word, &v, id))
		return 0;
	if (try && !(v & FUTEX_OWNER_DIED))
		return EBUSY;
	err = until_ns(u, &deadline);
	if (err)
		return err;
	if (try)
		op = FUTEX_TRYLOCK_PI;
	else if (u && u->clock == CLOCK_MONOTONIC)
		op = FUTEX_LOCK_PI2;
	do {
		r = block_nocp(SYS_futex, (long)word, op, 0, (long)(u ? u->abs : NULL), 0, 0);
	} while (r == -EINTR);
	if (r == -EAGAIN && try)
		return EBUSY;
	if (r == -ETIMEDOUT)
		return ETIMEDOUT;
	if (r == -ENOSYS)
		return EINVAL;
	/* Locked twice, or the owner is gone and nobody will ever unlock: POSIX's answer is to
	 * wait. */
	while (r == -EDEADLK || r == -ESRCH)
		if (lot_sleep(deadline, WaitMutexLock) == -ETIMEDOUT)
			return ETIMEDOUT;
	if (r < 0)
		return (int)-r;
	if (load_relaxed(word) & FUTEX_OWNER_DIED) {
		__atomic_fetch_and(word, ~FUTEX_OWNER_DIED, __ATOMIC_RELAXED);
		return EOWNERDEAD;
	}
	return 0;
}

static void free_inheriting(pthread_mutex_t *mu, int id)
{
	if (!cas_release(&mu->__data.__lock, &id, 0))
		plain_syscall(SYS_futex, (long)&mu->__data.__lock, FUTEX_UNLOCK_PI, 0);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Uses the kernel's lock?  A private inheriting one that is robust has a plain robust word. */
static inline bool in_kernel(int kind)
{
	return (kind & (MUTEX_INHERIT | MUTEX_SHARED)) == (MUTEX_INHERIT | MUTEX_SHARED);
}

static void release(pthread_mutex_t *mu, int kind, int id)
{
	if (in_kernel(kind))
		free_inheriting(mu, id);
	else
		free_word(mu, kind & MUTEX_SHARED);
}

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

static int lock_foreign(pthread_mutex_t *mu, const struct until *u, bool try)
{
	if (try)
		return real.pthread_mutex_trylock(mu);
	if (u)
		return real.pthread_mutex_clocklock(mu, u->clock, u->abs);
	return real.pthread_mutex_lock(mu);
}

static int lock_first(struct held *h, pthread_mutex_t *mu, int kind, const struct until *u,
		      bool try)
{
	int id = word_id(kind), err;

	h->list.pending = kind & MUTEX_ROBUST ? link_of(mu) | in_kernel(kind) : 0;
	if (in_kernel(kind))
		err = take_inheriting(mu, id, u, try);
	else
		err = take_word(mu, id, kind & MUTEX_SHARED, u, try);
	if (err == 0 && kind & MUTEX_ROBUST &&
	    load_relaxed(&mu->__data.__owner) == NOTRECOVERABLE) {
		mu->__data.__count = 0;
		release(mu, kind, id);
		err = ENOTRECOVERABLE;
	}
	if (err == 0 || err == EOWNERDEAD) {
		mu->__data.__count = 1;
		store_relaxed(&mu->__data.__owner, err ? INCONSISTENT : id);
		/* The dead owner was counted and never left: we take its place. */
		mu->__data.__nusers += !err;
		if (kind & MUTEX_ROBUST)
			list_add(h, mu, in_kernel(kind));
	}
	h->list.pending = 0;
	return err;
}

int robust_lock(pthread_mutex_t *mu, const struct until *u, bool try)
{
	int kind = load_relaxed(&mu->__data.__kind);
	struct held *h;
	int err;

	if (kind & MUTEX_SHARED && !on_g())
		return lock_foreign(mu, u, try);
	if (robust_held(mu)) {
		err = lock_again(mu, kind);
		if (err >= 0)
			return err;
	}
	runtime_checkyield();
	h = my_held();
	if (kind & MUTEX_SHARED) {
		if (!try)
			mutex_yield_while_held(mu);
		share_enter(h);
	}
	err = lock_first(h, mu, kind, u, try);
	if (kind & MUTEX_SHARED && err && err != EOWNERDEAD)
		share_leave(h);
	return err;
}

int robust_unlock(pthread_mutex_t *mu, bool leave)
{
	int kind = load_relaxed(&mu->__data.__kind);
	bool dead = load_relaxed(&mu->__data.__owner) == INCONSISTENT;
	struct held *h = my_held();

	if (kind & MUTEX_SHARED && !on_g())
		return real.pthread_mutex_unlock(mu);
	if (!robust_held(mu))
		return EPERM;
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE && --mu->__data.__count != 0)
		return dead ? ENOTRECOVERABLE : 0;
	store_relaxed(&mu->__data.__owner, dead ? NOTRECOVERABLE : 0);
	if (kind & MUTEX_ROBUST) {
		h->list.pending = link_of(mu) | in_kernel(kind);
		list_del(mu);
	}
	mu->__data.__nusers -= leave;
	release(mu, kind, word_id(kind));
	h->list.pending = 0;
	if (kind & MUTEX_SHARED)
		share_leave(h);
	return 0;
}

bool robust_held(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);

	return (load_relaxed(&mu->__data.__lock) & FUTEX_TID_MASK) == word_id(kind);
}

int robust_consistent(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);

	if (!(kind & MUTEX_ROBUST) || load_relaxed(&mu->__data.__owner) != INCONSISTENT)
		return EINVAL;
	store_relaxed(&mu->__data.__owner, word_id(kind));
	return 0;
}

/* ---- ends of lives --------------------------------------------------------------------------- */

static void die_holding(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word), died;

	do {
		died = (int)((v & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
		if (in_kernel(kind) && v & FUTEX_WAITERS) {
			plain_syscall(SYS_futex, (long)word, FUTEX_UNLOCK_PI, 0);
			return;
		}
	} while (!cas_release(word, &v, died));
	if (v & FUTEX_WAITERS)
		word_wake(mu, kind & MUTEX_SHARED);
}

void robust_exit(void)
{
	struct held *h = &held;

	if (!h->list.first)
		return;
	while (h->list.first != (uintptr_t)&h->list.first) {
		pthread_mutex_t *mu = mutex_of(h->list.first);
		bool shared = load_relaxed(&mu->__data.__kind) & MUTEX_SHARED;

		list_del(mu);
		die_holding(mu);
		if (shared)
			share_leave(h);
	}
}

void robust_fork_child(void)
{
	memset(&held, 0, sizeof(held));
}

/* ---- process-shared condition variables ------------------------------------------------------ */

/*
 * libc's wait unlocks and locks the mutex by the id in the thread block, and links it into the
 * thread block's own list.  The G is wired here, so for the length of the wait the block carries
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
	struct held *h = my_held();

	if (!l->self)
		return;
	tcb_set_tid(l->self, l->id);
	if (!robust_held(l->mu)) { /* not recoverable: libc did not take it */
		share_leave(h);
		return;
	}
	if (kind & MUTEX_ROBUST) {
		list_del(l->mu);
		list_add(h, l->mu, in_kernel(kind));
	}
}

int robust_cond_wait(pthread_cond_t *c, pthread_mutex_t *mu, const struct until *u)
{
	struct tcb *self = tcb_self();
	struct lent lent __attribute__((cleanup(lent_back))) = {NULL, tcb_tid(self), mu};

	if (!robust_held(mu))
		return EPERM;
	lent.self = self;
	tcb_set_tid(self, (uint32_t)word_id(MUTEX_SHARED));
	if (u)
		return HANDOFF_CP(real.pthread_cond_clockwait(c, mu, u->clock, u->abs));
	return HANDOFF_CP(real.pthread_cond_wait(c, mu));
}
