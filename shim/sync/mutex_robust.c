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
#include <string.h>

#include "shim/sync/inherit.h"
#include "shim/sync/mutex.h"
#include "shim/thread/thread.h"

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
		self_thread.leaves_more = true;
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

/* own: the thread's end must be able to end its M.  It may wait for another M, until the deadline. */
static void share_enter(struct held *h, bool own, uint64_t until)
{
	size_t size;

	lockosthread(own, until);
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

/*
 * The caller's id in mu's word.  A locked G's kernel id is constant.  No G runs on another G's locked
 * M, so for a G that is not locked the answer may be stale, but never the owner's by mistake.
 */
static int word_id(int kind)
{
	if (kind & MUTEX_SHARED && on_g())
		return g_ostid(getg());
	return self_id();
}

/* ---- robust words ---------------------------------------------------------------------------- */

/* 0, EOWNERDEAD (taken as well), EBUSY, ETIMEDOUT, EINVAL. */
static int take_word(pthread_mutex_t *mu, int id, int kind, const struct until *u, bool try)
{
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word);
	unsigned waiters = 0; /* having slept, the caller cannot know that no other thread sleeps */
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
		err = futexword_wait(word, v, kind & MUTEX_SHARED, u, (kind & MUTEX_INHERIT) && !(kind & MUTEX_SHARED));
		if (err)
			return err;
		waiters = FUTEX_WAITERS;
		v = load_relaxed(word);
	}
}

static void free_word(pthread_mutex_t *mu, bool shared)
{
	if (exchange_release(&mu->__data.__lock, 0) & FUTEX_WAITERS)
		futexword_wake(&mu->__data.__lock, 1, shared);
}

/* ---- the kernel's inheriting lock ------------------------------------------------------------ */

static int take_inheriting(pthread_mutex_t *mu, int id, const struct until *u, bool try)
{
	int *word = &mu->__data.__lock;
	int op = FUTEX_LOCK_PI, v = 0, err;
	struct park pk = park_time(WaitMutexLock);
	long r;

	if (cas_acquire(word, &v, id))
		return 0;
	if (try && !(v & FUTEX_OWNER_DIED))
		return EBUSY;
	err = until_park(u, &pk);
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
	/*
	 * Locked twice, or the owner is gone and no thread will ever unlock: POSIX's answer is to
	 * wait.
	 */
	while (r == -EDEADLK || r == -ESRCH) {
		if (lot_sleep(&pk) == -ETIMEDOUT)
			return ETIMEDOUT;
		eintr_in_lock();
	}
	if (r < 0)
		return (int)-r;
	if (load_relaxed(word) & FUTEX_OWNER_DIED) {
		fetch_and_relaxed(word, ~FUTEX_OWNER_DIED);
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

static int lock_native(pthread_mutex_t *mu, const struct until *u, bool try)
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
		err = take_word(mu, id, kind, u, try);
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

/*
 * A native thread's end, seen by a key of libc's that exists from the first time one takes such a
 * mutex: programs count the keys they can have.  Other destructors may still unlock, so the last
 * round counts.
 */
static pthread_key_t end_key;
static int end_key_made; /* 0 not yet, 1 made, 2 there is none */
static struct shimlock end_key_lock = SHIMLOCK(Robust);

static void native_end(void *rounds)
{
	if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(end_key, (void *)((uintptr_t)rounds + 1));
	else
		robust_exit();
}

static void watch_native(void)
{
	if (unlikely(!load_acquire(&end_key_made))) {
		shimlock(&end_key_lock);
		if (!end_key_made)
			store_release(&end_key_made,
				      real.pthread_key_create(&end_key, native_end) ? 2 : 1);
		shimunlock(&end_key_lock);
	}
	if (load_relaxed(&end_key_made) == 1 && !pthread_getspecific(end_key))
		pthread_setspecific(end_key, (void *)1);
}

int robust_lock(pthread_mutex_t *mu, const struct until *u, bool try)
{
	int kind = load_relaxed(&mu->__data.__kind);
	struct held *h;
	int err;

	if (kind & MUTEX_SHARED && !on_g())
		return lock_native(mu, u, try);
	if (robust_held(mu)) {
		err = lock_again(mu, kind);
		if (err >= 0)
			return err;
	}
	runtime_checkyield();
	h = my_held();
	if (kind & MUTEX_SHARED) {
		int v = load_relaxed(&mu->__data.__lock);

		if (try && v && !(v & FUTEX_OWNER_DIED))
			return EBUSY;
		if (!try)
			mutex_yield_while_held(mu);
		share_enter(h, in_kernel(kind) && kind & MUTEX_ROBUST, futexword_deadline(u, try));
	}
	if (kind & MUTEX_INHERIT)
		inherit_begin();
	err = lock_first(h, mu, kind, u, try);
	if (kind & MUTEX_SHARED && err && err != EOWNERDEAD)
		share_leave(h);
	if (kind & MUTEX_INHERIT) {
		fence_seqcst(); /* seq_cst: between the word and inherit_claims */
		if (!err || err == EOWNERDEAD)
			inherit_taken();
		else
			inherit_released(false);
	}
	if (unlikely(!on_g()) && (!err || err == EOWNERDEAD))
		watch_native();
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
	if (kind & MUTEX_INHERIT) {
		fence_seqcst(); /* seq_cst: between the word and inherit_heir.listed */
		inherit_released(!leave);
	}
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

/* False: a thread waits in the kernel, and the kernel decides which thread is next. */
static bool die_holding(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word), died;

	do {
		died = (int)((v & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
		if (in_kernel(kind) && v & FUTEX_WAITERS)
			return false;
	} while (!cas_release(word, &v, died));
	if (v & FUTEX_WAITERS)
		futexword_wake(word, 1, kind & MUTEX_SHARED);
	return true;
}

/*
 * List heads of Ms on their way out.  The G's own is in its thread block, which may live again
 * before the kernel has walked the list; a head here belongs to an M until no thread has its id.
 */
static struct legacy {
	struct kernel_list list;
	int owner; /* 0: no thread yet */
} legacies[64];

static struct legacy *legacy_of(int tid)
{
	long pid = plain_syscall(SYS_getpid, 0, 0, 0);

	for (size_t i = 0; i < sizeof(legacies) / sizeof(legacies[0]); i++) {
		struct legacy *l = &legacies[i];
		int old = load_relaxed(&l->owner);

		if (old && plain_syscall(SYS_tgkill, pid, old, 0) != -ESRCH)
			continue;
		if (cas_acquire(&l->owner, &old, tid))
			return l;
	}
	return NULL;
}

/*
 * What is still listed waits for the end of this kernel thread.  The caller stays locked to its M, so its M
 * ends with it.  False: this one cannot end, or too many are about to.
 */
static bool leave_to_kernel(struct held *h)
{
	int tid = word_id(MUTEX_SHARED);
	struct legacy *l = NULL;

	if (tid != (int)plain_syscall(SYS_getpid, 0, 0, 0))
		l = legacy_of(tid);
	if (!l)
		return false;
	l->list = (struct kernel_list){h->list.first, h->list.word_offset, 0};
	plain_syscall(SYS_set_robust_list, (long)&l->list, sizeof(l->list), 0);
	store_release(next_of(h->last), (uintptr_t)&l->list.first);
	return true;
}

void robust_exit(void)
{
	struct held *h = &held;
	uintptr_t l, next;

	if (!h->list.first)
		return;
	for (l = h->list.first; l != (uintptr_t)&h->list.first; l = next) {
		pthread_mutex_t *mu = mutex_of(l);
		int kind = load_relaxed(&mu->__data.__kind);

		next = *next_of(l);
		/* Off the list first: the next owner uses the same links. */
		h->list.pending = link_of(mu) | in_kernel(kind);
		list_del(mu);
		if (!die_holding(mu))
			list_add(h, mu, true);
		else if (kind & MUTEX_SHARED)
			share_leave(h);
		h->list.pending = 0;
	}
	if (h->list.first == (uintptr_t)&h->list.first || leave_to_kernel(h))
		return;
	while (h->list.first != (uintptr_t)&h->list.first) {
		pthread_mutex_t *mu = mutex_of(h->list.first);

		list_del(mu);
		plain_syscall(SYS_futex, (long)&mu->__data.__lock, FUTEX_UNLOCK_PI, 0);
		share_leave(h);
	}
}

/*
 * What main holds when weft starts is on the list in its thread block, which the kernel knows; from
 * now on it is on ours.  From the oldest on: the order stays.  A shared one that inherits and is
 * not robust is on no list and not found; its holder's id is M0's, whichever G runs there.
 */
void robust_adopt(void)
{
	struct held *h = my_held();
	struct kernel_list *libc_list = NULL;
	size_t size;
	uintptr_t l;

	if (plain_syscall(SYS_get_robust_list, 0, (long)&libc_list, (long)&size) < 0 || !libc_list ||
	    size != sizeof(*libc_list))
		return;
	while ((l = *prev_of((uintptr_t)libc_list)) != (uintptr_t)libc_list) {
		pthread_mutex_t *mu = mutex_of(l);
		int kind = load_relaxed(&mu->__data.__kind);

		if (kind & MUTEX_SHARED)
			share_enter(h, false, 0);
		h->list.pending = link_of(mu) | in_kernel(kind);
		list_del(mu);
		list_add(h, mu, in_kernel(kind));
		h->list.pending = 0;
	}
}

void robust_fork_child(void)
{
	memset(&held, 0, sizeof(held));
	shimlock_fork_child(&end_key_lock);
}

/* ---- process-shared condition variables ------------------------------------------------------ */

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
