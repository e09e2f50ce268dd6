/*
 * c11: mtx_*, cnd_*; libc's objects are its POSIX ones under other names, and so is everything
 * here. mtx_init, mtx_destroy and cnd_init only write memory and stay libc's; call_once is in
 * once.c.
 */
#include "shim/sync/mutex.h"

static int to_thrd(int err)
{
	switch (err) {
	case 0:
		return thrd_success;
	case ETIMEDOUT:
		return thrd_timedout;
	case EBUSY:
		return thrd_busy;
	case ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}

static inline pthread_mutex_t *mutex_of(mtx_t *m)
{
	return (pthread_mutex_t *)m;
}

static inline pthread_cond_t *cond_of(cnd_t *c)
{
	return (pthread_cond_t *)c;
}

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t is a mutex");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t is a condition variable");

EXPORT int mtx_lock(mtx_t *m)
{
	return to_thrd(shim_pthread_mutex_lock(mutex_of(m)));
}

EXPORT int mtx_trylock(mtx_t *m)
{
	return to_thrd(shim_pthread_mutex_trylock(mutex_of(m)));
}

EXPORT int mtx_timedlock(mtx_t *m, const struct timespec *abs)
{
	return to_thrd(shim_pthread_mutex_timedlock(mutex_of(m), abs));
}

EXPORT int mtx_unlock(mtx_t *m)
{
	return to_thrd(shim_pthread_mutex_unlock(mutex_of(m)));
}

EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
	return to_thrd(shim_pthread_cond_wait(cond_of(c), mutex_of(m)));
}

EXPORT int cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *abs)
{
	return to_thrd(shim_pthread_cond_timedwait(cond_of(c), mutex_of(m), abs));
}

EXPORT int cnd_signal(cnd_t *c)
{
	return to_thrd(shim_pthread_cond_signal(cond_of(c)));
}

EXPORT int cnd_broadcast(cnd_t *c)
{
	return to_thrd(shim_pthread_cond_broadcast(cond_of(c)));
}

EXPORT void cnd_destroy(cnd_t *c)
{
	shim_pthread_cond_destroy(cond_of(c));
}
