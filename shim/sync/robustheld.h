/*
 * robustheld: which robust mutexes a thread holds, in a list that the kernel can walk; and the id in their words.
 * Inside of mutex_robust's files.
 */
#ifndef WEFT_SHIM_ROBUSTHELD_H
#define WEFT_SHIM_ROBUSTHELD_H

#include "shim/sync/mutex.h"
#include "shim/thread/thread.h"

/* Values of owner after the last one died; libc's. */
enum { INCONSISTENT = INT_MAX, NOTRECOVERABLE = INT_MAX - 1 };

/* Next pointers lead to a next field, with bit 0 set for an inheriting mutex; prev stands right
 * before. */
struct robustlist { /* what set_robust_list() registers */
	uintptr_t first;
	long word_offset;
	uintptr_t pending;
};

/* Per thread; all zero at the start of a life.  Only its thread touches it, or the kernel after
 * its end. */
struct robustheld {
	uintptr_t last; /* stands before first as prev stands before next */
	struct robustlist list;
	struct robustlist *kernels; /* the M's own list, while ours is registered */
	unsigned shared;             /* shared mutexes held or being taken */
};
extern __thread struct robustheld robust_list hidden __attribute__((tls_model("initial-exec")));

static inline uintptr_t robust_link(pthread_mutex_t *mu)
{
	return (uintptr_t)&mu->__data.__list.__next;
}

static inline pthread_mutex_t *robust_mutex(uintptr_t l)
{
	return (pthread_mutex_t *)((l & ~1UL) - offsetof(pthread_mutex_t, __data.__list.__next));
}

static inline uintptr_t *robust_next(uintptr_t l)
{
	return (uintptr_t *)(l & ~1UL);
}

static inline uintptr_t *robust_prev(uintptr_t l)
{
	return (uintptr_t *)(l & ~1UL) - 1;
}

/* Uses the kernel's lock?  A private inheriting one that is robust has a plain robust word. */
static inline bool robust_in_kernel(int kind)
{
	return (kind & (MUTEX_INHERIT | MUTEX_SHARED)) == (MUTEX_INHERIT | MUTEX_SHARED);
}

/* Of the calling thread, ready for use. */
struct robustheld *robust_mine(void) hidden;
/* Each store leaves the list whole: the kernel may walk it after any instruction. */
void robust_add(struct robustheld *h, pthread_mutex_t *mu, bool inherit) hidden;
void robust_del(pthread_mutex_t *mu) hidden;

/*
 * Around the time in which a G holds shared ones: it is locked to its M, whose robust list is the G's.
 * own: the thread's end must be able to end its M.  It may wait for another M, until the deadline.
 */
void robust_share(struct robustheld *h, bool own, uint64_t until) hidden;
void robust_unshare(struct robustheld *h) hidden;

/* The caller's id in the word of a mutex of this kind. */
int robust_id(int kind) hidden;

/* The words (robustword.c).  0, EOWNERDEAD (taken as well), EBUSY, ETIMEDOUT, EINVAL. */
int robust_take(pthread_mutex_t *mu, int id, int kind, const struct until *u, bool try) hidden;
void robust_release(pthread_mutex_t *mu, int kind, int id) hidden;

/* A native thread took one: its end is to be seen (robustexit.c). */
void robust_watch_native(void) hidden;

#endif
