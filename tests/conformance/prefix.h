/*
 * What glibc's own build defines before each of its tests: the tests and the library under them are
 * compiled against the installed headers instead.  Empty stands for "nothing to hide here".
 */
#include <limits.h>
#define attribute_hidden
#define attribute_relro
#define libc_hidden_proto(...)
#define libc_hidden_def(...)
#define weak_alias(...)
#define __glibc_unlikely(c) __builtin_expect((c), 0)
#define __glibc_likely(c) __builtin_expect((c), 1)
#define IS_IN(x) 0
#define SHLIB_COMPAT(...) 0
#define TEST_COMPAT(...) 0
#define atomic_load_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define atomic_store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define atomic_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define atomic_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define atomic_fetch_add_relaxed(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define atomic_fetch_add_acq_rel(p, v) __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL)
#define atomic_increment(p) ((void)__atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST))
#define atomic_write_barrier() __atomic_thread_fence(__ATOMIC_RELEASE)
#define atomic_full_barrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#ifndef TIMEOUTFACTOR
#define TIMEOUTFACTOR 1
#endif
