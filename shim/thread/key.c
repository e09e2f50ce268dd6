/*
 * key: thread-specific data.  The values live in libc's own blocks (pthread_getspecific stays
 * libc's and reads them through FS); here only the destructors are remembered, because a G's end is
 * ours.
 */
#include "shim/thread/thread.h"

#include <limits.h>

static struct {
	void (*_Atomic destructor)(void *);
} keys[PTHREAD_KEYS_MAX];
static _Atomic unsigned nkeys; /* one past the highest key ever made */

static void remember(unsigned k, void (*destructor)(void *))
{
	unsigned n = load_acquire(&nkeys);

	store_release(&keys[k].destructor, destructor);
	while (k >= n && !cas_weak_acq_rel(&nkeys, &n, k + 1))
		;
}

EXPORT int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	int err = real.pthread_key_create(key, destructor);

	if (!err)
		remember(*key, destructor);
	return err;
}

EXPORT int __pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	return pthread_key_create(key, destructor);
}

EXPORT int pthread_key_delete(pthread_key_t key)
{
	if (key < PTHREAD_KEYS_MAX)
		store_release(&keys[key].destructor, NULL);
	return real.pthread_key_delete(key);
}

EXPORT int tss_create(tss_t *key, tss_dtor_t destructor)
{
	int err = real.tss_create(key, destructor);

	if (err == thrd_success)
		remember(*key, destructor);
	return err;
}

EXPORT void tss_delete(tss_t key)
{
	if (key < PTHREAD_KEYS_MAX)
		store_release(&keys[key].destructor, NULL);
	real.tss_delete(key);
}

/* Over the keys, those too that a destructor makes: how many there are is asked at each step. */
static void round_of_destructors(void)
{
	for (unsigned k = 0; k < load_acquire(&nkeys); k++) {
		void *value = pthread_getspecific(k);
		void (*destructor)(void *) = load_acquire(&keys[k].destructor);

		if (!value)
			continue;
		pthread_setspecific(k, NULL);
		if (destructor)
			destructor(value);
	}
}

/*
 * As libc: up to PTHREAD_DESTRUCTOR_ITERATIONS rounds while values are set, which libc marks in the
 * block.  The mark is taken before a round; so a thread that leaves a destructor by pthread_exit
 * or cancellation, and comes here again, has done with its keys unless it set one after.  In the
 * end the mark stands again if it ever did: it tells tcb_leave() that there is something to free.
 */
void keys_run_destructors(void)
{
	struct thread *th = &self_thread;

	if (likely(!tcb_keys_marked(tcb_self()) && !th->keyed))
		return;
	for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
		if (!tcb_mark_keys(tcb_self(), false))
			break;
		th->keyed = true;
		round_of_destructors();
	}
	if (th->keyed)
		tcb_mark_keys(tcb_self(), true);
}
