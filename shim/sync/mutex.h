/*
 * mutex: what the mutex files and the condition variables know of one another.
 *
 *	mutex.c   exported names; normal, recursive, errorcheck, adaptive, private inheritance
 *	mutex_word.c  the plain kinds' word while it is held: spinning, queueing, which thread is next
 *	mutex_robust.c  the kinds whose lock word holds an owner: robust, and process-shared inheritance
 *	mutex_ceiling.c priority ceilings
 */
#ifndef WEFT_SHIM_MUTEX_H
#define WEFT_SHIM_MUTEX_H

#include "shim/sync/sync.h"

/* Bits of libc's __kind. */
enum {
	MUTEX_RECURSIVE = 1,
	MUTEX_ERRORCHECK = 2,
	MUTEX_TYPE = 3,
	MUTEX_ROBUST = 16,
	MUTEX_INHERIT = 32,
	MUTEX_PROTECT = 64,
	MUTEX_SHARED = 128,
	MUTEX_FAMILY = 0x7c, /* all but type, shared and the ignored elision bits */
};

/* What lot_park() on a mutex returns to those that were woken. */
enum {
	WOKEN_LAST = 1, /* no other waiter was queued: may take the lock as 1 */
	WOKEN_MORE = 2, /* others are queued: must leave the word at 2 */
	WOKEN_OWNER = 3, /* the lock is already ours */
};

/* The exported functions, for c11.c. */
int shim_pthread_mutex_lock(pthread_mutex_t *) hidden;
int shim_pthread_mutex_unlock(pthread_mutex_t *) hidden;
int shim_pthread_mutex_trylock(pthread_mutex_t *) hidden;
int shim_pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *) hidden;
int shim_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *) hidden;
int shim_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *,
				const struct timespec *) hidden;
int shim_pthread_cond_signal(pthread_cond_t *) hidden;
int shim_pthread_cond_broadcast(pthread_cond_t *) hidden;
int shim_pthread_cond_destroy(pthread_cond_t *) hidden;

/* Everything below needs weft_on. */
int mutex_lock_any(pthread_mutex_t *mu, const struct until *u, bool try) hidden;
int mutex_unlock_any(pthread_mutex_t *mu, bool leave) hidden;

/* May the caller wait on a condition variable with mu? 0, EPERM or EINVAL. */
int mutex_cond_check(pthread_mutex_t *mu) hidden;
/* Around the wait: libc counts a waiter as a user of the mutex all the time. */
void mutex_cond_unlock(pthread_mutex_t *mu) hidden;
/* woken: what lot_park() returned to a waiter that was moved to the mutex's queue, else 0. */
int mutex_cond_lock(pthread_mutex_t *mu, int woken) hidden;
/* A private mutex with a plain 0/1/2 word: waiters may be moved to its queue. */
bool mutex_is_plain(const pthread_mutex_t *mu) hidden;
/* Before a wait in the kernel for a shared mutex: lets others run while it is held. */
void mutex_yield_while_held(const pthread_mutex_t *mu) hidden;
/* Takes the word, queueing while another thread holds it. woken: the duty the caller arrives with; 0 or an error. */
int mutex_wait_word(pthread_mutex_t *mu, const struct until *u, int woken) hidden;
/* Under the lot's lock, with waiters about to be queued on mu: true when mu is held and its
 * holder will wake one of them; false when it is free and the caller must. */
bool mutex_mark_contended(pthread_mutex_t *mu) hidden;
void mutex_wake_one(const void *mu) hidden;

/* futexword.c: while *word is seen, 0 (look again) or an error. */
/* inherit: the word names its owner, who inherits; not shared. */
int futexword_wait(int *word, int seen, bool shared, const struct until *u, bool inherit) hidden;
/* For lockosthread(), before the lock is tried. */
uint64_t futexword_deadline(const struct until *u, bool try) hidden;
void futexword_wake(int *word, int n, bool shared) hidden;

/* mutex_robust.c */
int robust_lock(pthread_mutex_t *mu, const struct until *u, bool try) hidden;
int robust_unlock(pthread_mutex_t *mu, bool leave) hidden;
bool robust_held(pthread_mutex_t *mu) hidden;
int robust_consistent(pthread_mutex_t *mu) hidden;
/* Waits on a process-shared condition variable, on a G, with a mutex of a shared kind of that
 * file. */
int robust_cond_wait(pthread_cond_t *c, pthread_mutex_t *mu, const struct until *u) hidden;
/*
 * thread.c calls this when a G ends, after its last destructor: what it still holds gets a dead
 * owner.  Called on the G's stack with FS on its block.
 */
void robust_exit(void) hidden;
/* In a fork child, on the surviving G: libc's rule is that it holds no robust mutex any more. */
void robust_fork_child(void) hidden;
void robust_adopt(void) hidden; /* what main held before the start */

/* mutex_ceiling.c */
int ceiling_lock(pthread_mutex_t *mu, const struct until *u, bool try) hidden;
int ceiling_unlock(pthread_mutex_t *mu, bool leave) hidden;

static inline int mutex_kind(const pthread_mutex_t *mu)
{
	return load_relaxed(&mu->__data.__kind);
}

/* Private, normal or adaptive at most by the low bits: the fast paths' only question. */
static inline bool mutex_is_normal(int kind)
{
	return (kind & (MUTEX_FAMILY | MUTEX_TYPE | MUTEX_SHARED)) == 0;
}

static inline bool word_take(int *word, int from, int to)
{
	return cas_acquire(word, &from, to);
}

#endif
