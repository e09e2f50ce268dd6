/*
 * robustexit: threads that end and hold robust mutexes, and what main held when weft began.
 */
#include <linux/futex.h>
#include <string.h>

#include "shim/sync/robustheld.h"

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

void robust_exit(void)
{
	struct robustheld *h = &robust_list;
	uintptr_t l, next;

	if (!h->list.first)
		return;
	for (l = h->list.first; l != (uintptr_t)&h->list.first; l = next) {
		pthread_mutex_t *mu = robust_mutex(l);
		int kind = load_relaxed(&mu->__data.__kind);

		next = *robust_next(l);
		/* Off the list first: the next owner uses the same links. */
		h->list.pending = robust_link(mu) | robust_in_kernel(kind);
		robust_del(mu);
		if (!die_holding(mu))
			robust_add(h, mu, true);
		else if (kind & MUTEX_SHARED)
			robust_unshare(h);
		h->list.pending = 0;
	}
	if (h->list.first == (uintptr_t)&h->list.first || leave_to_kernel(h))
		return;
	while (h->list.first != (uintptr_t)&h->list.first) {
		pthread_mutex_t *mu = robust_mutex(h->list.first);

		robust_del(mu);
		plain_syscall(SYS_futex, (long)&mu->__data.__lock, FUTEX_UNLOCK_PI, 0);
		robust_unshare(h);
	}
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
