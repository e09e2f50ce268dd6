/*
 * robustexit: threads that end and hold robust mutexes, and what main held when weft began.
 */
#include <linux/futex.h>
#include <string.h>

#include "shim/sync/robustheld.h"
#include "shim/syscall/usermem.h"

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

void robust_watch_native(void)
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

/* False: a thread waits in the kernel, and the kernel decides which thread is next. */
static bool die_holding(pthread_mutex_t *mu)
{
	int kind = load_relaxed(&mu->__data.__kind);
	int *word = &mu->__data.__lock;
	int v = load_relaxed(word), died;

	do {
		died = (int)((v & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
		if (robust_in_kernel(kind) && v & FUTEX_WAITERS)
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
	struct robustlist list;
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
static bool leave_to_kernel(struct robustheld *h)
{
	int tid = robust_id(MUTEX_SHARED);
	struct legacy *l = NULL;

	if (tid != (int)plain_syscall(SYS_getpid, 0, 0, 0))
		l = legacy_of(tid);
	if (!l)
		return false;
	l->list = (struct robustlist){h->list.first, h->list.word_offset, 0};
	plain_syscall(SYS_set_robust_list, (long)&l->list, sizeof(l->list), 0);
	store_release(robust_next(h->last), (uintptr_t)&l->list.first);
	return true;
}

/* What is still in line when all else is done: the kernel's locks that have a waiter. */
static void release_rest(struct robustheld *h)
{
	while (h->list.first != (uintptr_t)&h->list.first) {
		pthread_mutex_t *mu = robust_mutex(h->list.first);

		robust_del(mu);
		plain_syscall(SYS_futex, (long)&mu->__data.__lock, FUTEX_UNLOCK_PI, 0);
		robust_unshare(h);
	}
}

/*
 * The memory of a mutex may be gone, or be something else's, as its owner ends: the program has taken it away
 * while it was held.  As in the kernel, an entry that is not there ends the walk, and one whose word does not
 * hold the caller's id is none of its business.  Nothing is written before that is known.
 */
static bool still_there(pthread_mutex_t *mu, pthread_mutex_t *is)
{
	return user_read(is, mu, sizeof(*is)) && user_word_writable((uint32_t *)&mu->__data.__lock);
}

static bool still_ours(const pthread_mutex_t *is)
{
	int kind = is->__data.__kind;

	return kind & MUTEX_ROBUST && (is->__data.__lock & FUTEX_TID_MASK) == robust_id(kind);
}

/* False: it stays listed, for the kernel. */
static bool leave_one(struct robustheld *h, pthread_mutex_t *mu, int kind, uintptr_t kept, uintptr_t next)
{
	/* Off the list first: the next owner uses the same links. */
	h->list.pending = robust_link(mu) | robust_in_kernel(kind);
	store_release(robust_next(kept), next);
	if (!die_holding(mu)) {
		*robust_prev(robust_link(mu)) = kept;
		store_release(robust_next(kept), robust_link(mu) | true);
		h->list.pending = 0;
		return false;
	}
	if (kind & MUTEX_SHARED)
		robust_unshare(h);
	h->list.pending = 0;
	return true;
}

void robust_exit(void)
{
	struct robustheld *h = &robust_list;
	uintptr_t head = (uintptr_t)&h->list.first, kept = head, l, next;
	pthread_mutex_t is;

	if (!h->list.first)
		return;
	l = h->list.first;
	for (int i = 0; i < ROBUST_LIST_LIMIT && l != head; i++, l = next) {
		pthread_mutex_t *mu = robust_mutex(l);

		if (!still_there(mu, &is))
			break;
		next = (uintptr_t)is.__data.__list.__next;
		if (!still_ours(&is))
			store_release(robust_next(kept), next);
		else if (!leave_one(h, mu, is.__data.__kind, kept, next))
			kept = robust_link(mu);
	}
	/* Behind the last that is kept there is nothing that could be found. */
	store_release(robust_next(kept), head);
	h->last = kept;
	if (kept != head && !leave_to_kernel(h))
		release_rest(h);
}

/*
 * What main holds when weft starts is on the list in its thread block, which the kernel knows; from
 * now on it is on ours.  From the oldest on: the order stays.  A shared one that inherits and is
 * not robust is on no list and not found; its holder's id is M0's, whichever G runs there.
 */
void robust_adopt(void)
{
	struct robustheld *h = robust_mine();
	struct robustlist *libc_list = NULL;
	size_t size;
	uintptr_t l;

	if (plain_syscall(SYS_get_robust_list, 0, (long)&libc_list, (long)&size) < 0 || !libc_list ||
	    size != sizeof(*libc_list))
		return;
	while ((l = *robust_prev((uintptr_t)libc_list)) != (uintptr_t)libc_list) {
		pthread_mutex_t *mu = robust_mutex(l);
		int kind = load_relaxed(&mu->__data.__kind);

		if (kind & MUTEX_SHARED)
			robust_share(h, false, 0);
		h->list.pending = robust_link(mu) | robust_in_kernel(kind);
		robust_del(mu);
		robust_add(h, mu, robust_in_kernel(kind));
		h->list.pending = 0;
	}
}

void robust_fork_child(void)
{
	memset(&robust_list, 0, sizeof(robust_list));
	shimlock_fork_child(&end_key_lock);
}
